import { chmod, mkdir, mkdtemp, readdir, rename, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { digestOf } from '../../../../core/cassette/admission/digest.ts';
import { Rejection } from '../../../../core/cassette/running.ts';

const test = suite('digestOf');
const made: string[] = [];
test.after(async () => {
  for (const folder of made) await rm(folder, { recursive: true, force: true });
});

const FILES = {
  'package.json': '{}',
  'a/one.js': 'one',
  'a/two.js': 'two',
  'a-b.js': 'between',
  'node_modules/dep/index.js': 'dependency',
};

async function folderOf(files: Record<string, string>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-digest-'));
  made.push(folder);
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
  return folder;
}

async function refusal(folder: string): Promise<Rejection> {
  try {
    await digestOf(folder);
  } catch (error) {
    if (error instanceof Rejection) return error;
    throw error;
  }
  throw new Error('Cannot happen: it has a digest');
}

test('the same files have the same digest, in whichever order they were made, wherever they lie', async () => {
  const one = await folderOf(FILES);
  const other = await folderOf(Object.fromEntries(Object.entries(FILES).reverse()));
  assert.is(await digestOf(one), await digestOf(other));
  assert.match(await digestOf(one), /^sha256:[0-9a-f]{64}$/);
});

test('the digest is this one on every machine', async () => {
  const folder = await folderOf({ 'cassette.mjs': 'export default 1;\n', 'é/x': '' });
  assert.is(await digestOf(folder), 'sha256:a86fb5a6e7fd149c1fbfef898b292fdc6cd10bfbfd5a0a289fa58102a1e0dfbe');
});

test('a byte, a name, a file more or less, contents swapped, a dependency: each moves it', async () => {
  const digests = new Set([await digestOf(await folderOf(FILES))]);
  const changes: Record<string, string>[] = [
    { ...FILES, 'a/one.js': 'onE' },
    { ...FILES, 'a/one.js': 'two', 'a/two.js': 'one' },
    { ...FILES, 'a/three.js': '' },
    { ...FILES, 'node_modules/dep/index.js': 'dependencY' },
    { ...FILES, 'node_modules/dep/.git/index.js': 'x' },
    { ...FILES, '.git/index.js': 'x' }, // whatever lies there can be imported
    { ...FILES, 'a/one.jstwo': '' },
  ];
  for (const files of changes) digests.add(await digestOf(await folderOf(files)));
  const renamed = await folderOf(FILES);
  await rename(join(renamed, 'a/one.js'), join(renamed, 'a/uno.js'));
  digests.add(await digestOf(renamed));
  assert.is(digests.size, changes.length + 2);
});

test('the executable bit moves it, times do not', async () => {
  const folder = await folderOf(FILES);
  const before = await digestOf(folder);
  await utimes(join(folder, 'a/one.js'), 1, 1);
  assert.is(await digestOf(folder), before);
  await chmod(join(folder, 'a/one.js'), 0o755);
  assert.is.not(await digestOf(folder), before);
});

test('where a symlink leads moves it; one that leads out of the folder or nowhere is refused', async () => {
  const folder = await folderOf(FILES);
  await symlink('one.js', join(folder, 'a/link'));
  const before = await digestOf(folder);
  await rm(join(folder, 'a/link'));
  await symlink('two.js', join(folder, 'a/link'));
  assert.is.not(await digestOf(folder), before);

  for (const target of ['../../etc', '/etc/passwd', join(folder, 'a/one.js'), 'nowhere', '../a/../../x']) {
    const other = await folderOf(FILES);
    await symlink(target, join(other, 'a/link'));
    const { step, message } = await refusal(other);
    assert.is(step, 'digest');
    assert.match(message, /a\/link' is a symlink that leads (out of the folder|nowhere)$/);
  }
});

test('a folder link inside does not loop', async () => {
  const folder = await folderOf(FILES);
  await symlink('..', join(folder, 'a/up'));
  assert.match(await digestOf(folder), /^sha256:/);
});

test("the service's own folder directly in it is left out, whatever is written there; one deeper in it is not", async () => {
  const folder = await folderOf(FILES);
  const before = await digestOf(folder);
  await mkdir(join(folder, '.svc'));
  await writeFile(join(folder, '.svc/config.toml'), 'secret');
  assert.is(await digestOf(folder), before);
  await mkdir(join(folder, 'a/.svc'));
  await writeFile(join(folder, 'a/.svc/x'), 'x');
  assert.is.not(await digestOf(folder), before);
});

for (const [path, target] of [
  ['link', '.svc/config.toml'],
  ['a/link', '../.svc'],
  ['a/up', '..'],
] as const)
  test(`a symlink that leads to the service's own folder is refused: ${path} to ${target}`, async () => {
    const folder = await folderOf({ ...FILES, '.svc/config.toml': 'secret' });
    await symlink(target, join(folder, path));
    assert.match((await refusal(folder)).message, /is a symlink that leads to '.*\/\.svc', the service's own folder/);
  });

test('what is no file is refused, and so is a folder that is not there', async () => {
  const folder = await folderOf(FILES);
  const server = createServer().listen(join(folder, 's'));
  await new Promise((resolve) => server.once('listening', resolve));
  assert.match((await refusal(folder)).message, /s' is neither a file nor a folder nor a symlink$/);
  server.close();
  assert.match((await refusal(join(folder, 'none'))).message, /none' cannot be read: ENOENT$/);
  assert.match((await refusal(join(folder, 'package.json'))).message, /is no folder$/);
});

test('a file larger than what is read at once counts to its last byte', async () => {
  const folder = await folderOf({ big: 'x'.repeat(200_000) });
  const before = await digestOf(folder);
  await writeFile(join(folder, 'big'), `${'x'.repeat(199_999)}y`);
  assert.is.not(await digestOf(folder), before);
  assert.equal(await readdir(folder), ['big']);
});

test.run();
