/** A session with a raw turn that was committed without it, as a reset connection could leave it, takes further turns after the migration. */
import * as assert from 'uvu/assert';
import { readMigrations } from '../../../core/db/migrations.ts';
import { capturedCall, chat, chatAnswer, takeIn } from '../../support/captured-calls.ts';
import { databaseSuite, type TestDatabase } from '../../support/databases.ts';
import { deriveAll } from '../../support/derive-all.ts';

const turn = (n: number, session: string) =>
  capturedCall({
    n,
    request: chat(`word ${n}`),
    response: chatAnswer(`answer ${n}`),
    headers: [['x-svc-harness-session-id', session]],
  });

/** What their transactions wrote beside the raw turns of these calls. */
async function undoRestOf(database: TestDatabase, calls: readonly ReturnType<typeof turn>[]): Promise<void> {
  for (const { opened } of calls) {
    const id = [opened.svc_proxy_request_id];
    const [stored] = await database.sql(
      `select raw_turn_id, session_id, session_seq, encode(prev_hash, 'hex') as prev_hash from svc.raw_turns where svc_proxy_request_id = $1`,
      id,
    );
    await database.sql(
      `update svc.sessions set turn_count = $2::integer - 1, head_turn_hash = decode($3, 'hex') where session_id = $1`,
      [stored?.session_id, stored?.session_seq, stored?.prev_hash],
    );
    for (const table of ['nodes', 'calls'])
      await database.sql(`delete from svc.${table} where raw_turn_id = $1`, [stored?.raw_turn_id]);
    await database.sql(`update svc.coverage set requests = requests - 1 where outcome = 'captured'`);
  }
}

const mend = async (database: TestDatabase) => {
  const migration = (await readMigrations()).find(({ name }) => name === '0040_parked_calls.sql');
  await database.sql(migration?.text.slice(migration.text.indexOf('do $$')) ?? '');
};

const sessionsOf = (database: TestDatabase) =>
  database.sql(
    `select harness_session_id as id, s.turn_count, purged_turns,
            (select count(*)::integer from svc.all_traces t where t.session_id = s.session_id) as traces,
            (select count(*)::integer from svc.raw_turns t where t.session_id = s.session_id) as raw_turns,
            (select count(*)::integer from svc.tombstones b where b.session_id = s.session_id) as tombstones
       from svc.sessions s order by 1`,
  );

databaseSuite('half-committed turns', (test, database) => {
  test('one with its bytes counts, one without has a tombstone, and the sessions go on', async () => {
    const [whole, bare] = [turn(3, 'whole'), turn(4, 'bare')];
    await takeIn(database(), [turn(1, 'whole'), turn(2, 'bare')]);
    await deriveAll(database());
    await takeIn(database(), [whole, bare]);
    const [response] = await database().sql(
      "select encode(response_slice, 'hex') as slice_id from svc.raw_turns where svc_proxy_request_id = $1",
      [bare.opened.svc_proxy_request_id],
    );
    await database().sql("delete from svc.slices where slice_id = decode($1, 'hex')", [response?.slice_id]);
    await undoRestOf(database(), [whole, bare]);
    await database().sql('delete from svc.derive_queue');
    const refusal = await takeIn(database(), [turn(5, 'whole')]).catch((error: Error) => error.message);
    assert.match(String(refusal), '23505');

    await mend(database());
    await mend(database()); // there is nothing left to mend
    await deriveAll(database());
    assert.equal(await sessionsOf(database()), [
      { id: 'bare', turn_count: 2, purged_turns: 1, traces: 1, raw_turns: 1, tombstones: 1 },
      { id: 'whole', turn_count: 2, purged_turns: 0, traces: 2, raw_turns: 2, tombstones: 0 },
    ]);
    const captured = await database().sql("select requests::integer from svc.coverage where outcome = 'captured'");
    assert.equal(captured, [{ requests: 3 }]);

    await takeIn(database(), [turn(5, 'whole'), turn(6, 'bare')]);
    await deriveAll(database());
    assert.equal(await sessionsOf(database()), [
      { id: 'bare', turn_count: 3, purged_turns: 1, traces: 2, raw_turns: 2, tombstones: 1 },
      { id: 'whole', turn_count: 3, purged_turns: 0, traces: 3, raw_turns: 3, tombstones: 0 },
    ]);
  });
});
