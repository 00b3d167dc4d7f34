/** The totals of messages that match a filter: one aggregate, over days and over cells. */
import { type SQL, sql } from 'drizzle-orm';
import { storable } from '../../derive/storable.ts';
import type { Stats, StatsFilter } from '../../model/stats.ts';
import { usd } from '../columns/column.ts';
import type { Sql } from '../sql.ts';

/**
 * Zeros where nothing matches. An injected message counts as a message but opens no conversation; deleted sessions do not
 * count. The totals are exact: days within the window are taken from `svc.stat_days`, less the cells of deleted sessions. On the days
 * of the window's bounds, cells of `svc.stat_cells` are taken whole, except cells that a bound divides: their nodes are counted.
 * Sums are `numeric` in SQL: no timestamp or token count that a client made up overflows them.
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

const TOTALS = [
  'turn_count',
  'root_count',
  'tool_calls',
  'unpriced_count',
  'input_tokens',
  'output_tokens',
  'cost_usd',
];
const totals = (each: (column: SQL) => SQL): SQL =>
  sql.join(
    TOTALS.map((name) => sql`${each(sql.raw(name))} as ${sql.raw(name)}`),
    sql`, `,
  );
const unchanged = (column: SQL) => column;
const negated = (column: SQL) => sql`-${column}`;
const summed = (column: SQL) => sql`sum(${column})`;

/** Sessions are counted apart from the sums: by the cells with a head alone, which an index finds. */
const aggregate = (filter: StatsFilter): SQL => sql`
  with ${edgeCells(filter)} parts as (
    select d.day, d.model, ${totals(unchanged)}
      from svc.stat_days d
     where ${wholeDays(filter, sql`d`)} ${equalities(filter, sql`d`)}
    union all
    select c.day, c.model, ${totals(negated)}
      from svc.session_edits e
      join svc.stat_cells c on c.session_id = e.session_id
     where e.deleted_at is not null and ${wholeDays(filter, sql`c`)} ${equalities(filter, sql`c`)}
    ${orEdge(filter, sql`day, model, ${totals(unchanged)} from edge`)}),
  days as materialized (
    select day, model, ${totals(summed)} from parts group by day, model having sum(turn_count) > 0),
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

/** Days that are entirely within the window; without bounds all are. */
const wholeDays = (filter: StatsFilter, of: SQL): SQL => sql`
  true ${since(filter, (at) => sql`${of}.day > svc.day_of(${at})`)} ${until(filter, (at) => sql`${of}.day < svc.day_of(${at})`)}`;

const orEdge = (filter: StatsFilter, columns: SQL): SQL =>
  isWindow(filter) ? sql`union all select ${columns}` : sql``;

/** What matches on the days of the bounds: whole cells, and the nodes of cells that a bound divides (sessions active before and after it). */
function edgeCells(filter: StatsFilter): SQL {
  if (!isWindow(filter)) return sql``;
  const bounds = [filter.since, filter.until].flatMap((at) => (at === null ? [] : [timestamp(at)]));
  const days = sql.join(
    bounds.map((at) => sql`svc.day_of(${at})`),
    sql`, `,
  );
  const through = sql.join(
    bounds.map((at) => sql`(c.first_at < ${at} and c.last_at >= ${at})`),
    sql` or `,
  );
  // The aggregate within makes the plan go from the few cells to their sessions' nodes, never through all nodes.
  return sql`
  edge as materialized (
    select c.session_id, c.day, c.model, ${totals(unchanged)}, c.head_count, c.completed_count, c.first_at, c.last_at
      from svc.stat_cells c
     where c.day in (${days}) ${since(filter, (at) => sql`c.first_at >= ${at}`)} ${until(filter, (at) => sql`c.last_at < ${at}`)}
           and ${notDeleted} ${equalities(filter, sql`c`)}
    union all
    select c.session_id, c.day, c.model, p.*
      from svc.stat_cells c,
           lateral (
             select count(*) as turn_count, count(*) filter (where n.is_root and n.injected = '') as root_count,
                    sum(n.tool_calls) as tool_calls,
                    count(*) filter (where svc.is_unpriced(n.cost_usd, n.input_tokens, n.output_tokens)) as unpriced_count,
                    sum(n.input_tokens) as input_tokens, sum(n.output_tokens) as output_tokens, sum(n.cost_usd) as cost_usd,
                    count(*) filter (where n.is_head) as head_count,
                    count(*) filter (where svc.is_completed(n.is_head, n.role, n.stop_reason)) as completed_count,
                    min(n.created_at) as first_at, max(n.created_at) as last_at
               from svc.nodes n
              where n.session_id = c.session_id and svc.day_of(n.created_at) = c.day
                and n.project = c.project and n.agent_name = c.agent_name and n.model = c.model and n.provider = c.provider
                    ${since(filter, (at) => sql`n.created_at >= ${at}`)} ${until(filter, (at) => sql`n.created_at < ${at}`)}) p
     where c.day in (${days}) and (${through}) and ${notDeleted} ${equalities(filter, sql`c`)} and p.turn_count > 0),`;
}

const notDeleted = sql`c.session_id not in (select d.session_id from svc.session_edits d where d.deleted_at is not null)`;

const isWindow = (filter: StatsFilter) => filter.since !== null || filter.until !== null;
const timestamp = (at: string) => sql`${at}::timestamptz`;
const since = (filter: StatsFilter, condition: (at: SQL) => SQL) =>
  filter.since === null ? sql`` : sql`and ${condition(timestamp(filter.since))}`;
const until = (filter: StatsFilter, condition: (at: SQL) => SQL) =>
  filter.until === null ? sql`` : sql`and ${condition(timestamp(filter.until))}`;

const equalities = ({ project, agent_name, model, provider }: StatsFilter, of: SQL): SQL =>
  sql.join([
    equal(sql`${of}.project`, project),
    equal(sql`${of}.agent_name`, agent_name),
    equal(sql`${of}.model`, model),
    equal(sql`${of}.provider`, provider),
  ]);

/** Text that no column can hold matches nothing; as a parameter PostgreSQL would refuse it. */
function equal(column: SQL, value: string | null): SQL {
  if (value === null) return sql``;
  return storable(value) === value ? sql` and ${column} = ${value}` : sql` and false`;
}
