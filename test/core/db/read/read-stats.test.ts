import type { SQL } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';
import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { readStats } from '../../../../core/db/read/read-stats.ts';
import type { Sql } from '../../../../core/db/sql.ts';
import { Stats, StatsQuery } from '../../../../core/model/stats.ts';
import {
  anyStatNode,
  anyStatsFilter,
  anyStep,
  maskedFilter,
  type StatsFilter,
} from '../../../support/any-stat-nodes.ts';
import { user } from '../../../support/call-turn.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { insertSessions } from '../../../support/projection-rows.ts';
import { assertDays } from '../../../support/stat-days.ts';
import { assertCells, instantAt, NINE_MS, put, SESSIONS, type StatNode, take } from '../../../support/stat-nodes.ts';
import { journalCall, storeCalls } from '../../../support/stored-calls.ts';

/** The same numbers by hand: a loop over the nodes, integers of any size, decimals as integers. */
function counted(nodes: readonly StatNode[], deleted: readonly number[], filter: StatsFilter): Stats {
  const matching = nodes.filter((node) => {
    if (deleted.includes(node.session)) return false;
    for (const name of ['project', 'agent_name', 'model', 'provider'] as const)
      if (filter[name] !== undefined && filter[name] !== node[name]) return false;
    const at = BigInt(node.created_us) * 1000n;
    return (!filter.since || at >= filter.since.at) && (!filter.until || at < filter.until.at);
  });
  const heads = new Set<number>();
  const completed = new Set<number>();
  const unpriced = new Set<string>();
  const seen = { turns: 0, roots: 0, tools: 0, input: 0n, output: 0n, trillionths: 0n, first: -1n, last: -1n };
  for (const node of matching) {
    const at = BigInt(node.created_us);
    seen.turns++;
    if (node.is_root && node.injected === '') seen.roots++;
    if (node.is_head) heads.add(node.session);
    if (node.is_head && node.role === 'assistant' && /^(stop|end[-_]turn|eos)$/i.test(node.stop_reason))
      completed.add(node.session);
    seen.tools += node.tool_calls;
    seen.input += BigInt(node.input_tokens);
    seen.output += BigInt(node.output_tokens);
    if (node.cost_usd !== null) seen.trillionths += BigInt(node.cost_usd.replace('.', ''));
    else if (node.input_tokens + node.output_tokens > 0) unpriced.add(node.model);
    if (seen.first === -1n || at < seen.first) seen.first = at;
    if (at > seen.last) seen.last = at;
  }
  const money = String(seen.trillionths).padStart(13, '0');
  return {
    session_count: heads.size,
    turn_count: seen.turns,
    root_count: seen.roots,
    completed_count: completed.size,
    total_cost: Number(`${money.slice(0, -12)}.${money.slice(-12)}`),
    input_tokens: Number(seen.input),
    output_tokens: Number(seen.output),
    total_duration_ns: Number((seen.last - seen.first) * 1000n),
    tool_calls: seen.tools,
    unpriced_models: [...unpriced].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
  };
}

const zeros: Stats = counted([], [], {});

/** What is asked of the database for these parameters, but for settings. */
async function statements(parameters: Record<string, string>) {
  const executed: { sql: string; params: unknown[] }[] = [];
  const rows = async (statement: SQL) => {
    executed.push(new PgDialect().sqlToQuery(statement));
    return [{}] as never[];
  };
  const tx = { rows, script: async () => {} } as Partial<Sql> as Sql;
  await readStats(
    { transaction: (work: (tx: Sql) => unknown) => work(tx) } as unknown as Sql,
    StatsQuery.parse(parameters),
  );
  return executed;
}

