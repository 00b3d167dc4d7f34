/** What do the messages come to that match? One aggregate over the nodes. (Seed, 'Stats aggregate'.) */
import { type SQL, sql } from 'drizzle-orm';
import { storable } from '../../derive/storable.ts';
import type { Stats, StatsFilter } from '../../model/stats.ts';
import type { Sql } from '../sql.ts';
import { usd } from './present.ts';

/**
 * Zeros where nothing matches. What is injected counts as a message but opens no conversation; deleted sessions do not
 * count. Sums are `numeric` in SQL: exact, and no timestamp or token count that a client made up can overflow them.
 */
export async function readStats(db: Sql, filter: StatsFilter): Promise<Stats> {
  const [row] = await db.rows<StatsRow>(sql`
    select count(distinct n.session_id) filter (where n.is_head) as session_count,
           count(*) as turn_count,
           count(*) filter (where n.is_root and n.injected = '') as root_count,
           count(distinct n.session_id) filter (
             where n.is_head and n.role = 'assistant'
               and lower(n.stop_reason) in ('stop', 'end_turn', 'end-turn', 'eos')) as completed_count,
           sum(n.cost_usd) as total_cost,
           sum(n.input_tokens) as input_tokens,
           sum(n.output_tokens) as output_tokens,
           extract(epoch from max(n.created_at) - min(n.created_at)) * 1000000000 as total_duration_ns,
           coalesce(sum(n.tool_calls), 0) as tool_calls,
           coalesce(array_agg(distinct n.model collate "C" order by n.model collate "C") filter (
             where n.cost_usd is null and (n.input_tokens > 0 or n.output_tokens > 0)), '{}') as unpriced_models
      from svc.nodes n
     where not exists (select from svc.session_edits d where d.session_id = n.session_id and d.deleted_at is not null)
           ${matching(filter)}`);
  if (!row) throw new Error('Cannot read stats: an aggregate has no row');
  return {
    ...row,
    total_cost: usd(row.total_cost) ?? 0,
    input_tokens: Number(row.input_tokens),
    output_tokens: Number(row.output_tokens),
    total_duration_ns: Number(row.total_duration_ns),
  };
}

/** `numeric` comes as text; null where nothing matches, which is the number 0. */
type StatsRow = Omit<Stats, Sum> & Record<Sum, string | null>;
type Sum = 'total_cost' | 'input_tokens' | 'output_tokens' | 'total_duration_ns';

const matching = ({ project, agent_name, model, provider, since, until }: StatsFilter): SQL =>
  sql.join([
    equal(sql`n.project`, project),
    equal(sql`n.agent_name`, agent_name),
    equal(sql`n.model`, model),
    equal(sql`n.provider`, provider),
    since === null ? sql`` : sql` and n.created_at >= ${since}::timestamptz`,
    until === null ? sql`` : sql` and n.created_at < ${until}::timestamptz`,
  ]);

/** Text that no column can hold equals none; as a parameter PostgreSQL would refuse it. */
function equal(column: SQL, value: string | null): SQL {
  if (value === null) return sql``;
  return storable(value) === value ? sql` and ${column} = ${value}` : sql` and false`;
}
