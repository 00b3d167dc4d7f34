import type { SQL } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';
import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { readStats } from '../../../../core/db/read/read-stats.ts';
import type { Sql } from '../../../../core/db/sql.ts';
import { Stats, StatsQuery } from '../../../../core/model/stats.ts';
import { databaseSuite, type TestDatabase } from '../../../support/databases.ts';
import { idOf, insertSessions } from '../../../support/projection-rows.ts';

type Node = {
  session: number;
  role: string;
  injected: string;
  project: string;
  agent_name: string;
  model: string;
  provider: string;
  stop_reason: string;
  input_tokens: number;
  output_tokens: number;
  tool_calls: number;
  is_root: boolean;
  is_head: boolean;
  cost_usd: string | null; // with twelve decimals, or null
  created_us: number; // microseconds after nine o'clock
};

const NINE_MS = Date.UTC(2026, 10, 21, 9);
const instantAt = (us: number): string =>
  `${new Date(NINE_MS + Math.floor(us / 1000)).toISOString().slice(0, -1)}${String(us % 1000).padStart(3, '0')}Z`;

const plain: Node = {
  session: 1,
  role: 'assistant',
  injected: '',
  project: 'atlas',
  agent_name: 'claude-code',
  model: 'm',
  provider: 'openai',
  stop_reason: '',
  input_tokens: 0,
  output_tokens: 0,
  tool_calls: 0,
  is_root: false,
  is_head: false,
  cost_usd: null,
  created_us: 0,
};

/** In place of all that was there: these nodes; of their sessions some are deleted, those of an even number at least renamed. */
async function put(database: TestDatabase, nodes: readonly Partial<Node>[], deleted: readonly number[] = []) {
  const edits = SESSIONS.filter((n) => n % 2 === 0 || deleted.includes(n)).map((n) => ({
    session_id: idOf('session', n),
    deleted_at: deleted.includes(n) ? instantAt(0) : null,
  }));
  await database.sql('delete from svc.nodes');
  await database.sql('delete from svc.session_edits');
  await database.sql(
    `insert into svc.session_edits (session_id, display_name, deleted_at)
     select session_id, 'renamed', deleted_at from jsonb_to_recordset($1::jsonb) as e (session_id uuid, deleted_at timestamptz)`,
    [JSON.stringify(edits)],
  );
  const rows = nodes.map((given, n) => {
    const { session, created_us, ...node } = { ...plain, ...given };
    return {
      ...node,
      session_id: idOf('session', session),
      node_hash: `\\x${n.toString(16).padStart(64, '0')}`,
      created_at: instantAt(created_us),
    };
  });
  await database.sql(
    `insert into svc.nodes (
       session_id, node_hash, raw_turn_id, call_id, position, depth, role, injected, project, agent_name, model, provider,
       stop_reason, input_tokens, output_tokens, tool_calls, is_root, is_head, cost_usd, requested_at, created_at)
     select session_id, node_hash, 1, 'call', 0, 0, role, injected, project, agent_name, model, provider,
            stop_reason, input_tokens, output_tokens, tool_calls, is_root, is_head, cost_usd, created_at, created_at
       from jsonb_to_recordset($1::jsonb) as n (
              session_id uuid, node_hash bytea, role text, injected text, project text, agent_name text, model text,
              provider text, stop_reason text, input_tokens bigint, output_tokens bigint, tool_calls integer, is_root boolean,
              is_head boolean, cost_usd numeric, created_at timestamptz)`,
    [JSON.stringify(rows)],
  );
}

const SESSIONS = [1, 2, 3, 4];
const ODD = ['', 'a', 'A', 'a ', "o'c", '"\\', '%', '日本', '\u{1F600}', '\uFFFD', 'null'];

/** So often the usual one that filters on several attributes still find some. */
const mostly = (usual: string, others: readonly string[]) =>
  fc.oneof({ weight: 3, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) });