databaseSuite('readStats', (test, database) => {
  const read = (parameters: Record<string, string> = {}) =>
    database().execute('readStats', StatsQuery.parse(parameters));

  test.before(async () => {
    await insertSessions(
      database(),
      SESSIONS.map((n) => ({ n })),
    );
  });

  test('any filter over any nodes gives what a count by hand gives', async () => {
    let matched = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyStatNode, { maxLength: 40 }),
        fc.array(anyStep, { maxLength: 5 }),
        fc.subarray(SESSIONS, { maxLength: 2 }),
        anyStatsFilter,
        async (first, steps, deleted, all) => {
          await put(database(), first, deleted);
          const written: (StatNode | null)[] = [...first];
          for (const step of steps) {
            await take(database(), written, step);
            await assertCells(database(), step.kind);
            await assertDays(database(), step.kind);
          }
          const nodes = written.filter((node) => node !== null);
          for (let mask = 0; mask < 64; mask++) {
            const { since, until, ...equal } = maskedFilter(all, mask);
            const stats = await read({
              ...equal,
              ...(since && { since: since.stamp }),
              ...(until && { until: until.stamp }),
            });
            const expected = counted(nodes, deleted, maskedFilter(all, mask));
            assert.equal(stats, expected, `filters ${mask.toString(2).padStart(6, '0')}`);
            if (mask !== 0 && expected.turn_count > 0) matched++;
          }
        },
      ),
      { numRuns: 40 },
    );
    assert.ok(matched > 100, `filters that matched anything: ${matched}`);
  });

  test('all numbers come from one storage aggregate, and no chain is walked for a session', async () => {
    const [all] = await statements({});
    assert.equal([...new Set(all?.sql.match(/\bsvc\.\w+/g))], ['svc.stat_days', 'svc.session_edits', 'svc.stat_cells']);
    assert.not.match(all?.sql ?? '', /recursive/i);
    assert.is((await statements({ since: instantAt(1), until: instantAt(2), model: 'm' })).length, 1);
  });

  test('a window looks at the nodes of those sessions alone that speak before and after its bounds on one day', async () => {
    const nodes = Array.from({ length: 6000 }, (_, n) => ({ session: 1 + (n % 300), created_us: n * 1_000_000 }));
    await put(database(), nodes);
    await database().sql('analyze svc.nodes');
    const [statement] = await statements({ since: instantAt(1500_000_000), until: instantAt(1_700_500_000) });
    const plan = await database().sql(`explain (costs off) ${statement?.sql}`, statement?.params);
    const lines = plan.map((line) => String(line['QUERY PLAN']));
    assert.ok(
      lines.some((line) => /index.* on nodes/i.test(line) || /Index Scan using nodes_/.test(line)),
      lines.join('\n'),
    );
    assert.not.ok(
      lines.some((line) => /Seq Scan on nodes/.test(line)),
      lines.join('\n'),
    );
    const { turn_count, session_count } = await read({
      since: instantAt(1500_000_000),
      until: instantAt(1_700_500_000),
    });
    assert.equal([turn_count, session_count], [201, 0]);
  });

  test('no nodes are zeros', async () => {
    await put(database(), []);
    assert.equal(await read(), zeros);
    Stats.parse(await read());
  });

  test('sums are exact where floats are not', async () => {
    await put(database(), [
      ...Array.from({ length: 10 }, () => ({ cost_usd: '0.1' })),
      { cost_usd: '0.000000000000000001', created_us: 1 },
      { input_tokens: 9_007_199_254_740_000, created_us: 86_400_000_000 * 400 + 3 },
    ]);
    const stats = await read();
    assert.is(stats.total_cost, 1);
    assert.is(stats.input_tokens, 9_007_199_254_740_000);
    assert.is(JSON.stringify(stats.total_duration_ns), '34560000000003000', 'above 2^53 too');
  });

  test('a timestamp from another age is no failure', async () => {
    await put(database(), [{}, { created_us: 1 }]);
    await database().sql(
      "update svc.nodes set created_at = '0001-01-01T00:00:00Z' where created_at = $1::timestamptz",
      [instantAt(1)],
    );
    assert.is((await read()).total_duration_ns, (NINE_MS - Date.parse('0001-01-01T00:00:00Z')) * 1_000_000);
    for (const [parameters, count] of [
      [{ since: '0000-01-01T00:00:00Z' }, 2],
      [{ since: '0001-01-01T00:00:00Z' }, 2],
      [{ until: '0000-12-31T23:59:59Z' }, 0],
      [{ until: '0001-01-01T00:00:00+00:01' }, 0],
      [{ until: '9999-12-31T23:59:59.999999999Z' }, 2],
      [{ since: '9999-12-31T23:59:59.999999999-23:59' }, 0],
    ] as const)
      assert.is((await read(parameters)).turn_count, count, JSON.stringify(parameters));
  });

  test('text that no column can hold matches nothing', async () => {
    await put(database(), [{ model: 'a\uFFFD', project: '\uFFFD', agent_name: '\uFFFD', provider: '\uFFFD' }]);
    for (const odd of ['\0', '\uD800', 'a\0', 'a\uDC00'])
      for (const name of ['project', 'agent_name', 'model', 'provider'])
        assert.equal(await read({ [name]: odd }), zeros, `${name} ${JSON.stringify(odd)}`);
    assert.is((await read({ model: 'a\uFFFD' })).turn_count, 1);
  });

  test('an emptied table leaves no cell, alone and together with the cells', async () => {
    for (const tables of ['svc.nodes', 'svc.nodes, svc.stat_cells', 'svc.stat_cells, svc.nodes']) {
      await put(database(), [{ input_tokens: 3 }, { session: 2 }]);
      assert.is((await read()).turn_count, 2);
      await database().sql(`truncate ${tables}`);
      assert.equal(await read(), zeros, tables);
      await assertCells(database());
    }
  });

  test('names of any length are counted', async () => {
    const long = Array.from({ length: 20_000 }, (_, n) => String.fromCharCode(0x4e00 + ((n * 7919) % 20_000))).join('');
    await put(database(), [{ model: long }, { model: `${long}!` }, { model: long, created_us: 5 }]);
    await assertCells(database());
    assert.is((await read({ model: long })).turn_count, 2);
  });

  test('sums beyond what one column holds are no failure', async () => {
    await put(database(), [{}, { created_us: 1 }, { created_us: 2 }]);
    await database().sql(
      'update svc.nodes set input_tokens = 9223372036854775807, output_tokens = 9223372036854775807',
    );
    assert.is((await read()).input_tokens, 3 * 2 ** 63);
    await assertCells(database());
    await assertDays(database());
    await database().sql('update svc.nodes set input_tokens = 1');
    assert.is((await read()).input_tokens, 3, 'and they can be taken back');
  });

  test('a session that is read anew, and calls that come in the wrong order, leave cells that are true', async () => {
    const answers = { content: [{ type: 'text' as const, text: 'Hi' }] };
    const later = journalCall('late', { at: 5, says: [user('Hello')], answers, model: 'claude-sonnet-4-5' });
    const [session_id = ''] = await storeCalls(database(), [later]);
    await assertCells(database());
    await storeCalls(database(), [
      journalCall('late', { at: 2, says: [user('Hello')], answers, model: 'claude-opus-4-5' }),
    ]);
    await assertCells(database());
    const moved = await database().sql('select model, turn_count from svc.stat_cells where session_id = $1::uuid', [
      session_id,
    ]);
    assert.equal(moved, [{ model: 'claude-opus-4-5', turn_count: 2 }], 'the earlier call tells the attributes');
    await assertDays(database());
    const { purges } = await database().execute('knownSlices', { ids: [] });
    const reading = { session_id, read_up_to: 1_000_000, calls: [], nodes: [], slices: [], purges, corrections: 0 };
    assert.is(await database().execute('replaceNodes', reading), true);
    assert.equal(await database().sql('select 1 from svc.stat_cells where session_id = $1::uuid', [session_id]), []);
  });
});
