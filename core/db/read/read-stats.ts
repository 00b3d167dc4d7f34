/** What do the messages come to that match? One aggregate, over daily cells. (Seed, 'Stats aggregate'.) */
import { type SQL, sql } from 'drizzle-orm';
import { storable } from '../../derive/storable.ts';
import type { Stats, StatsFilter } from '../../model/stats.ts';
import type { Sql } from '../sql.ts';
import { usd } from './present.ts';

/**
 * Zeros where nothing matches. What is injected counts as a message but opens no conversation; deleted sessions do not
 * count. Exact: cells of `svc.stat_cells` that lie within the window count whole, and of one that a bound goes through
 * the nodes are counted. Sums are `numeric` in SQL: no timestamp or token count that a client made up overflows them.
 */
export const readStats = (db: Sql, filter: StatsFilter): Promise<Stats> =>
  db.transaction(async (tx) => {
    // Compiling would take longer than the answer itself, and so would a set of sessions that spills to disk.
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

/** Sessions are counted apart from the sums: of most cells only their model is looked up, and only heads tell sessions. */
const aggregate = (filter: StatsFilter): SQL => sql`
  with ${cutCells(filter)} models as (
    select p.model, sum(p.turn_count) as turn_count, sum(p.root_count) as root_count, sum(p.cost_usd) as cost_usd,
           sum(p.input_tokens) as input_tokens, sum(p.output_tokens) as output_tokens, sum(p.tool_calls) as tool_calls,
           sum(p.unpriced_count) as unpriced_count, min(p.first_at) as first_at, max(p.last_at) as last_at
      from (${parts(
        filter,
        sql`
             model, turn_count, root_count, cost_usd, input_tokens, output_tokens, tool_calls, unpriced_count, first_at, last_at`,
      )}) p
     group by p.model),
  sessions as (
    select bool_or(p.completed_count > 0) as completed
      from (${parts(filter, sql`session_id, head_count, completed_count`)}) p
     where p.head_count > 0
     group by p.session_id)
  select s.session_count, m.turn_count, m.root_count, s.completed_count, m.total_cost, m.input_tokens, m.output_tokens,
         m.total_duration_ns, m.tool_calls, m.unpriced_models
    from (select coalesce(sum(turn_count), 0)::bigint as turn_count, coalesce(sum(root_count), 0)::bigint as root_count,
                 sum(cost_usd) as total_cost, sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens,
                 extract(epoch from max(last_at) - min(first_at)) * 1000000000 as total_duration_ns,
                 coalesce(sum(tool_calls), 0)::bigint as tool_calls,
                 coalesce(array_agg(model order by model collate "C") filter (where unpriced_count > 0), '{}')
                   as unpriced_models
            from models) m,
         (select count(*) as session_count, count(*) filter (where completed) as completed_count from sessions) s`;

/** Named columns of the cells that lie within the window, and of what matches of those that a bound cuts. */
function parts(filter: StatsFilter, columns: SQL): SQL {
  const whole = sql`
    select ${columns} from svc.stat_cells c
     where ${standing} ${equalities(filter)} ${since(filter, (at) => sql`c.first_at >= ${at}`)}
           ${until(filter, (at) => sql`c.last_at < ${at}`)}`;
  return isWindow(filter) ? sql`${whole} union all select ${columns} from cut` : whole;
}

/** What the window holds of the cells that a bound goes through: of sessions that spoke before and after it on one day. */
function cutCells(filter: StatsFilter): SQL {
  if (!isWindow(filter)) return sql``;
  const through = (at: SQL) => sql`(c.first_at < ${at} and c.last_at >= ${at})`;
  const bounds = [filter.since, filter.until].flatMap((at) => (at === null ? [] : [through(timestamp(at))]));
  // The aggregate within makes the plan go from the few cells to their sessions' nodes, never through all nodes.
  return sql`
  cut as materialized (
    select c.session_id, c.model, p.*
      from svc.stat_cells c,
           lateral (
             select count(*) as turn_count, count(*) filter (where n.is_root and n.injected = '') as root_count,
                    count(*) filter (where n.is_head) as head_count,
                    count(*) filter (where svc.is_completed(n.is_head, n.role, n.stop_reason)) as completed_count,
                    count(*) filter (where svc.is_unpriced(n.cost_usd, n.input_tokens, n.output_tokens)) as unpriced_count,
                    sum(n.cost_usd) as cost_usd, sum(n.input_tokens) as input_tokens, sum(n.output_tokens) as output_tokens,
                    sum(n.tool_calls) as tool_calls, min(n.created_at) as first_at, max(n.created_at) as last_at
               from svc.nodes n
              where n.session_id = c.session_id and svc.day_of(n.created_at) = c.day
                and n.project = c.project and n.agent_name = c.agent_name and n.model = c.model and n.provider = c.provider
                    ${since(filter, (at) => sql`n.created_at >= ${at}`)} ${until(filter, (at) => sql`n.created_at < ${at}`)}) p
     where (${sql.join(bounds, sql` or `)}) and ${standing} ${equalities(filter)} and p.turn_count > 0),`;
}

const standing = sql`not exists (
  select from svc.session_edits d where d.session_id = c.session_id and d.deleted_at is not null)`;

const isWindow = (filter: StatsFilter) => filter.since !== null || filter.until !== null;
const timestamp = (at: string) => sql`${at}::timestamptz`;
const since = (filter: StatsFilter, holds: (at: SQL) => SQL) =>
  filter.since === null ? sql`` : sql`and ${holds(timestamp(filter.since))}`;
const until = (filter: StatsFilter, holds: (at: SQL) => SQL) =>
  filter.until === null ? sql`` : sql`and ${holds(timestamp(filter.until))}`;

const equalities = ({ project, agent_name, model, provider }: StatsFilter): SQL =>
  sql.join([
    equal(sql`c.project`, project),
    equal(sql`c.agent_name`, agent_name),
    equal(sql`c.model`, model),
    equal(sql`c.provider`, provider),
  ]);

/** Text that no column can hold equals none; as a parameter PostgreSQL would refuse it. */
function equal(column: SQL, value: string | null): SQL {
  if (value === null) return sql``;
  return storable(value) === value ? sql` and ${column} = ${value}` : sql` and false`;
}
