import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { COST_PARTS, type SeriesCell, SeriesQuery, StatsSeries } from '../../../../core/model/stats-series.ts';
import {
  anyStatNode,
  anyStatsFilter,
  anyStep,
  maskedFilter,
  type StatsFilter,
} from '../../../support/any-stat-nodes.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { insertSessions } from '../../../support/projection-rows.ts';
import { assertDays } from '../../../support/stat-days.ts';
import { assertCells, NINE_MS, put, SESSIONS, type StatNode, take } from '../../../support/stat-nodes.ts';

type Bucket = 'day' | 'hour';
type By = 'model' | 'project' | 'agent_name' | 'provider';

/** Sums of one cell by hand: integers of any size, money in trillionths. */
type Exact = Record<Exclude<keyof SeriesCell, 'cost'> | (typeof COST_PARTS)[number], bigint>;

const trillionths = (usd: string | null) => BigInt((usd ?? '0').replace('.', ''));
const number = (money: bigint) => {
  const digits = String(money).padStart(13, '0');
  return Number(`${digits.slice(0, -12)}.${digits.slice(-12)}`);
};

function exactOf(nodes: readonly StatNode[]): Exact {
  const sum = (value: (node: StatNode) => number | bigint) =>
    nodes.reduce((total, node) => total + BigInt(value(node)), 0n);
  return {
    cost_usd: sum((node) => trillionths(node.cost_usd)),
    fresh: sum((node) => trillionths(node.cost_fresh)),
    cache_read: sum((node) => trillionths(node.cost_cache_read)),
    cache_write_5m: sum((node) => trillionths(node.cost_cache_write_5m)),
    cache_write_1h: sum((node) => trillionths(node.cost_cache_write_1h)),
    output: sum((node) => trillionths(node.cost_output)),
    reasoning: sum((node) => trillionths(node.cost_reasoning)),
    input_tokens: sum((node) => node.input_tokens),
    output_tokens: sum((node) => node.output_tokens),
    cache_read_tokens: sum((node) => node.cache_read_tokens),
    cache_write_tokens: sum((node) => node.cache_write_5m_tokens + node.cache_write_1h_tokens),
    reasoning_tokens: sum((node) => node.reasoning_tokens),
    turn_count: BigInt(nodes.length),
    tool_calls: sum((node) => node.tool_calls),
    unpriced_tokens: sum((node) => (node.cost_usd === null ? node.input_tokens + node.output_tokens : 0)),
  };
}

function cellOf(nodes: readonly StatNode[]): SeriesCell {
  const { cost_usd, fresh, cache_read, cache_write_5m, cache_write_1h, output, reasoning, ...counts } = exactOf(nodes);
  const parts = { fresh, cache_read, cache_write_5m, cache_write_1h, output, reasoning };
  const unsplit = Object.values(parts).reduce((left, part) => left - part, cost_usd);
  const cost = Object.fromEntries(Object.entries(parts).map(([part, usd]) => [part, number(usd)]));
  return {
    cost_usd: number(cost_usd),
    cost: (unsplit === 0n ? cost : { ...cost, unsplit: number(unsplit) }) as SeriesCell['cost'],
    ...(Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, Number(count)])) as Omit<
      SeriesCell,
      'cost' | 'cost_usd'
    >),
  };
}

const matching = (nodes: readonly StatNode[], deleted: readonly number[], filter: StatsFilter) =>
  nodes.filter((node) => {
    if (deleted.includes(node.session)) return false;
    for (const name of ['project', 'agent_name', 'model', 'provider'] as const)
      if (filter[name] !== undefined && filter[name] !== node[name]) return false;
    const at = BigInt(node.created_us) * 1000n;
    return (!filter.since || at >= filter.since.at) && (!filter.until || at < filter.until.at);
  });

const bucketOf = (bucket: Bucket, { created_us }: StatNode) => {
  const text = new Date(NINE_MS + Math.floor(created_us / 1000)).toISOString();
  return bucket === 'day' ? `${text.slice(0, 10)}T00:00:00.000000Z` : `${text.slice(0, 13)}:00:00.000000Z`;
};

function grouped(nodes: readonly StatNode[], by: By): Map<string, StatNode[]> {
  const groups = new Map<string, StatNode[]>();
  for (const node of nodes) groups.set(node[by], [...(groups.get(node[by]) ?? []), node]);
  return groups;
}

const bytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));

/** The whole series by hand. */
function seriesOf(nodes: readonly StatNode[], bucket: Bucket, by: By): StatsSeries {
  const groups = [...grouped(nodes, by)].map(([key, of]) => ({ key, of, sums: exactOf(of) }));
  groups.sort(({ sums: a, key: one }, { sums: b, key: other }) => {
    const [costs, tokens] = [
      b.cost_usd - a.cost_usd,
      b.input_tokens + b.output_tokens - a.input_tokens - a.output_tokens,
    ];
    return costs !== 0n ? (costs > 0n ? 1 : -1) : tokens !== 0n ? (tokens > 0n ? 1 : -1) : bytes(one, other);
  });
  const kept = groups.slice(0, 12).map(({ key, of }) => ({ key, of }));
  const rest = groups.slice(12).flatMap(({ of }) => of);
  if (rest.length > 0) kept.push({ key: 'other', of: rest });
  const buckets = [...new Set(nodes.map((node) => bucketOf(bucket, node)))].sort();
  const unpriced = [...grouped(nodes, 'model')].map(([model, of]) => ({
    model,
    tokens: Number(exactOf(of).unpriced_tokens),
  }));
  return {
    bucket,
    by,
    keys: kept.map(({ key }) => key),
    points: buckets.map((at) => ({
      at,
      cells: kept.map(({ of }) => {
        const within = of.filter((node) => bucketOf(bucket, node) === at);
        return within.length === 0 ? null : cellOf(within);
      }),
    })),
    totals: kept.map(({ of }) => cellOf(of)),
    total: cellOf(nodes),
    unpriced_models: unpriced.filter(({ tokens }) => tokens > 0).sort((a, b) => bytes(a.model, b.model)),
  };
}

