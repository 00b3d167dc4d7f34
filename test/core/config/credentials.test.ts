import { execFile } from 'node:child_process';
import { chmod, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readCredentials, writeCredential } from '../../../core/config/credentials.ts';
import { OperatorError } from '../../../core/errors.ts';

const test = suite('credentials');
let folder = '';
test.before.each(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-credentials-'));
});
test.after.each(() => rm(folder, { recursive: true, force: true }));

const refused = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    assert.instance(error, OperatorError);
    return (error as Error).message;
  }
  return assert.unreachable('it was taken') as never;
};

test('what was written is read, by this user alone; the key of the other stays', async () => {
  assert.equal(readCredentials(folder, {}), {});
  writeCredential(join(folder, 'new'), 'openai', 'sk-first-key');
  const path = writeCredential(folder, 'openai', 'sk-openai-key');
  writeCredential(folder, 'anthropic', 'sk-ant-key');
  assert.equal(readCredentials(folder, {}), { openai: 'sk-openai-key', anthropic: 'sk-ant-key' });
  writeCredential(folder, 'openai', 'sk-openai-other');
  assert.equal(readCredentials(folder, {}), { openai: 'sk-openai-other', anthropic: 'sk-ant-key' });
  assert.is((await stat(path)).mode & 0o777, 0o600);
  assert.equal((await readdir(folder)).sort(), ['.gitignore', 'credentials.toml', 'new']);
});

test('git does not see the keys, unless a .gitignore of the folder has it otherwise', async () => {
  const project = join(folder, 'project');
  await promisify(execFile)('git', ['init', '-q', project]);
  const untracked = async () =>
    (await promisify(execFile)('git', ['status', '--porcelain', '-uall'], { cwd: project })).stdout;
  writeCredential(join(project, '.svc'), 'openai', 'sk-openai-key');
  assert.is(await untracked(), '');
  await writeFile(join(project, '.svc/.gitignore'), '/data\n');
  writeCredential(join(project, '.svc'), 'anthropic', 'sk-ant-key');
  assert.is(await readFile(join(project, '.svc/.gitignore'), 'utf8'), '/data\n', 'the own one stays');
});

test('a .gitignore that cannot be written keeps no key from being saved', async () => {
  await symlink(join(folder, 'nowhere/else'), join(folder, '.gitignore'));
  writeCredential(folder, 'openai', 'sk-openai-key');
  assert.equal(readCredentials(folder, {}), { openai: 'sk-openai-key' });
});

test('the environment wins', () => {
  writeCredential(folder, 'openai', 'sk-of-the-file');
  const env = { OPENAI_API_KEY: 'sk-of-the-environment', ANTHROPIC_API_KEY: '' };
  assert.equal(readCredentials(folder, env), { openai: 'sk-of-the-environment' });
});

test('a file that others can read, or that is broken, is refused without a word of what is in it', async () => {
  const path = writeCredential(folder, 'openai', 'sk-openai-key');
  await chmod(path, 0o644);
  assert.match(
    refused(() => readCredentials(folder, {})),
    'others can read it',
  );
  await chmod(path, 0o600);
  for (const text of ['[openai]\napi_key = sk-unquoted', '[openai]\nkey = "sk-unknown"', '\u0000']) {
    await writeFile(path, text);
    assert.not.match(
      refused(() => readCredentials(folder, {})),
      'sk-',
    );
  }
});

test('what is no key is refused without being repeated, and nothing is written', async () => {
  for (const key of ['', 'short', 'two words of it', `x\ny${'z'.repeat(20)}`, 'x'.repeat(600)]) {
    const message = refused(() => writeCredential(folder, 'openai', key));
    if (key !== '') assert.not.match(message, key);
  }
  assert.equal(await readdir(folder), []);
  await readFile(join(folder, 'credentials.toml')).then(
    () => assert.unreachable(),
    () => {},
  );
});

test.run();
