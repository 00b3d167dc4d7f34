import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { checkCassette } from '../../../../core/cli/cassette/check.ts';
import { newCassette } from '../../../../core/cli/cassette/new.ts';
import { OperatorError } from '../../../../core/errors.ts';
import { packageRoot } from '../../../../core/package-root.ts';

const run = promisify(execFile);
const test = suite('svc cassette new');
let cwd = '';
test.before(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'svc-new-'));
});
test.after(() => rm(cwd, { recursive: true, force: true }));

async function made(name: string, folder?: string): Promise<string> {
  let output = '';
  await newCassette(name, folder, { cwd, out: (text) => (output += text) });
  return output;
}

const files = async (folder: string) =>
  (await readdir(join(cwd, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(cwd, folder).length + 1))
    .sort();

test('its own test passes as it was written, without anything installed', async () => {
  assert.match(await made('word-count'), 'cd word-count\n');
  const { stdout } = await run(process.execPath, ['--test', '--test-reporter=tap', 'dist/cassette.test.js'], {
    cwd: join(cwd, 'word-count'),
  });
  assert.match(stdout, /^# pass 5$/m);
  assert.match(stdout, /^# fail 0$/m);
});

test('it passes the check as it was written', async () => {
  await made('checked');
  let output = '';
  const io = { cwd, home: cwd, env: {}, err: () => {}, out: (text: string) => (output += text) };
  assert.is(await checkCassette('./checked', { config: [] }, io, '0.0.0'), 0, output);
});

test('what it is built from makes what was written, under any name', async () => {
  await made('tally', './elsewhere/tally');
  const folder = join(cwd, 'elsewhere/tally');
  await symlink(join(packageRoot(), 'node_modules'), join(folder, 'node_modules'));
  const built = join(folder, 'dist');
  const before = await Promise.all((await readdir(built)).map((name) => readFile(join(built, name), 'utf8')));
  await rm(built, { recursive: true });
  await run(process.execPath, [join(packageRoot(), 'node_modules/typescript/bin/tsc')], { cwd: folder });
  const after = await Promise.all((await readdir(built)).map((name) => readFile(join(built, name), 'utf8')));
  assert.is(after.length, 4);
  const why =
    'core/cassette/scaffold/built is old: put there the dist that tsc makes of a new cassette called my-cassette';
  for (const [index, text] of after.entries()) assert.is(text, before[index], why);
});

test('nothing in it bears the name of the template, and its types are those of this version', async () => {
  await made('acme-x', 'acme');
  for (const file of await files('acme')) {
    const text = await readFile(join(cwd, 'acme', file), 'utf8');
    assert.not.match(text, /my[-_]cassette/i, file);
  }
  assert.is(
    await readFile(join(cwd, 'acme/src/svc-cassette.ts'), 'utf8'),
    await readFile(join(packageRoot(), 'core/cassette/contract.ts'), 'utf8'),
  );
  assert.equal((await files('acme')).slice(0, 2), ['.gitignore', 'README.md']);
});

test('a name that cannot be and a folder that is not empty are refused, and nothing is written', async () => {
  const refusal = async (name: string, folder?: string) => {
    try {
      await made(name, folder);
    } catch (error) {
      if (error instanceof OperatorError && error.exitCode === 2) return error.message;
      throw error;
    }
    throw new Error('Cannot happen: it was made');
  };
  assert.is(
    await refusal('Word_Count'),
    "Cannot name a cassette 'Word_Count': it must be 2 to 32 of a-z, 0-9 and -, beginning with a letter",
  );
  assert.is(await refusal('svc'), "Cannot name a cassette 'svc': it is reserved");
  await mkdir(join(cwd, 'full'));
  await writeFile(join(cwd, 'full/mine'), '');
  assert.is(await refusal('full'), `Cannot write to '${join(cwd, 'full')}': it is not empty; name another folder`);
  assert.equal(await readdir(join(cwd, 'full')), ['mine']);
  assert.match(await refusal('other', 'full/mine'), /ENOTDIR$/);
});

test.run();
