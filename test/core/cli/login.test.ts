import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';

const test = suite('svc login');
const root = resolve(import.meta.dirname, '../../..');
let folder = '';
test.before.each(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-login-'));
});
test.after.each(() => rm(folder, { recursive: true, force: true }));

async function login(owner: string, piped: string) {
  const tsx = pathToFileURL(join(root, 'node_modules/tsx/dist/loader.mjs')).href;
  const child = spawn(process.execPath, ['--import', tsx, join(root, 'core/cli/main.ts'), 'login', owner], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, NO_COLOR: '1' },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  child.stdin.end(piped);
  const [status] = await once(child, 'close');
  return { status, output };
}

test('a key comes from a pipe, is kept for this user alone, and shown to nobody', async () => {
  const { status, output } = await login('openai', 'sk-piped-key-1\n');
  assert.is(status, 0, output);
  assert.not.match(output, 'sk-piped');
  const path = join(folder, '.svc', 'credentials.toml');
  assert.match(output, path);
  assert.match(await readFile(path, 'utf8'), 'sk-piped-key-1');
  assert.is((await stat(path)).mode & 0o777, 0o600);
});

test('an unknown provider and no key are status 2', async () => {
  const other = await login('elsewhere', 'sk-piped-key-1');
  assert.is(other.status, 2);
  assert.match(other.output, "there are only 'openai' and 'anthropic'");
  assert.is((await login('openai', '')).status, 2);
});

test.run();
