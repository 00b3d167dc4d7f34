/** Where does `svc export -o` write, and who can read it? Before a read API of the test, over a real socket. */
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { svc } from '../../../support/cli-program.ts';
import { SVC } from '../../../support/serve.ts';

type Context = { folder: string; address: string; close: () => void };
const test = suite<Context>('the file of an export');

const LINES = '{"session_id":"s","title":"\u009b31m"}\n{"end":true}\n';

test.before.each(async (context) => {
  context.folder = await mkdtemp(join(tmpdir(), 'svc-export-'));
  const server = createServer(({ url = '' }, response) => {
    response.setHeader('content-type', url === '/ping' ? 'application/json' : 'application/x-ndjson');
    response.end(url === '/ping' ? '"pong"' : LINES);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  context.address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  context.close = () => server.close();
});
test.after.each(async ({ folder, close }) => {
  close();
  await rm(folder, { recursive: true });
});

const exported = ({ folder, address }: Context, output: string) =>
  svc(['export', '-o', output], { cwd: folder, env: { SVC_CLIENT_API_TARGET: address } });
const modeOf = async (file: string) => ((await stat(file)).mode & 0o777).toString(8);
const unfinished = async (folder: string) => (await readdir(folder)).filter((name) => name.endsWith('.part'));

test('a new file is for its owner alone, and an existing one keeps its mode', async (context) => {
  const file = join(context.folder, 'out.jsonl');
  for (const mode of [null, 0o600, 0o640]) {
    if (mode !== null) await chmod(file, mode);
    const { status, err } = await exported(context, file);
    assert.equal([status, err], [0, `Exported ${Buffer.byteLength(LINES)} bytes to ${file}\n`]);
    assert.is(await modeOf(file), (mode ?? 0o600).toString(8));
    assert.is(await readFile(file, 'utf8'), LINES);
  }
  assert.equal(await unfinished(context.folder), []);
});

test('what standard output is redirected to is written on, as others do, and not replaced', async ({
  folder,
  address,
}) => {
  const file = join(folder, 'all.jsonl');
  const env = { ...process.env, SVC_CLIENT_API_TARGET: address, HOME: folder };
  const line = 'echo first; "$@" -o /dev/stdout; echo last';
  await writeFile(file, 'before\n');
  const child = spawn('bash', ['-c', `{ ${line}; } >> all.jsonl`, 'bash', process.execPath, ...SVC, 'export'], {
    cwd: folder,
    env,
  });
  assert.match(await text(child.stderr), `Exported ${Buffer.byteLength(LINES)} bytes to /dev/stdout`);
  assert.is(await readFile(file, 'utf8'), `before\nfirst\n${LINES}last\n`);
  assert.equal(await unfinished(folder), []);
});

test('a link stays, and leads to what was written, also where nothing was there', async (context) => {
  const { folder } = context;
  const link = join(folder, 'link');
  await mkdir(join(folder, 'far'));
  await symlink('far/target', link);
  for (const before of ['nothing', 'a file']) {
    assert.is((await exported(context, link)).status, 0, before);
    assert.is(await readlink(link), 'far/target', before);
    assert.is(await readFile(join(folder, 'far/target'), 'utf8'), LINES, before);
    await writeFile(join(folder, 'far/target'), 'old');
  }
  assert.equal([await unfinished(folder), await unfinished(join(folder, 'far'))], [[], []]);
});

test('a pipe gets the bytes as they come, and stays a pipe', async (context) => {
  const fifo = join(context.folder, 'fifo');
  execFileSync('mkfifo', [fifo]);
  const reader = spawn('cat', [fifo], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const read = text(reader.stdout);
    assert.is((await exported(context, fifo)).status, 0);
    assert.ok((await stat(fifo)).isFIFO());
    assert.is(await read, LINES);
  } finally {
    reader.kill();
  }
});

test('what another has put at the name of the unfinished file is not followed', async (context) => {
  const [file, foreign] = [join(context.folder, 'out.jsonl'), join(context.folder, 'foreign')];
  await writeFile(foreign, 'theirs');
  await symlink(foreign, `${file}.${process.pid}.part`);
  assert.is((await exported(context, file)).status, 0);
  assert.is(await readFile(foreign, 'utf8'), 'theirs');
  assert.is(await readFile(file, 'utf8'), LINES);
});

test('a folder is refused, and left as it is', async (context) => {
  const { status, err } = await exported(context, context.folder);
  assert.is(status, 1);
  assert.match(err, /^Cannot export: EISDIR: /);
  assert.equal(await readdir(context.folder), []);
});

/** What `svc` prints to a terminal of its own. */
async function onTerminal({ folder, address }: Context, args: readonly string[]): Promise<string> {
  const line = [process.execPath, ...SVC, ...args].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['-qec', line, '/dev/null'], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', HOME: folder, SVC_CLIENT_API_TARGET: address },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return (await text(child.stdout)).replaceAll('\r', '');
}

const hasTerminals = process.platform === 'linux' && spawnSync('script', ['--version']).status === 0;
if (hasTerminals)
  test('a terminal that the file is gets nothing that drives it, and no backup', async (context) => {
    const link = join(context.folder, 'link'); // what replaces a file would replace the link alone
    await symlink('/dev/tty', link);
    const shown = await onTerminal(context, ['export', '-o', link]);
    assert.match(shown, '{"session_id":"s","title":"\\u009b31m"}\n{"end":true}\n');
    assert.match(shown, ' bytes to ');
    const refused = await onTerminal(context, ['backup', '-o', link]);
    assert.is(refused, "Cannot write a backup to the terminal: name a file with '-o'\n");
    assert.is(await readlink(link), '/dev/tty');
  });
else console.log("skip: an export to a terminal: util-linux's script is not there");

test.run();