const node: fc.Arbitrary<Node> = fc.record({
  session: fc.constantFrom(...SESSIONS),
  role: fc.constantFrom('assistant', 'assistant', 'user', 'system', 'tool'),
  injected: fc.constantFrom('', '', '', 'claude-md'),
  project: mostly('atlas', ODD),
  agent_name: mostly('claude-code', ODD),
  model: mostly('m-1', ['M-1', ...ODD]),
  provider: mostly('openai', ['anthropic', '']),
  stop_reason: fc.constantFrom(
    'stop',
    'STOP',
    'end_turn',
    'End_Turn',
    'END-turn',
    'eos',
    'eoS',
    'tool_use',
    'stop ',
    '',
    'length',
  ),
  input_tokens: fc.oneof(fc.constant(0), fc.nat(5_000_000_000)),
  output_tokens: fc.oneof(fc.constant(0), fc.nat(1000)),
  tool_calls: fc.nat(3),
  is_root: fc.boolean(),
  is_head: fc.boolean(),
  cost_usd: fc.option(
    fc
      .tuple(fc.nat(2000), fc.nat(999_999_999_999))
      .map(([whole, parts]) => `${whole}.${String(parts).padStart(12, '0')}`),
  ),
  created_us: fc.oneof(fc.nat(4), fc.nat(400_000_000)),
});

/** A bound to the nanosecond, in some offset: its text, and its place on the nodes' clock. */
const bound = fc
  .record({
    us: fc.oneof(fc.integer({ min: -1, max: 5 }), fc.integer({ min: -1, max: 400_000_001 })),
    ns: fc.constantFrom(0, 0, 1, 500, 999),
    offset: fc.constantFrom(0, 0, 90, -330, 1439, -1439),
    short: fc.boolean(),
  })
  .map(({ us, ns, offset, short }) => {
    const ms = NINE_MS + Math.floor(us / 1000);
    const local = new Date(ms + offset * 60_000).toISOString().slice(0, 19);
    const digits = `${String(new Date(ms).getUTCMilliseconds()).padStart(3, '0')}${String(((us % 1000) + 1000) % 1000).padStart(3, '0')}${String(ns).padStart(3, '0')}`;
    const fraction = short ? `.${digits}`.replace(/\.?0+$/, '') : `.${digits}`;
    const two = (n: number) => String(n).padStart(2, '0');
    const minutes = Math.abs(offset);
    const zone = offset === 0 ? 'Z' : `${offset < 0 ? '-' : '+'}${two(Math.floor(minutes / 60))}:${two(minutes % 60)}`;
    return { stamp: `${local}${fraction}${zone}`, at: BigInt(us) * 1000n + BigInt(ns) };
  });

const asked = fc.record({
  project: mostly('atlas', ODD.slice(1)),
  agent_name: mostly('claude-code', ODD.slice(1)),
  model: mostly('m-1', ODD.slice(1)),
  provider: mostly('openai', ['anthropic', 'OpenAI']),
  since: bound,
  until: bound,
});
type Asked = Partial<typeof asked extends fc.Arbitrary<infer All> ? All : never>;

/** The filter's parameters of which the bits of `mask` name. */
const chosen = (all: Asked, mask: number): Asked =>
  Object.fromEntries(Object.entries(all).filter((_, bit) => (mask & (1 << bit)) !== 0));

/** The same numbers by hand: a loop over the nodes, integers of any size, decimals as integers. */
function counted(nodes: readonly Node[], deleted: readonly number[], asked: Asked): Stats {
  const matching = nodes.filter((node) => {
    if (deleted.includes(node.session)) return false;
    for (const name of ['project', 'agent_name', 'model', 'provider'] as const)
      if (asked[name] !== undefined && asked[name] !== node[name]) return false;
    const at = BigInt(node.created_us) * 1000n;
    return (!asked.since || at >= asked.since.at) && (!asked.until || at < asked.until.at);
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

databaseSuite('readStats', (test, database) => {
  const read = (parameters: Record<string, string> = {}) => database().ask('readStats', StatsQuery.parse(parameters));

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
        fc.array(node, { maxLength: 40 }),
        fc.subarray(SESSIONS, { maxLength: 2 }),
        asked,
        async (nodes, deleted, all) => {
          await put(database(), nodes, deleted);
          for (let mask = 0; mask < 64; mask++) {
            const { since, until, ...equal } = chosen(all, mask);
            const stats = await read({
              ...equal,
              ...(since && { since: since.stamp }),
              ...(until && { until: until.stamp }),
            });
            const expected = counted(nodes, deleted, chosen(all, mask));
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
    const statements: string[] = [];
    const rows = async (statement: SQL) => {
      statements.push(new PgDialect().sqlToQuery(statement).sql);
      return [{}] as never[];
    };
    await readStats({ rows } as Partial<Sql> as Sql, StatsQuery.parse({}));
    assert.is(statements.length, 1);
    assert.equal([...new Set(statements[0]?.match(/\bsvc\.\w+/g))], ['svc.nodes', 'svc.session_edits']);
    assert.not.match(statements[0] ?? '', /recursive|group by/i);
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
});
