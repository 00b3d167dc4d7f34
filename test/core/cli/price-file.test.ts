import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readPriceTable } from '../../../core/cli/price-file.ts';
import { OperatorError } from '../../../core/errors.ts';

const test = suite<{ base: string }>('price-file');

test.before.each((context) => {
  context.base = mkdtempSync(join(tmpdir(), 'svc-prices-'));
});
test.after.each(({ base }) => rmSync(base, { recursive: true }));

const refusal = async (path: string, base: string): Promise<string> => {
  const error: unknown = await readPriceTable(path, base).then(
    () => assert.unreachable('it is accepted'),
    (reason) => reason,
  );
  assert.instance(error, OperatorError);
  assert.is((error as OperatorError).exitCode, 2);
  return (error as OperatorError).message;
};

test('no path is no table', async ({ base }) => {
  assert.is(await readPriceTable('', base), null);
});
test('a relative path begins at the base, an absolute one does not', async ({ base }) => {
  mkdirSync(join(base, 'own'));
  const file = join(base, 'own', 'prices.json');
  writeFileSync(file, '{"llama3.2": {"input": 0, "output": 0}}');
  const table = { 'llama3.2': [{ input: '0', output: '0' }] };
  assert.equal(await readPriceTable('own/prices.json', base), table);
  assert.equal(await readPriceTable(file, '/nowhere'), table);
});
test('a file that cannot be read is named with the reason', async ({ base }) => {
  assert.is(
    await refusal('none.json', base),
    `Cannot read pricing.file '${join(base, 'none.json')}': there is no such file`,
  );
  assert.is(await refusal('.', base), `Cannot read pricing.file '${base}': it is a folder`);
  writeFileSync(join(base, 'file'), '');
  assert.is(
    await refusal('file/prices.json', base),
    `Cannot read pricing.file '${join(base, 'file', 'prices.json')}': ENOTDIR`,
  );
});
test('a file that is no table of prices is refused', async ({ base }) => {
  writeFileSync(join(base, 'prices.json'), '{"m": {"input": 1}}');
  assert.is(await refusal('prices.json', base), "Cannot use pricing.file: 'm', output: is missing");
});
test.run();
