/** The totals by day while nodes are written by several at once: nobody waits, nothing is lost, and few rows stand. */
import { sql } from 'drizzle-orm';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { openPool } from '../../../../core/db/client/server.ts';
import type { Sql } from '../../../../core/db/sql.ts';
import { StatsQuery } from '../../../../core/model/stats.ts';
import { databaseSuite, serverDatabase, type TestDatabase } from '../../../support/databases.ts';
import { idOf } from '../../../support/projection-rows.ts';
import { assertDays } from '../../../support/stat-days.ts';
import { instantAt, put } from '../../../support/stat-nodes.ts';

databaseSuite('totals by day', (test, database) => {
  const rows = (database: TestDatabase) =>
    database.sql(`select turn_count, root_count, tool_calls, unpriced_count, trim_scale(input_tokens)::text as input_tokens
                    from svc.stat_days order by day`);

  test('a turn that only takes the head from another changes no row', async () => {
    await put(database(), [{ is_head: true, input_tokens: 3 }]);
    const version = () => database().sql('select ctid::text, xmin::text from svc.stat_days');
    const before = await version();
    await database().sql('update svc.nodes set is_head = false');
    assert.equal(await version(), before);
    await database().sql('update svc.nodes set input_tokens = 4');
    assert.not.equal(await version(), before);
  });

  test('days and names stand in one row each, and go when the last node goes', async () => {
    for (let n = 0; n < 5; n++) {
      await put(database(), [
        { is_root: true, input_tokens: 1, tool_calls: 2 },
        { session: 2, input_tokens: 2, cost_usd: '0.100000000000' },
        { session: 3, created_us: 86_400_000_000 },
      ]);
      assert.equal(await rows(database()), [
        { turn_count: 2, root_count: 1, tool_calls: 2, unpriced_count: 1, input_tokens: '3' },
        { turn_count: 1, root_count: 0, tool_calls: 0, unpriced_count: 0, input_tokens: '0' },
      ]);
      await assertDays(database());
    }
    await put(database(), []);
    assert.equal(await rows(database()), []);
  });

  test('truncating the nodes leaves no day', async () => {
    for (const tables of ['svc.nodes', 'svc.nodes, svc.stat_days', 'svc.stat_days, svc.nodes']) {
      await put(database(), [{}, { session: 2 }]);
      await database().sql(`truncate ${tables}`);
      assert.equal(await rows(database()), [], tables);
    }
  });
});

const dsn = process.env.SVC_TEST_DSN ?? '';
const test = suite('writers of totals by day');
let database: TestDatabase;
test.before(async () => {
  database = await serverDatabase(dsn);
});
test.after(async () => {
  await database.close();
});

const write = (tx: Sql, n: number, input_tokens: number) =>
  tx.rows(sql`
    insert into svc.nodes (session_id, node_hash, raw_turn_id, call_id, position, depth, role, model, provider, agent_name,
                           project, input_tokens, is_root, is_head, requested_at, created_at)
    values (${idOf('session', n)}::uuid, ${`\\x${n.toString(16).padStart(64, '0')}`}::bytea, 1, 'call', 0, 0, 'assistant', 'm',
            'openai', 'claude-code', 'atlas', ${String(input_tokens)}::bigint, false, true, ${instantAt(n)}::timestamptz,
            ${instantAt(n)}::timestamptz)`);
const remove = (tx: Sql, n: number) =>
  tx.rows(sql`delete from svc.nodes where session_id = ${idOf('session', n)}::uuid`);
const storedDays = () =>
  database.sql('select turn_count, input_tokens::text from svc.stat_days order by turn_count, input_tokens');
const inputTokens = async () => (await database.execute('readStats', StatsQuery.parse({}))).input_tokens;

test('a writer does not wait for another that has not yet committed', async () => {
  await database.reset();
  const pool = openPool({ dsn: database.dsn ?? '', pooled: false, size: 3 });
  const db = pool.sqlFor(10_000); // whoever waits for another fails
  try {
    await write(db, 1, 1);
    await db.transaction(async (first) => {
      await write(first, 2, 20);
      await db.transaction(async (second) => {
        await write(second, 3, 300);
        await remove(db, 1);
      });
      assert.is(await inputTokens(), 300, 'what is not committed does not count');
    });
    assert.is(await inputTokens(), 320);
    await write(db, 4, 4000);
    assert.equal(await storedDays(), [{ turn_count: 3, input_tokens: '4320' }], 'whoever comes next makes them one');
    await assertDays(database);
  } finally {
    await pool.close();
  }
});

test('a row of which the turns are gone, but not yet the tokens, stays', async () => {
  await database.reset();
  const pool = openPool({ dsn: database.dsn ?? '', pooled: false, size: 2 });
  const db = pool.sqlFor(10_000);
  try {
    await write(db, 1, 7);
    await db.transaction(async (holder) => {
      await write(holder, 2, 9); // holds the row of the first
      await write(db, 3, 5);
      await db.transaction(async (tx) => {
        await remove(tx, 1); // turns: +1 - 1, tokens: 5 - 7
      });
      assert.equal(await storedDays(), [
        { turn_count: 0, input_tokens: '-2' },
        { turn_count: 1, input_tokens: '7' },
      ]);
      assert.is(await inputTokens(), 5);
    });
    await write(db, 4, 1);
    assert.equal(await storedDays(), [{ turn_count: 3, input_tokens: '15' }]);
    await assertDays(database);
  } finally {
    await pool.close();
  }
});

test('eight writers at once lose nothing', async () => {
  await database.reset();
  const pool = openPool({ dsn: database.dsn ?? '', pooled: false, size: 8 });
  const db = pool.sqlFor(30_000);
  try {
    await Promise.all(
      Array.from({ length: 8 }, async (_, writer) => {
        for (let n = 0; n < 40; n++) {
          await write(db, writer * 100 + n, n + 1);
          if (n % 4 === 3) await remove(db, writer * 100 + n - 1);
        }
      }),
    );
    const [counted] = await database.sql('select count(*) as turns, sum(input_tokens)::text as tokens from svc.nodes');
    const [totals] = await database.sql(
      'select sum(turn_count)::bigint as turns, sum(input_tokens)::text as tokens from svc.stat_days',
    );
    assert.equal(totals, counted);
    assert.ok((await storedDays()).length <= 8, 'no more rows than writers');
    await write(db, 9999, 1);
    await assertDays(database);
  } finally {
    await pool.close();
  }
});
if (dsn === '') console.log('skip: writers of totals by day: SVC_TEST_DSN is not set');
else test.run();
