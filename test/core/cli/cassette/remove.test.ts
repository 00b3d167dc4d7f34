import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openCassetteDatabases } from '../../../../core/cassette/database/cassette-databases.ts';
import { listTexts, readLists } from '../../../../core/cassette/list/read-list.ts';
import { removeCassette } from '../../../../core/cli/cassette/remove.ts';
import type { RunningService } from '../../../../core/cli/cassette/target.ts';
import { loadConfig } from '../../../../core/config/load.ts';
import { lockFolder } from '../../../../core/db/client/folder-lock.ts';
import { type OpenDatabase, openDatabase } from '../../../../core/db/open.ts';
import { OperatorError } from '../../../../core/errors.ts';
import { openLog } from '../../../../core/log.ts';
import { emptyServerDatabase, startTestThread, templateFolder } from '../../../support/databases.ts';

const test = suite('svc cassette remove');
let cwd = '';
let folder = '';
test.before.each(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'svc-remove-'));
  folder = join(cwd, '.svc');
  for (const name of ['tally', 'other']) {
    await mkdir(join(folder, 'cassettes', name), { recursive: true });
    await writeFile(join(folder, 'cassettes', name, 'x'), '');
  }
  const entry = (name: string) => ({ name, source: `npm:${name}@1.0.0`, grants: { bindings: ['db'] } });
  await writeFile(files().candidates[0] ?? '', JSON.stringify({ cassettes: [entry('tally'), entry('other')] }));
  await writeFile(files().builtIn, JSON.stringify({ cassettes: [{ name: 'search', source: './search' }] }));
});
test.after.each(() => rm(cwd, { recursive: true, force: true }));

const files = () => ({ builtIn: join(cwd, 'ours.json'), candidates: [join(folder, 'cassette.manifest.json')] });
const names = async () =>
  readLists(await listTexts(files())).list.map(({ name, enabled }) => (enabled ? name : `-${name}`));
const installed = async () => (await readdir(join(folder, 'cassettes'))).sort();

type Options = { purge?: boolean; dsn?: string; running?: RunningService; isOwn?: boolean };

async function remove(name: string, { purge = false, dsn = '', running, isOwn = true }: Options = {}): Promise<string> {
  const flags = { 'client.api_target': 'http://127.0.0.1:9', 'storage.postgres_dsn': dsn, 'log.level': 'silent' };
  let out = '';
  const target = running && { folder, files: files(), reader: 'of the service', isOwn, running };
  const io = { cwd, files: files(), out: (text: string) => (out += text), ...(target && { target }) };
  await removeCassette(name, { purge }, loadConfig({ flags, env: {}, cwd, home: cwd }), io);
  return out;
}

async function refusal(name: string, options?: Options): Promise<string> {
  try {
    await remove(name, options);
  } catch (error) {
    if (error instanceof OperatorError) return error.message;
    throw error;
  }
  throw new Error(`Cannot happen: ${name} was removed`);
}

test('it goes off the list with what was installed, and the others stay', async () => {
  const out = await remove('tally');
  assert.match(out, /^Removed tally from .*cassette\.manifest\.json; a service that runs withdraws it by itself\n/);
  assert.match(out, "What it has stored stays; 'svc cassette remove tally --purge' drops it\n");
  assert.equal(await names(), ['other', 'search']);
  assert.equal(await installed(), ['other']);
});

test('how to drop what it has stored is said with the condition that holds', async () => {
  const running = (data: string): RunningService => ({ address: 'http://localhost:8081', data, readsList: true });
  const [embedded, server] = [running(join(folder, 'data')), running('PostgreSQL at db.example/svc')];
  const command = "'svc cassette remove tally --purge'";
  const list = await readFile(files().candidates[0] ?? '', 'utf8');
  const hint = async (options: Options) => {
    await writeFile(files().candidates[0] ?? '', list);
    return (await remove('tally', options)).split('; ').at(-1);
  };
  assert.is(await hint({ running: embedded }), `${command} drops it once svc has stopped\n`);
  assert.is(
    await hint({ running: embedded, isOwn: false }),
    `${command}, run in ${cwd}, drops it once svc has stopped\n`,
  );
  assert.is(await hint({ running: server, isOwn: false }), `${command}, run in ${cwd}, drops it\n`);
  assert.is(await hint({ running: server, dsn: 'postgres://ada@db.example/svc' }), `${command} drops it\n`);
  const unlock = await lockFolder(folder);
  assert.is(await hint({}), `${command} drops it once svc has stopped\n`);
  await unlock();
});

test('one that comes with the package is switched off, also where the user had another in its place', async () => {
  const back = 'To have search as it comes with svc, take its entry out of that file\n';
  const off = await remove('search');
  assert.match(off, /^Switched off search, which comes with svc, in /);
  assert.match(off, `\n${back}`);
  assert.equal(await names(), ['other', '-search', 'tally']);
  await writeFile(files().candidates[0] ?? '', '{"cassettes": [{"name": "search", "source": "./mine"}]}');
  assert.match(await remove('search'), `Your own entry for it is replaced. ${back}`);
  assert.equal(await names(), ['-search']);
  await writeFile(files().candidates[0] ?? '', '{"cassettes": []}');
  assert.equal(await names(), ['search']);
});

test('a name that is on no list is refused, with the one that was likely meant', async () => {
  const before = await readFile(files().candidates[0] ?? '', 'utf8');
  assert.is(await refusal('taly'), "Cannot remove 'taly': it is not on the list; did you mean 'tally'?");
  assert.is(await refusal('nothing'), "Cannot remove 'nothing': it is not on the list; there are other, search, tally");
  assert.match(await refusal('../..'), 'no cassette can have that name');
  assert.is(await readFile(files().candidates[0] ?? '', 'utf8'), before);
});

