/**
 * What stats sum up within a window, exactly: days within the window are taken from `svc.stat_days`, less the cells of deleted sessions.
 * On the days of the window's bounds, cells of `svc.stat_cells` are taken whole, except cells that a bound divides: their nodes
 * are counted.
 */
import { type SQL, sql } from 'drizzle-orm';
import { storable } from '../../derive/storable.ts';
import type { StatsFilter } from '../../model/stats.ts';

/** The sums, each with what it is over nodes `n`. */
const SUMS = {
  turn_count: sql`count(*)`,
  root_count: sql`count(*) filter (where n.is_root and n.injected = '')`,
  tool_calls: sql`sum(n.tool_calls)`,
  unpriced_count: sql`count(*) filter (where svc.is_unpriced(n.cost_usd, n.input_tokens, n.output_tokens))`,
  input_tokens: sql`sum(n.input_tokens)`,
  output_tokens: sql`sum(n.output_tokens)`,
  cost_usd: sql`coalesce(sum(n.cost_usd), 0)`,
  cache_read_tokens: sql`sum(n.cache_read_tokens)`,
  cache_write_tokens: sql`sum(n.cache_write_5m_tokens::numeric + n.cache_write_1h_tokens)`,
  reasoning_tokens: sql`sum(n.reasoning_tokens)`,
  unpriced_tokens: sql`coalesce(sum(svc.unpriced_tokens(n.cost_usd, n.input_tokens, n.output_tokens)), 0)`,
  cost_fresh: sql`coalesce(sum(n.cost_fresh), 0)`,
  cost_cache_read: sql`coalesce(sum(n.cost_cache_read), 0)`,
  cost_cache_write_5m: sql`coalesce(sum(n.cost_cache_write_5m), 0)`,
  cost_cache_write_1h: sql`coalesce(sum(n.cost_cache_write_1h), 0)`,
  cost_output: sql`coalesce(sum(n.cost_output), 0)`,
  cost_reasoning: sql`coalesce(sum(n.cost_reasoning), 0)`,
};
export type StatSum = keyof typeof SUMS;
export type StatAttribute = 'project' | 'agent_name' | 'model' | 'provider';

/** A query's sums, and the attributes by which it groups them besides the day. */
export type StatParts = { sums: readonly StatSum[]; by: readonly StatAttribute[] };

export const listOf = (parts: readonly SQL[]): SQL => sql.join([...parts], sql`, `);

export const each = (names: readonly StatSum[], expression: (column: SQL) => SQL): SQL =>
  listOf(names.map((name) => sql`${expression(sql.raw(name))} as ${sql.raw(name)}`));

const overNodes = (names: readonly StatSum[]): SQL =>
  listOf(names.map((name) => sql`${SUMS[name]} as ${sql.raw(name)}`));

const named = (names: readonly string[], of = ''): SQL => sql.raw(names.map((name) => `${of}${name}`).join(', '));

/** The body of a common table expression: rows of `day`, the attributes and the sums, to be added up. It reads `edge` where there are bounds. */
export const windowParts = (filter: StatsFilter, { sums, by }: StatParts): SQL => sql`
    select d.day, ${named(by, 'd.')}, ${named(sums)}
      from svc.stat_days d
     where ${wholeDays(filter, sql`d`)} ${equalities(filter, sql`d`)}
    union all
    select c.day, ${named(by, 'c.')}, ${each(sums, (column) => sql`-${column}`)}
      from svc.session_edits e
      join svc.stat_cells c on c.session_id = e.session_id
     where e.deleted_at is not null and ${wholeDays(filter, sql`c`)} ${equalities(filter, sql`c`)}
    ${orEdge(filter, sql`day, ${named(by)}, ${named(sums)} from edge`)}`;

/** Days that are entirely within the window; without bounds all are. */
export const wholeDays = (filter: StatsFilter, of: SQL): SQL => sql`
  true ${since(filter, (at) => sql`${of}.day > svc.day_of(${at})`)} ${until(filter, (at) => sql`${of}.day < svc.day_of(${at})`)}`;

