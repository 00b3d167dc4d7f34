/** The spend of a removed session with thousands of calls, each of which ten copies claim, in tables of which the planner knows nothing. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { countReturned } from '../../../../core/db/budget/removed-spend.ts';
import { openPool } from '../../../../core/db/client/server.ts';
import { pgArray } from '../../../../core/db/literals.ts';
import { session } from '../../../support/aged-sessions.ts';
import { serverDatabase, type TestDatabase } from '../../../support/databases.ts';

const CALLS = 5_000;
const COPIES = Array.from({ length: 10 }, (_, n) => session(`copy ${n}`)).sort();
const SESSIONS = [session('origin'), ...COPIES];

/** Each step takes well below two seconds; where each call was compared with all claims, it took a minute. */
const MOST_MS = 8_000;

const dsn = process.env.SVC_TEST_DSN ?? '';
const test = suite('removed spend at size');

/** A session whose calls cost a dollar each, half of them over the wire, half of a transcript; the copies hold them all. */
async function fill({ sql }: TestDatabase): Promise<void> {
  await sql(
    `insert into svc.sessions (session_id, harness_id, harness_session_id, client_key, started_at, last_seen_at)
     select id, 'test', id::text, 'k', '2026-01-01', '2026-01-01' from unnest($1::uuid[]) id`,
    [pgArray(SESSIONS)],
  );
  await sql(
    `insert into svc.nodes (session_id, node_hash, raw_turn_id, call_id, position, depth, role, model, provider, agent_name, project,
                            is_root, is_head, requested_at, created_at, cost_usd)
     select $1::uuid, sha256(n::text::bytea), n, case when n % 2 = 0 then 'tx:' || n else 'wire ' || n end, 0, n, 'assistant', 'm', 'p',
            '', 'atlas', false, false, now(), now(), 1 from generate_series(1, $2::integer) n`,
    [session('origin'), CALLS],
  );
  await sql(
    `insert into svc.calls (raw_turn_id, session_id, call_key)
     select n, $1::uuid, sha256(n::text::bytea) from generate_series(1, $2::integer, 2) n`,
    [session('origin'), CALLS],
  );
  await sql(
    `insert into svc.transcript_claims (session_id, call_key, call_id, is_own, file_ended_at, owner_session_id, owner_call_id, owner_turn_id)
     select id, sha256(n::text::bytea), 'tx:' || n, id = $1::uuid, now(), $1::uuid, 'tx:' || n, case when n % 2 = 1 then n end
       from unnest($2::uuid[]) id, generate_series(1, $3::integer) n
      where id <> $1::uuid or n % 2 = 0`,
    [session('origin'), pgArray(SESSIONS), CALLS],
  );
}

const timed = async (work: Promise<unknown>): Promise<number> => {
  const began = performance.now();
  await work;
  return performance.now() - began;
};

test('a session of 5,000 calls with 50,000 claims is removed, and comes back by a copy, without a search for each call', async () => {
  const database = await serverDatabase(dsn);
  const pool = openPool({ dsn: database.dsn ?? '', pooled: false, size: 1 });
  const removed = async () =>
    (
      await database.sql(`
        select (select sum(cost_usd)::integer from svc.removed_spend) as usd,
               (select count(*)::integer from svc.removed_calls) as calls`)
    )[0];
  try {
    await database.sql('alter table svc.nodes set (autovacuum_enabled = false)');
    await database.sql('alter table svc.transcript_claims set (autovacuum_enabled = false)');
    await fill(database);
    const sessions = [{ session_id: session('origin'), last_seen_at: '2026-01-01T00:00:00Z', reason: 'test' }];
    const began = await timed(database.execute('beginRemovals', { sessions }));
    assert.equal(await removed(), { usd: CALLS, calls: CALLS });

    await database.sql('delete from svc.calls'); // as the removal goes on
    const [first = ''] = COPIES;
    await database.sql('update svc.transcript_claims set owner_session_id = $1::uuid, owner_turn_id = null', [first]);
    const [{ mark } = {}] = await database.sql(
      'select mark::integer from svc.transcript_claim_marks where session_id = $1',
      [first],
    );
    const returns = (claim_mark: number) =>
      pool.sqlFor(60_000).transaction((tx) => countReturned(tx, first, claim_mark));
    await returns(Number(mark) - 1);
    assert.equal(await removed(), { usd: CALLS, calls: CALLS }, 'its claims have changed since they were read');
    const returned = await timed(returns(Number(mark)));
    assert.equal(await removed(), { usd: 0, calls: 0 });
    assert.ok(began < MOST_MS && returned < MOST_MS, `${began} ms, ${returned} ms`);
  } finally {
    await pool.close();
    await database.close();
  }
});

if (dsn === '') console.log('skip: removed spend at size: SVC_TEST_DSN is not set');
else test.run();