test('while another process has the embedded database nothing is purged and nothing removed', async () => {
  await cp(join(await templateFolder(), 'data'), join(folder, 'data'), { recursive: true });
  const unlock = await lockFolder(folder);
  const message = await refusal('tally', { purge: true });
  assert.match(
    message,
    new RegExp(
      `^Cannot purge 'tally': the database in '.*': process ${process.pid} has used it since .*; stop it first`,
    ),
  );
  assert.match(message, "or remove it without '--purge'");
  assert.equal(await names(), ['other', 'search', 'tally']);
  assert.equal(await installed(), ['other', 'tally']);
  await unlock();
});

test('without a database there is nothing to purge', async () => {
  assert.match(await remove('tally', { purge: true }), /There is no database here, so it has stored nothing\n$/);
  assert.equal(await names(), ['other', 'search']);
  const meant = "Cannot remove 'othr': it is not on the list; did you mean 'other'?";
  assert.is(await refusal('othr', { purge: true }), meant);
});

test('where the service has another database than these settings, or nobody knows, nothing is purged and nothing removed', async () => {
  const address = 'http://localhost:8081';
  const set = 'set storage.postgres_dsn for this command as for the service, by SVC_STORAGE_POSTGRES_DSN';
  const refusals = async (data: string | null, dsn = '', readsList: boolean | null = true) =>
    refusal('tally', { purge: true, dsn, running: { address, data, readsList } });
  const elsewhere = 'PostgreSQL at db.example/svc';
  assert.is(
    await refusals(elsewhere),
    `Cannot purge 'tally': the service at ${address} has its database elsewhere (${elsewhere}) than these settings say (${join(folder, 'data')}); ${set}`,
  );
  assert.match(await refusals(elsewhere, 'postgres://ada:secret@db.example/other'), '(PostgreSQL at db.example/other)');
  assert.match(await refusals(elsewhere, '', false), 'has its database elsewhere');
  const unknown = `Cannot purge 'tally': where the service at ${address} has its database is not known; stop it first, and ${set}`;
  assert.is(await refusals(null, '', null), unknown);
  const unshown = 'postgres://ada:p@ss@db.example/svc';
  assert.is(await refusals('PostgreSQL at storage.postgres_dsn', unshown), unknown, 'it may be another of that kind');
  assert.equal(await names(), ['other', 'search', 'tally']);
  assert.equal(await installed(), ['other', 'tally']);
});

test('where a process serves the folder whose database is not known, it is not said that nothing was stored', async () => {
  const unlock = await lockFolder(folder);
  assert.match(await refusal('tally', { purge: true }), `process ${process.pid} serves this folder, and where it has`);
  assert.equal(await names(), ['other', 'search', 'tally']);
  await unlock();
});

async function provisioned(open: () => Promise<OpenDatabase>, dsn: string, name: string): Promise<void> {
  const database = await open();
  const databases = openCassetteDatabases({ database, dsn, pooled: false, log: openLog('silent') });
  await databases.provision({ name, views: ['sessions'], extensions: [] });
  await databases.migrate(name, [{ name: '0001', sql: 'create table counts (n bigint)' }]);
  await databases.db(name).query('insert into counts values (1)');
  await databases.close();
  await database.close();
}

/** That its schema is made anew, empty: the migration runs again. */
async function isGone(open: () => Promise<OpenDatabase>, dsn: string, name: string): Promise<boolean> {
  const database = await open();
  const databases = openCassetteDatabases({ database, dsn, pooled: false, log: openLog('silent') });
  await databases.provision({ name, views: [], extensions: [] });
  await databases.migrate(name, [{ name: '0001', sql: 'create table counts (n bigint)' }]);
  const { rows } = await databases.db(name).query('select n from counts');
  await databases.close();
  await database.close();
  return rows.length === 0;
}

async function purges(open: () => Promise<OpenDatabase>, dsn: string): Promise<void> {
  await provisioned(open, dsn, 'tally');
  await provisioned(open, dsn, 'other');
  assert.match(
    await remove('tally', { purge: true, dsn }),
    /Its schema, with all that it has stored, and its role are gone\n$/,
  );
  assert.equal(await names(), ['other', 'search']);
  assert.is(await isGone(open, dsn, 'tally'), true);
  assert.is(await isGone(open, dsn, 'other'), false);
  await remove('tally', { purge: true, dsn }); // off the list already, and still to be purged
  const unknown = "Cannot remove 'tally': it is not on the list; there are other, search";
  assert.is(await refusal('tally', { purge: true, dsn }), unknown, 'nothing of that name is left');
  await remove('other', { purge: true, dsn });
  await mkdir(join(folder, 'cassettes', 'half'));
  assert.match(await remove('half', { purge: true, dsn }), /^It had no schema, so it has stored nothing\n$/);
}

test('a purge drops its schema and nothing else, on the embedded database', async () => {
  await cp(join(await templateFolder(), 'data'), join(folder, 'data'), { recursive: true });
  const log = openLog('silent');
  await purges(() => openDatabase({ dsn: '', pooled: false, folder, log, startThread: startTestThread }), '');
});

if (process.env.SVC_TEST_DSN)
  test('a purge drops its schema, its role and nothing else, on a server', async () => {
    const { dsn, drop } = await emptyServerDatabase(process.env.SVC_TEST_DSN ?? '');
    try {
      await purges(() => openDatabase({ dsn, pooled: false, folder: '', log: openLog('silent') }), dsn);
    } finally {
      await drop();
    }
  });
else console.log('skip: svc cassette remove --purge (server): SVC_TEST_DSN is not set');

test.run();
