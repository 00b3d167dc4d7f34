/** `svc cassette serve` and `check`: a cassette on a listener of its own, and what its author is told before anybody installs it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { cassetteFolder } from '../support/cassette-folder.ts';
import { emptyServerDatabase } from '../support/databases.ts';
import { emptyFolder, QUICK_START, removeFolder, SVC, svc } from '../support/serve.ts';

const test = suite('a cassette alone');
const MIGRATIONS = [{ name: '0001_seen', sql: 'create table seen (what text primary key)' }];
const DB = { bindings: { db: true }, depends: { views: ['sessions'] }, tables: [{ name: 'seen' }] };

let folder = '';
test.before(async () => {
  folder = await emptyFolder();
});
test.after(() => removeFolder(folder));

const alone = async (source: string, env: Record<string, string>) => {
  const args = [...QUICK_START, ...SVC, 'cassette', 'serve', source, '--listen', ':0'];
  const child: ChildProcess = spawn(process.execPath, args, {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, NO_COLOR: '1', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const address = new Promise<string>((found, failed) => {
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => {
        output += chunk.toString();
        const at = /answers at (http:\/\/[^/\s]+)\/\S*\n/.exec(output)?.[1];
        if (at) found(at);
      });
    child.once('exit', (code) => failed(new Error(`it ended with ${code}:\n${output}`)));
  });
  return {
    base: await address,
    output: () => output,
    stop: async (...signals: NodeJS.Signals[]) => {
      const ended = once(child, 'exit');
      for (const signal of signals.length > 0 ? signals : (['SIGTERM'] as const)) child.kill(signal);
      const [status] = await ended;
      return status as number;
    },
  };
};

test('a terminal that is closed stops it, with nothing left', async () => {
  await cassetteFolder({ name: 'closed', manifest: DB, migrations: MIGRATIONS }, join(folder, 'closed'));
  const tmp = join(folder, 'tmp');
  await mkdir(tmp);
  const { stop } = await alone('closed', { TMPDIR: tmp });
  assert.is(await stop('SIGHUP', 'SIGHUP'), 0);
  const left = (await readdir(tmp)).filter((name) => name.startsWith('svc-'));
  assert.equal(left, []);
});

test('it serves its own paths, without a database where none is named', async () => {
  await cassetteFolder({ name: 'notes', manifest: DB, migrations: MIGRATIONS }, join(folder, 'notes'));
  const { base, output, stop } = await alone('notes', {});
  assert.is(await (await fetch(`${base}/ping`)).json(), 'pong');
  assert.is(((await (await fetch(`${base}/openapi`)).json()) as { openapi: string }).openapi, '3.1.0');
  assert.is(((await (await fetch(`${base}/api/notes/hello`)).json()) as { hello: string }).hello, 'world');
  assert.equal(await (await fetch(`${base}/api/notes/env`)).json(), { bindings: ['CONFIG', 'LOG'], config: {} });
  assert.is((await fetch(`${base}/api/notes/hello`, { headers: { origin: 'http://evil.example' } })).status, 403);
  assert.match(output(), 'none: SVC_DATABASE_URL is not set');
  assert.is(await stop(), 0);
});

test('the address that it prints is the one of its paths, also where these have no prefix', async () => {
  const bare = (document: Record<string, unknown>) =>
    JSON.parse(JSON.stringify(document).replaceAll('/api/notes', '/notes'));
  await cassetteFolder(
    { name: 'notes', manifest: { api: { prefix_path: '/' } }, document: bare },
    join(folder, 'bare'),
  );
  const { base, output, stop } = await alone('bare', {});
  assert.ok(output().includes(`answers at ${base}/notes\n`), output());
  assert.is(await stop(), 0);
});

if (process.env.SVC_TEST_DSN)
  test('with SVC_DATABASE_URL it has its schema there, and SVC_CORE_URL is its core', async () => {
    const database = await emptyServerDatabase(process.env.SVC_TEST_DSN ?? '');
    try {
      const manifest = { ...DB, bindings: { db: true, core: true } };
      await cassetteFolder({ name: 'notes', manifest, migrations: MIGRATIONS }, join(folder, 'with-database'));
      const other = await alone('notes', {}); // anything that speaks HTTP
      const env = { SVC_DATABASE_URL: database.dsn, SVC_CORE_URL: other.base };
      const { base, stop } = await alone('with-database', env);
      const sql = encodeURIComponent("insert into seen (what) values ('it') returning what");
      assert.equal(await (await fetch(`${base}/api/notes/rows?sql=${sql}`)).json(), {
        rows: [{ what: 'it' }],
        row_count: 1,
      });
      assert.is(await (await fetch(`${base}/api/notes/core?path=/ping`)).json(), 'pong');
      assert.is(await stop(), 0);
      assert.is(await other.stop(), 0);
    } finally {
      await database.drop();
    }
  });

test('check finds what keeps it out, and what its document does not say', async () => {
  await cassetteFolder({ name: 'good', manifest: DB, migrations: MIGRATIONS }, join(folder, 'good'));
  const good = await svc(folder, ['cassette', 'check', 'good']);
  assert.is(good.status, 0, good.out + good.err);
  assert.not.match(good.out, /^ {2}no /m);
  assert.match(good.out, 'it can be installed a second time under another name');

  await cassetteFolder(
    { name: 'liar', before: "if (path === '/api/liar/hello') return json({}, 418);" },
    join(folder, 'liar'),
  );
  const liar = await svc(folder, ['cassette', 'check', 'liar']);
  assert.is(liar.status, 1);
  assert.match(liar.out, 'it answers 418, and its document names 200');
  assert.match(liar.out, /It can be let in, but does not keep what it declares\n$/);

  const migrations = [{ name: '0001', sql: 'create function f() returns int language sql return 1' }];
  await cassetteFolder({ name: 'maker', manifest: DB, migrations }, join(folder, 'maker'));
  const maker = await svc(folder, ['cassette', 'check', 'maker']);
  assert.is(maker.status, 1);
  assert.match(maker.out, /no {2}its schema can be made/, maker.out + maker.err);
  assert.match(maker.out, /It cannot be let in as it is\n$/);
});

test.run();
