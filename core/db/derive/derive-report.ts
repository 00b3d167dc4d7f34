/** The report of derivation: counts over the current projection. */
import { type SQL, sql } from 'drizzle-orm';
import type { DeriveReport } from '../../model/derive-report.ts';
import type { TranscriptReport } from '../../model/transcript-report.ts';
import type { Sql } from '../sql.ts';

type Counted = Omit<DeriveReport, 'sessions' | 'pending' | 'parked'>;
type Rows = Pick<
  Counted,
  'raw_turns' | 'parsed_turns' | 'raw_only_turns' | 'nodes' | 'traces' | 'spans' | 'call_kinds' | 'node_kinds'
>;

const MOST_FAILURES = 20;

/** Of one session, or of all when `session_id` is null. */
export async function deriveReport(db: Sql, { session_id }: { session_id: string | null }): Promise<Counted> {
  const scope: SQL = session_id === null ? sql`true` : sql`x.session_id = ${session_id}::uuid`;
  const [counts] = await db.rows<Rows>(sql`
    with turns as (
           select count(*) as n, count(*) filter (where r.source = 'transcript') as transcripts
             from svc.effective_turns x join svc.raw_turns r on r.raw_turn_id = x.raw_turn_id
            where ${scope}),
         calls as (select count(*) filter (where x.unreadable = '' and x.leaf_hash is not null) as parsed from svc.calls x where ${scope}),
         kinds as (
           select k.key, sum(k.value::bigint)::bigint as n
             from svc.session_rollups x cross join lateral jsonb_each_text(x.kind_counts) k
            where ${scope} group by k.key),
         node_kinds as (
           select coalesce(nullif(x.injected, ''), x.role) as key, count(*) as n from svc.nodes x where ${scope} group by 1)
    select t.n as raw_turns, c.parsed as parsed_turns, t.n - t.transcripts - c.parsed as raw_only_turns,
           (select coalesce(sum(k.n), 0)::bigint from node_kinds k) as nodes,
           (select count(*) from svc.traces x where ${scope}) as traces,
           (select count(*) from svc.spans x where ${scope}) as spans,
           (select coalesce(jsonb_object_agg(k.key, k.n order by k.key), '{}') from kinds k) as call_kinds,
           (select coalesce(jsonb_object_agg(k.key, k.n order by k.key), '{}') from node_kinds k) as node_kinds
      from turns t cross join calls c`);
  const parse_failures = await db.rows<Counted['parse_failures'][number]>(sql`
    select x.raw_turn_id, x.unreadable as reason
      from svc.calls x
     where x.unreadable <> '' and ${scope}
     order by x.raw_turn_id desc
     limit ${MOST_FAILURES}`);
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
  return { ...(counts ?? none), parse_failures, ...(await sideCalls(db, scope)), ...(await transcripts(db, scope)) };
}

type SideCalls = Pick<
  Counted,
  'judged_actions' | 'attached_verdicts' | 'unattached_actions' | 'web_summaries_attached' | 'plans_attached'
>;

/** The calls beside the conversation: how many are attached to the tool call that they were made for. */
async function sideCalls(db: Sql, scope: SQL): Promise<SideCalls> {
  const [counts] = await db.rows<Omit<SideCalls, 'unattached_actions'>>(sql`
    select count(*) filter (where x.call_kind like 'offshoot:permission-check:%') as judged_actions,
           count(p.span_id) filter (where x.call_kind like 'offshoot:permission-check:%') as attached_verdicts,
           count(p.span_id) filter (where x.call_kind = 'offshoot:web-summary') as web_summaries_attached,
           count(p.span_id) filter (where x.call_kind = 'offshoot:plan-name-gen') as plans_attached
      from svc.spans x
      left join svc.spans p on p.session_id = x.session_id and p.trace_id = x.trace_id and p.span_id = x.parent_span_id and p.kind = 'tool'
     where x.kind = 'llm' and x.call_kind like 'offshoot:%' and ${scope}`);
  const unattached_actions = await db.rows<SideCalls['unattached_actions'][number]>(sql`
    select x.trace_id, x.span_id
      from svc.spans x
     where x.kind = 'llm' and x.call_kind like 'offshoot:permission-check:%' and ${scope}
       and not exists (
         select 1 from svc.spans p where p.session_id = x.session_id and p.trace_id = x.trace_id and p.span_id = x.parent_span_id and p.kind = 'tool')
     order by x.started_at desc, x.span_id
     limit ${MOST_FAILURES}`);
  const none = { judged_actions: 0, attached_verdicts: 0, web_summaries_attached: 0, plans_attached: 0 };
  return { ...(counts ?? none), unattached_actions };
}

async function transcripts(db: Sql, scope: SQL): Promise<Pick<Counted, 'reconcile' | 'transcript_projection'>> {
  const [threads] = await db.rows<{ threads_anchored: number; threads_unanchored: number }>(sql`
    select count(p.span_id) as threads_anchored, count(*) - count(p.span_id) as threads_unanchored
      from svc.spans x
      left join svc.spans p on p.session_id = x.session_id and p.trace_id = x.trace_id and p.span_id = x.parent_span_id and p.kind = 'tool'
     where x.kind = 'agent' and x.parent_span_id is not null and ${scope}`);
  const [read] = await db.rows<Omit<TranscriptReport, 'omitted_types'>>(sql`
    select ${total('files')}, ${total('records')}, ${total('projected_records')}, ${total('omitted_records')},
           ${total('suppressed_by_wire')}, ${total('subagent_files')}, ${total('interacted_rows')}
      from svc.transcript_readings x
     where ${scope}`);
  const [omitted] = await db.rows<{ omitted_types: Record<string, number> }>(sql`
    select coalesce(jsonb_object_agg(k.key, k.n order by k.key), '{}') as omitted_types
      from (select o.key, sum(o.value::bigint)::bigint as n
              from svc.transcript_readings x cross join lateral jsonb_each_text(x.report -> 'omitted_types') o
             where ${scope} group by o.key) k`);
  const { files = 0, records = 0, projected_records = 0, omitted_records = 0, suppressed_by_wire = 0 } = read ?? {};
  const { threads_anchored = 0, threads_unanchored = 0 } = threads ?? {};
  const { subagent_files: subagent_forks = 0, interacted_rows = 0 } = read ?? {};
  const omitted_types = omitted?.omitted_types ?? {};
  return {
    reconcile: { transcript_files: files, subagent_forks, threads_anchored, threads_unanchored, interacted_rows },
    transcript_projection: { files, records, projected_records, omitted_records, omitted_types, suppressed_by_wire },
  };
}

const total = (name: keyof Omit<TranscriptReport, 'omitted_types'>): SQL =>
  sql.raw(`coalesce(sum((x.report ->> '${name}')::bigint), 0)::bigint as ${name}`);
