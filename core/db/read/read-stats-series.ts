/** Stats as a series: the sums of each day or hour and each key, of each key over the window, and of all. One statement: one moment. */
import { type SQL, sql } from 'drizzle-orm';
import {
  COST_PARTS,
  type CostParts,
  type SeriesCell,
  type SeriesFilter,
  type StatsSeries,
} from '../../model/stats-series.ts';
import { instantText } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { each, edgeCells, hourParts, type StatParts, type StatSum, windowParts } from './stats-window.ts';

const MOST_KEYS = 12;
const REST = 'other'; // what the keys after these come to

const COSTS = COST_PARTS.map((part) => `cost_${part}` as const);
const TOKENS = [
  ...(['input_tokens', 'output_tokens', 'cache_read_tokens', 'cache_write_tokens', 'reasoning_tokens'] as const),
  'unpriced_tokens' as const,
];
const SUMS: readonly StatSum[] = ['turn_count', 'tool_calls', 'cost_usd', ...TOKENS, ...COSTS];

/**
 * Exact against `readStats`: the same nodes, by the same rules, so the cells of any filter add up to its totals. Hours are read from nodes:
 * whoever calls bounds the window.
 */
export const readStatsSeries = (db: Sql, filter: SeriesFilter): Promise<StatsSeries> =>
  db.transaction(async (tx) => {
    await tx.script(`set local jit = off; set local work_mem = '64MB'`); // as in read-stats.ts
    return seriesOf(filter, await tx.rows<Row>(aggregate(filter)));
  });

/** One group: `at` and `place` of a cell; `place` of a key; `unpriced_model` of a model; none of these: the total. */
type Row = { at: string | null; place: number | null; key: string | null; unpriced_model: string | null } & Record<
  StatSum | 'cost_unsplit',
  string | null // numeric; null: nothing matches
>;

function aggregate(filter: SeriesFilter): SQL {
  const { bucket, by } = filter;
  const parts: StatParts = { sums: SUMS, by: by === 'model' ? ['model'] : [by, 'model'] };
  const key = sql.raw(by);
  const sum = (column: SQL) => sql`sum(${column})`;
  const source =
    bucket === 'day'
      ? sql`${edgeCells(filter, parts)} parts as (${windowParts(filter, parts)})`
      : sql`parts as (${hourParts(filter, parts)})`;
  const at = bucket === 'day' ? sql`day::timestamp at time zone 'UTC'` : sql`at`;
  return sql`
  with ${source},
  grouped as materialized (
    select ${at} as at, ${key} as key, model, ${each(SUMS, sum)}
      from parts
     group by 1, 2, 3
    having sum(turn_count) > 0),
  ranked as (
    select key, row_number() over (
             order by sum(cost_usd) desc, sum(input_tokens + output_tokens) desc, key collate "C") as place
      from grouped
     group by key),
  placed as (
    select g.*, least(r.place, ${MOST_KEYS + 1}::integer)::integer as place,
           case when r.place <= ${MOST_KEYS}::integer then g.key end as kept_key
      from grouped g
      join ranked r on r.key = g.key)
  select ${sql.raw(instantText('at'))} as at, place, min(kept_key) as key, model as unpriced_model,
         ${each(SUMS, (column) => sql`sum(${column})::text`)},
         (sum(cost_usd) - (${plus(COSTS)}))::text as cost_unsplit
    from placed
   group by grouping sets ((at, place), (place), (model), ())
  having grouping(model) = 1 or sum(unpriced_tokens) > 0
   order by placed.at, place, model collate "C"`;
}

const plus = (names: readonly StatSum[]): SQL =>
  sql.join(
    names.map((name) => sql`sum(${sql.raw(name)})`),
    sql` + `,
  );

function seriesOf({ bucket, by }: SeriesFilter, rows: readonly Row[]): StatsSeries {
  const totals: SeriesCell[] = [];
  const keys: string[] = [];
  const unpriced_models: StatsSeries['unpriced_models'] = [];
  const cells = new Map<string, { place: number; cell: SeriesCell }[]>();
  let total = cellOf({});
  for (const row of rows) {
    if (row.unpriced_model !== null)
      unpriced_models.push({ model: row.unpriced_model, tokens: Number(row.unpriced_tokens) });
    else if (row.place === null) total = cellOf(row);
    else if (row.at === null) {
      keys[row.place - 1] = row.key ?? REST;
      totals[row.place - 1] = cellOf(row);
    } else {
      const known = cells.get(row.at) ?? [];
      known.push({ place: row.place, cell: cellOf(row) });
      cells.set(row.at, known);
    }
  }
  const points = [...cells].map(([at, known]) => {
    const point: { at: string; cells: (SeriesCell | null)[] } = { at, cells: keys.map(() => null) };
    for (const { place, cell } of known) point.cells[place - 1] = cell;
    return point;
  });
  return { bucket, by, keys, points, totals, total, unpriced_models };
}

function cellOf(row: Partial<Row>): SeriesCell {
  const number = (name: StatSum | 'cost_unsplit') => Number(row[name] ?? 0);
  const unsplit = number('cost_unsplit');
  const cost = Object.fromEntries(COST_PARTS.map((part) => [part, number(`cost_${part}`)])) as CostParts;
  return {
    cost_usd: number('cost_usd'),
    cost: unsplit === 0 ? cost : { ...cost, unsplit },
    input_tokens: number('input_tokens'),
    output_tokens: number('output_tokens'),
    cache_read_tokens: number('cache_read_tokens'),
    cache_write_tokens: number('cache_write_tokens'),
    reasoning_tokens: number('reasoning_tokens'),
    turn_count: number('turn_count'),
    tool_calls: number('tool_calls'),
    unpriced_tokens: number('unpriced_tokens'),
  };
}