export const orEdge = (filter: StatsFilter, columns: SQL): SQL =>
  isWindow(filter) ? sql`union all select ${columns}` : sql``;

/**
 * The common table expression `edge`, with a comma: what matches on the days of the bounds. Whole cells, and the nodes of cells that a
 * bound divides (sessions active before and after it).
 */
export function edgeCells(filter: StatsFilter, { sums, by }: StatParts): SQL {
  if (!isWindow(filter)) return sql``;
  const bounds = [filter.since, filter.until].flatMap((at) => (at === null ? [] : [timestamp(at)]));
  const days = listOf(bounds.map((at) => sql`svc.day_of(${at})`));
  const through = sql.join(
    bounds.map((at) => sql`(c.first_at < ${at} and c.last_at >= ${at})`),
    sql` or `,
  );
  // The aggregate within makes the plan go from the few cells to their sessions' nodes, never through all nodes.
  return sql`
  edge as materialized (
    select c.session_id, c.day, ${named(by, 'c.')}, ${named(sums)}, c.head_count, c.completed_count, c.first_at, c.last_at
      from svc.stat_cells c
     where c.day in (${days}) ${since(filter, (at) => sql`c.first_at >= ${at}`)} ${until(filter, (at) => sql`c.last_at < ${at}`)}
           and ${notDeleted} ${equalities(filter, sql`c`)}
    union all
    select c.session_id, c.day, ${named(by, 'c.')}, p.*
      from svc.stat_cells c,
           lateral (
             select ${overNodes(sums)},
                    count(*) filter (where n.is_head) as head_count,
                    count(*) filter (where svc.is_completed(n.is_head, n.role, n.stop_reason)) as completed_count,
                    min(n.created_at) as first_at, max(n.created_at) as last_at
               from svc.nodes n
              where ${ofCell(filter)}) p
     where c.day in (${days}) and (${through}) and ${notDeleted} ${equalities(filter, sql`c`)} and p.turn_count > 0),`;
}

/** As `windowParts`, by hour instead of day, from the nodes of the cells that the window touches: `at` in place of `day`. */
export const hourParts = (filter: StatsFilter, { sums, by }: StatParts): SQL => sql`
    select p.at, ${named(by, 'c.')}, ${named(sums, 'p.')}
      from svc.stat_cells c,
           lateral (
             select date_trunc('hour', n.created_at, 'UTC') as at, ${overNodes(sums)}
               from svc.nodes n
              where ${ofCell(filter)}
              group by 1) p
     where true ${since(filter, (at) => sql`c.day >= svc.day_of(${at}) and c.last_at >= ${at}`)}
                ${until(filter, (at) => sql`c.day <= svc.day_of(${at}) and c.first_at < ${at}`)}
           and ${notDeleted} ${equalities(filter, sql`c`)}`;

/** The nodes of the cell `c` that are within the window. */
const ofCell = (filter: StatsFilter): SQL => sql`
                n.session_id = c.session_id and svc.day_of(n.created_at) = c.day
                and n.project = c.project and n.agent_name = c.agent_name and n.model = c.model and n.provider = c.provider
                    ${since(filter, (at) => sql`n.created_at >= ${at}`)} ${until(filter, (at) => sql`n.created_at < ${at}`)}`;

export const notDeleted = sql`c.session_id not in (select d.session_id from svc.session_edits d where d.deleted_at is not null)`;

export const isWindow = (filter: StatsFilter) => filter.since !== null || filter.until !== null;
const timestamp = (at: string) => sql`${at}::timestamptz`;
const since = (filter: StatsFilter, condition: (at: SQL) => SQL) =>
  filter.since === null ? sql`` : sql`and ${condition(timestamp(filter.since))}`;
const until = (filter: StatsFilter, condition: (at: SQL) => SQL) =>
  filter.until === null ? sql`` : sql`and ${condition(timestamp(filter.until))}`;

export const equalities = ({ project, agent_name, model, provider }: StatsFilter, of: SQL): SQL =>
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
