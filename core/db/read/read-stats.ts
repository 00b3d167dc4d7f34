/** The totals of messages that match a filter: one aggregate, over days and over cells. */
import { type SQL, sql } from 'drizzle-orm';
import type { Stats, StatsFilter } from '../../model/stats.ts';
import { usd } from '../columns/column.ts';
import type { Sql } from '../sql.ts';
import {
  each,
  edgeCells,
  equalities,
  isWindow,
  notDeleted,
  orEdge,
  type StatParts,
  wholeDays,
  windowParts,
} from './stats-window.ts';

/**
 * Zeros where nothing matches. An injected message counts as a message but opens no conversation; deleted sessions do not
 * count. The totals are exact (stats-window.ts). Sums are `numeric` in SQL: no timestamp or token count that a client made up
 * overflows them.
 */
export const readStats = (db: Sql, filter: StatsFilter): Promise<Stats> =>
  db.transaction(async (tx) => {
    // JIT compilation would take longer than the query itself, and so would a set of sessions that spills to disk.
    await tx.script(`set local jit = off; set local work_mem = '64MB'`);
    const [row] = await tx.rows<StatsRow>(aggregate(filter));
    if (!row) throw new Error('Cannot read stats: an aggregate has no row');
    return {
      ...row,
      total_cost: usd(row.total_cost) ?? 0,
      input_tokens: Number(row.input_tokens),
      output_tokens: Number(row.output_tokens),
      total_duration_ns: Number(row.total_duration_ns),
    };
  });

/** `numeric` comes as text; null where nothing matches, which is the number 0. */
type StatsRow = Omit<Stats, Sum> & Record<Sum, string | null>;
type Sum = 'total_cost' | 'input_tokens' | 'output_tokens' | 'total_duration_ns';

const PARTS: StatParts = {
  sums: ['turn_count', 'root_count', 'tool_calls', 'unpriced_count', 'input_tokens', 'output_tokens', 'cost_usd'],
  by: ['model'],
};

/** Sessions are counted apart from the sums: by the cells with a head alone, which an index finds. */
const aggregate = (filter: StatsFilter): SQL => sql`
  with ${edgeCells(filter, PARTS)} parts as (${windowParts(filter, PARTS)}),
  days as materialized (
    select day, model, ${each(PARTS.sums, (column) => sql`sum(${column})`)} from parts group by day, model having sum(turn_count) > 0),
  heads as (
    select c.session_id, c.has_completed
      from svc.stat_cells c
     where c.has_head and ${wholeDays(filter, sql`c`)} and ${notDeleted} ${equalities(filter, sql`c`)}
    ${orEdge(filter, sql`session_id, completed_count > 0 from edge where head_count > 0`)})
  select s.session_count, t.turn_count, t.root_count, s.completed_count, t.total_cost, t.input_tokens, t.output_tokens,
         extract(epoch from ${extreme(filter, 'max', 'last_at')} - ${extreme(filter, 'min', 'first_at')}) * 1000000000
           as total_duration_ns,
         t.tool_calls, t.unpriced_models
    from (select coalesce(sum(turn_count), 0)::bigint as turn_count, coalesce(sum(root_count), 0)::bigint as root_count,
                 sum(cost_usd) as total_cost, sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens,
                 coalesce(sum(tool_calls), 0)::bigint as tool_calls,
                 coalesce(array_agg(distinct model collate "C" order by model collate "C")
                            filter (where unpriced_count > 0), '{}') as unpriced_models
            from days) t,
         (select count(distinct session_id) as session_count,
                 count(distinct session_id) filter (where has_completed) as completed_count
            from heads) s`;

/** Instants cannot be summed: the lowest that matches is in a cell of the first day, or at the window's edge; the highest likewise. */
const extreme = (filter: StatsFilter, pick: 'min' | 'max', instant: 'first_at' | 'last_at'): SQL => {
  const [of, column] = [sql.raw(pick), sql.raw(instant)];
  const ofDay = sql`
    select ${of}(c.${column})
      from svc.stat_cells c
     where c.day = (select ${of}(w.day) from days w where ${wholeDays(filter, sql`w`)})
       and ${notDeleted} ${equalities(filter, sql`c`)}`;
  if (!isWindow(filter)) return sql`(${ofDay})`;
  return sql`${sql.raw(pick === 'min' ? 'least' : 'greatest')}((${ofDay}), (select ${of}(${column}) from edge))`;
};
