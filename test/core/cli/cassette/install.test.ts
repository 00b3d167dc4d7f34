import { mkdir, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { putInPlace, stage } from '../../../../core/cli/cassette/install.ts';
import { OperatorError } from '../../../../core/errors.ts';

const test = suite('installing beside its place');
let cassettes = '';
test.before.each(async () => {
  cassettes = await mkdtemp(join(tmpdir(), 'svc-install-'));
});
test.after.each(() => rm(cassettes, { recursive: true, force: true }));

async function put(name: string, text: string): Promise<string> {
  await mkdir(join(cassettes, name));
  await writeFile(join(cassettes, name, 'x'), text);
  return join(cassettes, name);
}

test('what takes a place can be kept, or undone to the last file', async () => {
  const place = await put('tally', 'old');
  const { undo } = await putInPlace(await put('.adding-1', 'new'), place);
  assert.is(await readFile(join(place, 'x'), 'utf8'), 'new');
  await undo();
  assert.is(await readFile(join(place, 'x'), 'utf8'), 'old');
  const { keep } = await putInPlace(await put('.adding-2', 'new'), place);
  await keep();
  assert.is(await readFile(join(place, 'x'), 'utf8'), 'new');
  assert.equal(await readdir(cassettes), ['tally']);
});

test('in an empty place, undone, nothing is left; what cannot take its place leaves what is there', async () => {
  const place = join(cassettes, 'tally');
  const { undo } = await putInPlace(await put('.adding-1', 'new'), place);
  await undo();
  assert.equal(await readdir(cassettes), []);
  await put('tally', 'old');
  let code = '';
  await putInPlace(join(cassettes, '.adding-none'), place).catch((error: NodeJS.ErrnoException) => {
    code = error.code ?? '';
  });
  assert.is(code, 'ENOENT');
  assert.is(await readFile(join(place, 'x'), 'utf8'), 'old');
});

test('what a killed command has left is removed when it is old; without npm it is said what is missing', async () => {
  await put('.adding-old', '');
  await put('.adding-new', '');
  await utimes(join(cassettes, '.adding-old'), 1, 1);
  const { signal } = new AbortController();
  const failed = await stage({ spec: 'x', local: false }, { cassettes, env: { PATH: '/nowhere' }, signal }).catch(
    (error) => error,
  );
  assert.instance(failed, OperatorError);
  assert.is(failed.message, "Cannot install it: there is no 'npm' on the PATH; it comes with Node");
  assert.equal(await readdir(cassettes), ['.adding-new']);
});

test('an interruption ends npm and leaves nothing', async () => {
  const failed = await stage(
    { spec: '@acme/never@1.0.0', local: false },
    { cassettes, env: { PATH: process.env.PATH, HOME: cassettes }, signal: AbortSignal.timeout(50) },
  ).catch((error) => error);
  assert.is(failed.message, 'Cannot install it: it was interrupted');
  assert.not.ok((await readdir(cassettes)).some((name) => name.startsWith('.adding')));
});

test.run();