databaseSuite('readStatsSeries', (test, database) => {
  const read = (parameters: Record<string, string> = {}) =>
    database().execute('readStatsSeries', SeriesQuery.parse(parameters));

  test.before(async () => {
    await insertSessions(
      database(),
      SESSIONS.map((n) => ({ n })),
    );
  });

  test('the cells of any filter, bucket and key are what a count by hand gives, and add up to the totals of stats', async () => {
    let matched = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyStatNode, { maxLength: 40 }),
        fc.array(anyStep, { maxLength: 4 }),
        fc.subarray(SESSIONS, { maxLength: 2 }),
        anyStatsFilter,
        fc.array(
          fc.tuple(
            fc.nat(63),
            fc.constantFrom<Bucket>('day', 'hour'),
            fc.constantFrom<By>('model', 'project', 'agent_name', 'provider'),
          ),
          {
            minLength: 12,
            maxLength: 12,
          },
        ),
        async (first, steps, deleted, all, queries) => {
          await put(database(), first, deleted);
          const written: (StatNode | null)[] = [...first];
          for (const step of steps) await take(database(), written, step);
          await assertCells(database());
          await assertDays(database());
          const nodes = written.filter((node) => node !== null);
          for (const [mask, bucket, by] of queries) {
            const { since, until, ...equal } = maskedFilter(all, mask);
            const parameters = { ...equal, ...(since && { since: since.stamp }), ...(until && { until: until.stamp }) };
            const series = await read({ ...parameters, bucket, by });
            const found = matching(nodes, deleted, maskedFilter(all, mask));
            assert.equal(series, seriesOf(found, bucket, by), `${bucket} by ${by}, ${JSON.stringify(parameters)}`);
            await assertAgainstStats(series, parameters);
            if (mask !== 0 && found.length > 0) matched++;
          }
        },
      ),
      { numRuns: 30 },
    );
    assert.ok(matched > 30, `filters that matched anything: ${matched}`);
  });

  /** Exactly: amounts are so small here that their decimals survive in a float. */
  async function assertAgainstStats(series: StatsSeries, parameters: Record<string, string>) {
    const stats = await database().execute('readStats', SeriesQuery.parse(parameters));
    const cells = series.points.flatMap(({ cells }) => cells.filter((cell) => cell !== null));
    const money = (usd: number | undefined) => BigInt((usd ?? 0).toFixed(9).replace('.', ''));
    const near = (one: bigint, other: bigint, terms: number) =>
      assert.ok((one > other ? one - other : other - one) <= BigInt(terms), `${one} and ${other}`);
    const sum = (value: (cell: SeriesCell) => number) => cells.reduce((total, cell) => total + value(cell), 0);
    near(
      cells.reduce((total, { cost_usd }) => total + money(cost_usd), 0n),
      money(stats.total_cost),
      cells.length + 1, // what is rounded to nine decimals here
    );
    for (const cell of [...cells, ...series.totals, series.total])
      near(
        [...COST_PARTS, 'unsplit' as const].reduce((total, part) => total + money(cell.cost[part]), 0n),
        money(cell.cost_usd),
        8,
      );
    assert.is(series.total.cost_usd, stats.total_cost);
    assert.is(
      sum(({ input_tokens }) => input_tokens),
      stats.input_tokens,
    );
    assert.is(
      sum(({ output_tokens }) => output_tokens),
      stats.output_tokens,
    );
    assert.is(
      sum(({ turn_count }) => turn_count),
      stats.turn_count,
    );
    assert.is(
      sum(({ tool_calls }) => tool_calls),
      stats.tool_calls,
    );
    assert.equal(
      series.unpriced_models.map(({ model }) => model),
      stats.unpriced_models,
    );
  }

  test('after the dearest twelve keys comes what is left, also where a key has its name', async () => {
    const priced = Array.from({ length: 14 }, (_, n) => ({
      model: n === 0 ? 'other' : `m-${n}`,
      cost_usd: `${n === 0 ? 99 : n}.000000000000`,
      cost_output: `${n === 0 ? 99 : n}.000000000000`,
      created_us: n,
    }));
    await put(database(), [...priced, { model: 'llama3', input_tokens: 700, created_us: 20 }]);
    const { keys, points, totals, total, unpriced_models } = StatsSeries.parse(await read());
    assert.equal(keys, ['other', ...Array.from({ length: 11 }, (_, n) => `m-${13 - n}`), 'other']);
    assert.is(totals[0]?.cost_usd, 99);
    assert.is(totals[12]?.cost_usd, 3, 'm-1, m-2 and llama3');
    assert.is(totals[12]?.unpriced_tokens, 700);
    assert.is(total.cost_usd, 99 + 91);
    assert.equal(total.cost, {
      fresh: 0,
      cache_read: 0,
      cache_write_5m: 0,
      cache_write_1h: 0,
      output: 190,
      reasoning: 0,
    });
    assert.equal(unpriced_models, [{ model: 'llama3', tokens: 700 }]);
    assert.is(points.length, 1);
  });

  test('nothing is an empty series with zeros', async () => {
    await put(database(), []);
    for (const bucket of ['day', 'hour']) {
      const series = await read({ bucket });
      assert.equal(series, seriesOf([], bucket as Bucket, 'model'));
      StatsSeries.parse(series);
    }
  });
});
