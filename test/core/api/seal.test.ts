/** Do both CONTRACT files hold the fingerprint of what is promised now? */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CONTRACTS, printContracts } from '../../../core/cli/contract.ts';
import { seal } from '../../../core/http/contract.ts';
import { packageRoot } from '../../../core/package-root.ts';

const test = suite('contract seals');

for (const [name, { file, compile }] of Object.entries(CONTRACTS)) {
  test(`${file} seals the contract`, () => {
    const now = seal(compile('0'));
    const sealed = readFileSync(join(packageRoot(), file), 'utf8').trim();
    if (sealed !== now)
      console.log(`The contract moved. If that is meant, run \`npm run seal\`; ${file} will hold:\n${now}`);
    assert.is(sealed, now);
  });

  test(`the ${name} contract is the same each time it is compiled, whatever the version`, () => {
    assert.equal(compile('1'), compile('1'));
    assert.is(seal(compile('1')), seal(compile('2')));
  });
}

test('svc contract prints both documents', async () => {
  let printed = '';
  await printContracts({ seal: false }, { out: (text) => (printed += text) });
  const { api, ingest } = JSON.parse(printed) as Record<string, { openapi: string; paths: object }>;
  assert.is(api?.openapi, '3.1.0');
  assert.ok(Object.keys(api?.paths ?? {}).includes('/v1/sessions'));
  assert.ok(Object.keys(ingest?.paths ?? {}).includes('/ping'));
});

test.run();
