/** A backup goes from an embedded database to a server and back: what is read from it is the same, and a damaged file writes nothing. */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { cp, mkdir, readFile, readlink, stat, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { gunzipSync, gzipSync } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { sessionId } from '../../../../core/call/identity.ts';
import { backUp } from '../../../../core/cli/keep/backup.ts';
import { restore } from '../../../../core/cli/keep/restore.ts';
import { printVerification } from '../../../../core/cli/verify.ts';
import { type LoadedConfig, loadConfig } from '../../../../core/config/load.ts';
import { type OpenDatabase, openDatabase } from '../../../../core/db/open.ts';
import { OperatorError } from '../../../../core/errors.ts';
import { openLog } from '../../../../core/log.ts';
import { capturedCall, chat, chatAnswer, takeIn } from '../../../support/captured-calls.ts';
import { cassettesOf, furnished } from '../../../support/cassette-database.ts';
import {
  embeddedDatabase,
  emptyServerDatabase,
  type TestDatabase,
  templateFolder,
} from '../../../support/databases.ts';
import { deriveAll } from '../../../support/derive-all.ts';
import { hasPgbouncer, startPgbouncer } from '../../../support/pgbouncer.ts';
import { type Json, testApi } from '../../../support/read-api.ts';
import { emptyFolder, removeFolder } from '../../../support/serve.ts';

const NOW = Date.parse('2026-11-22T10:00:00Z');
const of = (name: string): [string, string][] => [
  ['x-svc-harness-id', 'test'],
  ['x-svc-harness-session-id', name],
];
const id = (name: string) => sessionId('test', name);

const TABLES = `
  create type mood as enum ('fine', 'it''s not');
  create domain short as text check (length(value) < 20);
  create sequence ticket increment 5 start 100;
  create table notes (
    id bigserial primary key, no bigint generated always as identity, at timestamptz not null default now(), mood mood not null default 'fine',
    ticket bigint default nextval('ticket'), words text[] not null default '{}', session_id uuid unique, raw bytea, size integer, note short,
    twice integer generated always as (size * 2) stored, "odd ""name" jsonb);
  create table parts (note bigint not null references notes on delete cascade, part text not null, weight double precision);
  create index parts_weight on parts (weight desc) where weight > 0;
  create view heavy as select s.id, p.part from parts p join svc_v1.sessions s on true where p.weight > 1;`;

/** Whatever a backup has to hold, and what it has to leave out. */
async function fill(database: TestDatabase): Promise<void> {
  const calls = ['kept', 'gone', 'hidden'].flatMap((name, s) =>
    [0, 1, 2].map((n) =>
      capturedCall({
        n: s * 10 + n,
        headers: of(name),
        request: chat(`${name} \u{2028} asks`, ...Array.from({ length: 2 * n }, (_, i) => `${name} ${i}`)),
        response: chatAnswer(`${name} answers ${n} "quoted" \\ back`),
      }),
    ),
  );
  const unnamed = capturedCall({ n: 50, request: chat('No name'), response: chatAnswer('None') });
  const failed = capturedCall({ n: 51, request: chat('No answer'), response: null, headers: of('kept') });
  await takeIn(database, [...calls, unnamed, failed]);
  await deriveAll(database);
  const api = testApi({ execute: database.execute });
  const changed = async (method: string, path: string, body?: unknown) => {
    const response = await api.request(path, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    assert.ok(response.ok, await response.text());
  };
  await changed('PATCH', `/v1/sessions/${id('kept')}`, { display_name: 'The one to keep', starred: true });
  await changed('DELETE', `/v1/sessions/${id('hidden')}`);
  await changed('POST', `/v1/admin/sessions/${id('gone')}/purge`, { reason: 'it was asked for' });
  await database.sql(
    `insert into svc.raw_turn_corrections (raw_turn_id, kind, session_id, reason)
     select max(raw_turn_id), 'repair', $1::uuid, 'test' from svc.raw_turns where session_id = $1::uuid`,
    [id('kept')],
  );
  await database.sql(
    `insert into svc.parked_turns (svc_proxy_request_id, reason, head, request_body, response_body)
     values ('parked', 'test', '{"a": [1, "\\u00e9"]}', '\\x00ff0a', '')`,
  );
  const cassettes = cassettesOf(database);
  await furnished(cassettes, 'my-notes', { tables: TABLES, views: ['sessions'] });
  await database.sql(
    `
    insert into cassette_my_notes.notes (mood, words, session_id, raw, size, note, "odd ""name")
    values ('it''s not', '{"a,b","c\\"d",NULL}', $1::uuid, '\\x0001fe', 21, 'short', '{"k": "v"}'), ('fine', '{}', null, null, null, null, null)`,
    [id('kept')],
  );
  await database.sql(
    `insert into cassette_my_notes.parts values (1, 'first', 0.1), (1, 'first', 1e300), (2, '', null)`,
  );
  await cassettes.close();
}

type Shown = Record<string, Json>;

/** What readers see, and the rows of the cassette. */
async function shown(database: OpenDatabase): Promise<Shown> {
  const api = testApi({ execute: database.execute, now: () => NOW });
  const seen: Shown = {};
  for (const path of [
    '/v1/sessions',
    '/v1/browse/sessions?starred=true',
    '/v1/stats',
    '/v1/coverage',
    `/v1/sessions/${id('kept')}/traces`,
    `/v1/sessions/${id('kept')}/raw_turns`,
    `/v1/sessions/${id('hidden')}`,
  ]) {
    const response = await api.request(path);
    seen[path] = await response.json();
  }
  for (const path of [seen[`/v1/sessions/${id('kept')}/traces`], seen['/v1/sessions']]) delete path?.request_id;
  delete seen[`/v1/sessions/${id('hidden')}`].request_id;
  return seen;
}

const loadedAt = (cwd: string, dsn = '', pooled = false): LoadedConfig =>
  loadConfig({
    flags: { 'storage.postgres_dsn': dsn, 'storage.pooled': String(pooled), 'log.level': 'silent' },
    env: {},
    cwd,
    home: cwd,
  });

const opened = ({ config: { storage }, folder }: LoadedConfig) =>
  openDatabase({ dsn: storage.postgres_dsn, pooled: storage.pooled, folder, log: openLog('silent') });

const test = suite('svc backup and svc restore');
const folders: string[] = [];
/** With an empty database, since making one takes seconds. */
const newFolder = async () => {
  const folder = await emptyFolder();
  await cp(join(await templateFolder(), 'data'), join(folder, '.svc', 'data'), { recursive: true });
  folders.push(folder);
  return folder;
};
let source: LoadedConfig;
let before: Shown;
let file: string;
let verified: string;
let installed: { identity_key: string; installation_id: string };

const talk = () => {
  const printed = { out: '', err: '' };
  const io = {
    out: (text: string) => {
      printed.out += text;
    },
    err: (text: string) => {
      printed.err += text;
    },
    cwd: folders[0] ?? '',
  };
  return { printed, io };
};
const backedUp = async (loaded: LoadedConfig, output: string): Promise<Json> => {
  const { printed, io } = talk();
  await backUp(loaded, { output, json: true, version: '0.0.0' }, io);
  return JSON.parse(printed.out);
};
const restored = async (loaded: LoadedConfig, from: string, cassettes = true): Promise<Json> => {
  const { printed, io } = talk();
  assert.is(await restore(loaded, { file: from, json: true, cassettes }, io), 0);
  return JSON.parse(printed.out);
};
const refused = async (loaded: LoadedConfig, from: string): Promise<string> => {
  const thrown = await restored(loaded, from).catch((error: unknown) => error);
  assert.instance(thrown, OperatorError);
  return (thrown as OperatorError).message;
};
const verify = async (loaded: LoadedConfig): Promise<string> => {
  const { printed, io } = talk();
  assert.is(await printVerification(loaded, { session: null, head: null, json: true }, io), 0, printed.out);
  return printed.out;
};
/** The lines of a backup without its head and end, and without revisions, which go on. */
const linesIn = async (path: string): Promise<string[]> => {
  const tables = gunzipSync(await readFile(path))
    .toString()
    .split('\n')
    .slice(1, -2)
    .join('\n')
    .split('\n{');
  return tables.filter((table) => !table.includes('svc.session_revisions'));
};

test.before(async () => {
  const cwd = await emptyFolder();
  folders.push(cwd);
  await mkdir(join(cwd, '.svc'));
  const database = await embeddedDatabase({ folder: join(cwd, '.svc') });
  await fill(database);
  before = await shown(database);
  installed = await database.execute('installation', {});
  await database.close();
  source = loadedAt(cwd);
  file = join(cwd, 'backup');
  verified = await verify(source);
});
test.after(async () => {
  for (const folder of folders) await removeFolder(folder);
});

test('the file is whole, only its owner reads it, and it counts what it holds', async () => {
  await writeFile(`${file}.999999999.part`, 'left by a process that was killed');
  const made = await backedUp(source, file);
  assert.equal(
    [made.file, made.rows['svc.sessions'], made.rows['svc.raw_turns'], made.rows['svc.tombstones']],
    [file, 4, 8, 3],
  );
  assert.is(made.rows['cassette_my_notes.parts'], 3);
  assert.equal(unfinished(dirname(file)), []);
  assert.is((await stat(file)).mode & 0o777, 0o600);
});

test('a backup goes through a link to its target, and straight into a pipe, of which it is said that nothing was read back', async () => {
  const folder = await emptyFolder();
  folders.push(folder);
  const [target, link, fifo] = [join(folder, 'target'), join(folder, 'link'), join(folder, 'fifo')];
  await writeFile(target, 'old', { mode: 0o644 });
  await symlink('target', link);
  await backedUp(source, link);
  assert.equal([await readlink(link), (await stat(target)).mode & 0o777], ['target', 0o600]);
  assert.equal(await linesIn(target), await linesIn(file));

  execFileSync('mkfifo', [fifo]);
  const reader = spawn('cat', [fifo], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const read = buffer(reader.stdout);
    const { printed, io } = talk();
    await backUp(source, { output: fifo, json: true, version: '0.0.0' }, io);
    assert.ok((await stat(fifo)).isFIFO());
    await writeFile(join(folder, 'read'), await read);
    assert.equal(await linesIn(join(folder, 'read')), await linesIn(file));
    assert.is(printed.out, '');
    assert.match(printed.err, /Wrote .+ to \S+\/fifo, from which nothing can be read back\n$/);
  } finally {
    reader.kill();
  }
  assert.equal(unfinished(folder), []);
});

/** Files that are not whole. */
const unfinished = (folder: string) => readdirSync(folder).filter((name) => name.endsWith('.part'));

const cluster = process.env.SVC_TEST_DSN;

/** A server's database, there and back. */
async function goesRound({ pooled }: { pooled: boolean }): Promise<void> {
  const server = cluster ? await emptyServerDatabase(cluster) : null;
  if (!server) console.log('skip: a restore into a server: SVC_TEST_DSN is not set');
  const pooler = server && pooled ? await startPgbouncer(server.dsn, 4) : null;
  try {
    let from = file;
    const dsn = server && (pooler ? pooler.through(server.dsn) : server.dsn);
    const targets = [...(dsn ? [loadedAt(await newFolder(), dsn, pooled)] : []), loadedAt(await newFolder())];
    for (const target of targets) {
      const report = await restored(target, from);
      assert.equal([report.cassettes, report.left_out, report.underived_sessions], [['my-notes'], [], 0]);
      assert.equal(report.verified, (JSON.parse(verified) as Json).total);
      const again = join(target.folder, 'again');
      await backedUp(target, again);
      assert.equal(await linesIn(again), await linesIn(file));
      from = again;
      const database = await opened(target);
      try {
        const own = await database.execute('installation', {});
        assert.is(own.identity_key, installed.identity_key);
        assert.is.not(own.installation_id, installed.installation_id, 'svc sync sends it what came after the backup');
        const after = await shown(database);
        for (const path of Object.keys(before)) assert.equal(after[path], before[path], path);
        await takeIn(database, [
          capturedCall({ n: 60, headers: of('kept'), request: chat('After'), response: chatAnswer('It goes on') }),
        ]);
      } finally {
        await database.close();
      }
      assert.is((JSON.parse(await verify(target)) as Json).total.turns, 9, 'a chain goes on');
    }
  } finally {
    await pooler?.close();
    await server?.drop();
  }
}

test('embedded to server to embedded: everything that is read is the same, and so is the next backup', () =>
  goesRound({ pooled: false }));

if (cluster && hasPgbouncer())
  test('the same through PgBouncer in transaction mode', () => goesRound({ pooled: true }));
else console.log('skip: a restore through PgBouncer: it or SVC_TEST_DSN is not there');

test('a folder that cannot be used is named, and not the file that would be written', async () => {
  const cwd = await newFolder();
  await cp(join(await templateFolder(), 'data'), join(cwd, '.svc', 'data'), { recursive: true });
  const lock = join(cwd, '.svc', 'lock.019aa5f0-8f1a-7c33-9d0e-3a6f5e0b7c11');
  await mkdir(lock); // a folder there is as unreadable as one of a broken disk is, for root too
  const written = backUp(
    loadedAt(cwd),
    { output: 'out', json: false, version: '0.1.0' },
    { out: () => {}, err: () => {}, cwd },
  );
  const error = await written.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  assert.instance(error, OperatorError);
  assert.is(
    (error as Error).message,
    `Cannot make a backup: the database in '${join(cwd, '.svc')}' cannot be opened (ERR_FS_EISDIR)`,
  );
  assert.equal(unfinished(cwd), []);
});

test('a database that holds anything is left alone', async () => {
  assert.match(
    await refused(source, file),
    /^Cannot restore: the database is not empty \(svc\.\w+\); restore into a new one/,
  );
});

test('a file that was cut, altered, or is no backup is refused, and nothing is written', async () => {
  const whole = await readFile(file);
  const text = gunzipSync(whole).toString();
  const newer = text.replace('"svc_backup":1', '"svc_backup":2');
  const unknown = text.replace('"0001_create_capture_log', '"9999_of_the_future');
  for (const [bytes, why] of [
    [whole.subarray(0, whole.length - 9), /it is cut off$/],
    [whole.subarray(0, whole.length / 2), /it is cut off$/],
    [gzipSync(text.split('\n').slice(0, -2).join('\n')), /it is cut off$/],
    [gzipSync(`${text.split('\n').slice(0, -2).join('\n')}\n`), /it is cut off$/],
    [gzipSync(text.replace('The one to keep', 'The one to lose')), /it was altered: it is not what its end says$/],
    [gzipSync(`${text}[]\n`), /something follows its end$/],
    [gzipSync(newer), /it has form 2, and this version of svc reads form 1 only$/],
    [gzipSync(unknown), /it was altered/],
    [Buffer.from('{"a": 1}\n'), /it was altered, or it is no backup that 'svc backup' made$/],
    [gzipSync('{"a": 1}\n'), /it is no backup that 'svc backup' made$/],
    [Buffer.alloc(0), /it is (cut off|no backup that 'svc backup' made)$/],
  ] as const) {
    const cwd = await emptyFolder();
    folders.push(cwd);
    const damaged = join(cwd, 'damaged');
    await writeFile(damaged, bytes);
    assert.match(await refused(loadedAt(cwd), damaged), why);
    assert.not.ok(existsSync(join(cwd, '.svc', 'data')), String(why));
  }
  assert.match(await refused(loadedAt(await newFolder()), join(file, 'nowhere')), /there is no such file|ENOTDIR/);
});

test('without the tables of cassettes, when they are not wanted', async () => {
  const target = loadedAt(await newFolder());
  const report = await restored(target, file, false);
  assert.equal(report.cassettes, []);
  assert.equal(report.verified, (JSON.parse(verified) as Json).total);
});

test.run();
