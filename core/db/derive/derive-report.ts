/** What has derivation made of the raw turns? Counts over the projection as it stands. */
import { type SQL, sql } from 'drizzle-orm';
import type { DeriveReport } from '../../model/derive-report.ts';
import type { Sql } from '../sql.ts';

type Counted = Omit<DeriveReport, 'sessions' | 'pending' | 'parked'>;

const NAMED_FAILURES = 20;

/** Of one session, or of all when `session_id` is null. */
export async function deriveReport(db: Sql, { session_id }: { session_id: string | null }): Promise<Counted> {
  const ours: SQL = session_id === null ? sql`true` : sql`x.session_id = ${session_id}::uuid`;
  const [counts] = await db.rows<Omit<Counted, 'parse_failures'>>(sql`
    with turns as (select count(*) as n from svc.effective_turns x where ${ours}),
         calls as (select count(*) filter (where x.unreadable = '' and x.leaf_hash is not null) as parsed from svc.calls x where ${ours}),
         kinds as (
           select k.key, sum(k.value::bigint)::bigint as n
             from svc.session_rollups x cross join lateral jsonb_each_text(x.kind_counts) k
            where ${ours} group by k.key),
         node_kinds as (
           select coalesce(nullif(x.injected, ''), x.role) as key, count(*) as n from svc.nodes x where ${ours} group by 1)
    select t.n as raw_turns, c.parsed as parsed_turns, t.n - c.parsed as raw_only_turns,
           (select coalesce(sum(k.n), 0)::bigint from node_kinds k) as nodes,
           (select count(*) from svc.traces x where ${ours}) as traces,
           (select count(*) from svc.spans x where ${ours}) as spans,
           (select coalesce(jsonb_object_agg(k.key, k.n order by k.key), '{}') from kinds k) as call_kinds,
           (select coalesce(jsonb_object_agg(k.key, k.n order by k.key), '{}') from node_kinds k) as node_kinds
      from turns t cross join calls c`);
  const parse_failures = await db.rows<Counted['parse_failures'][number]>(sql`
    select x.raw_turn_id, x.unreadable as reason
      from svc.calls x
     where x.unreadable <> '' and ${ours}
     order by x.raw_turn_id desc
     limit ${NAMED_FAILURES}`);
  const none = {
    raw_turns: 0,
    parsed_turns: 0,
    raw_only_turns: 0,
    nodes: 0,
    traces: 0,
    spans: 0,
    call_kinds: {},
    node_kinds: {},
  };
  return { ...(counts ?? none), parse_failures };
}
