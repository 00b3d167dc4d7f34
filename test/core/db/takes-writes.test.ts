/** What a `serve api` does beside its reads, on a database that takes no writes, as a standby. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openPool } from '../../../core/db/client/server.ts';
import { openDatabase } from '../../../core/db/open.ts';
import { openLog } from '../../../core/log.ts';
import { serverDatabase, type TestDatabase } from '../../support/databases.ts';
import { eventually } from '../../support/eventually.ts';

const test = suite('a database that takes no writes');
const dsn = process.env.SVC_TEST_DSN ?? '';

/** The same database as a standby shows it: no transaction may write, and the server says that it is in recovery. */
async function asStandby(database: TestDatabase) {
  await database.sql('create schema standby');
  await database.sql(`create function standby.pg_is_in_recovery() returns boolean language sql as 'select true'`);
  const settings = '-c default_transaction_read_only=on -c search_path=standby,pg_catalog';
  return openDatabase({
    dsn: `${database.dsn}?options=${encodeURIComponent(settings)}`,
    pooled: false,
    folder: '',
    log: openLog('silent'),
    statementTimeoutMs: 60_000,
  });
}

test('neither what is read is marked, nor its size recorded', async () => {
  const database = await serverDatabase(dsn);
  const standby = await asStandby(database);
  try {
    assert.is((await standby.execute('ping', {})).takes_writes, false);
    await standby.execute('markLookedAt', { session_ids: [crypto.randomUUID()] });
    await standby.execute('recordSize', {});
    assert.equal(await database.sql('select 1 from svc.database_sizes'), []);
  } finally {
    await standby.close();
    await database.close();
  }
});

test('a position there ends before the oldest transaction that is under way, and leaves out none of its changes', async () => {
  const database = await serverDatabase(dsn);
  const standby = await asStandby(database);
  const pool = openPool({ dsn: database.dsn ?? '', pooled: false, size: 1 });
  const [open, later] = [crypto.randomUUID(), crypto.randomUUID()];
  const changed = (id: string) => `insert into svc.session_changes (session_id) values ('${id}')`;
  const changesAfter = async (seen: string) =>
    (await standby.execute('sessionChanges', { place: { seen, round: null }, limit: 9 })).changes.map(
      ({ session_id }) => session_id,
    );
  try {
    const { life, seen } = await standby.execute('changesNow', {});
    assert.is(life, (await database.execute('changesNow', {})).life);
    await pool.sqlFor(60_000).transaction(async (tx) => {
      await tx.script(changed(open));
      await database.sql(changed(later));
      const now = await standby.execute('changesNow', {});
      assert.match(now.seen, /^(\d+):\1:$/);
      assert.equal(await changesAfter(seen), [], 'the later change waits too');
      assert.equal((await standby.execute('changedSince', { seen })).changed, true);
    });
    await eventually(async () => (await changesAfter(seen)).length === 2); // when those of other databases have ended too
    assert.equal((await changesAfter(seen)).sort(), [open, later].sort());
  } finally {
    await pool.close();
    await standby.close();
    await database.close();
  }
});

if (dsn === '') console.log('skip: a database that takes no writes: SVC_TEST_DSN is not set');
else test.run();
