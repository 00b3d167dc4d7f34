/** Two services on one database, one with an older version of a cassette: it is rejected, and takes nothing away from the newer one. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openCassetteDatabases } from '../../../core/cassette/database/cassette-databases.ts';
import { type CassetteHost, openHost } from '../../../core/cassette/host.ts';
import { ListEntry } from '../../../core/cassette/list/list.ts';
import { openDatabase } from '../../../core/db/open.ts';
import { openLog } from '../../../core/log.ts';
import { cassetteFolder, emptyCassetteFolder, removeCassetteFolder } from '../../support/cassette-folder.ts';
import { emptyServerDatabase } from '../../support/databases.ts';
import { eventually } from '../../support/eventually.ts';

const dsn = process.env.SVC_TEST_DSN ?? '';
const test = suite('an older version of a cassette (server)');

const FIRST = { name: '0001', sql: 'create table notes (id bigint primary key)' };
const SECOND = { name: '0002', sql: 'alter table notes add column text text' };
const READS = `
  if (path === '/api/notes/spans') return json((await env.DB.query('select count(*)::integer as n from svc_v1.spans')).rows);
`;
const versionOf = (views: string[], migrations: (typeof FIRST)[]) =>
  cassetteFolder({
    manifest: { depends: { core: 'v1', views }, bindings: { db: true } },
    migrations,
    before: READS,
  });

async function openService(own: string, folder: string, tmp: string) {
  const log = openLog('silent');
  const database = await openDatabase({ dsn: own, pooled: false, folder: '', log });
  const databases = openCassetteDatabases({ database, dsn: own, pooled: false, log });
  const host = openHost({
    ...{ installed: tmp, tmp, databases, log, now: Date.now, environment: {}, core: null },
    retryMs: { first: 50, most: 100 },
  });
  const entry = ListEntry.parse({
    name: 'notes',
    source: folder,
    grants: { bindings: ['db'], views: ['sessions', 'spans'] },
  });
  await host.apply({ entries: [entry], loaded_at: '2026-11-21T09:00:00Z', problem: null, folderOf: () => '/' });
  await eventually(() => host.installed().every(({ state }) => state !== 'pending'));
  const close = async () => {
    await host.close(0);
    await databases.close();
    await database.close();
  };
  return { host, close };
}

const spansOf = async (host: CassetteHost) => {
  const response = await host.answer('notes', {
    request: new Request('http://localhost/v1/cassettes/notes/spans'),
    ...{ caller: null, requestId: '0195f6d0-0000-7000-8000-000000000000', peer: null },
  });
  return [response.status, await response.json()];
};

test('it is rejected, and the newer version reads on', async () => {
  const own = await emptyServerDatabase(dsn);
  const tmp = await emptyCassetteFolder();
  const newer = await versionOf(['sessions', 'spans'], [FIRST, SECOND]);
  const older = await versionOf(['sessions'], [FIRST]);
  const closers: (() => Promise<void>)[] = [];
  try {
    const first = await openService(own.dsn, newer, tmp);
    closers.push(first.close);
    assert.equal(await spansOf(first.host), [200, [{ n: 0 }]]);
    const second = await openService(own.dsn, older, tmp);
    closers.push(second.close);
    const [rejected] = second.host.installed();
    assert.match(rejected?.trouble?.reason ?? '', /0002: it has run, and this version of the cassette lacks it/);
    assert.equal(await spansOf(first.host), [200, [{ n: 0 }]]);
  } finally {
    for (const close of closers) await close();
    await own.drop();
    await Promise.all([newer, older, tmp].map(removeCassetteFolder));
  }
});

if (dsn === '') console.log('skip: an older version of a cassette (server): SVC_TEST_DSN is not set');
else test.run();
