/** What removed sessions have cost, by day and project: budgets count it, since it has been spent. */
import { type SQL, sql } from 'drizzle-orm';
import { claimMarkOf } from '../derive/transcript-claims.ts';
import type { Sql } from '../sql.ts';
import { isTranscripts } from '../store/insert-nodes.ts';

/** The first day of last month: no budget looks further back. */
const FIRST_DAY = sql`(date_trunc('month', now() at time zone 'UTC') - interval '1 month')::date`;

/**
 * Records the spend of sessions before it is removed, within the transaction by which budgets stop seeing it in the totals. No fold may be
 * able to commit to the sessions. A call that the transcripts of another session hold too is taken out when that session is derived again;
 * one that counts elsewhere already is not recorded, though a node of it may be left from before.
 *
 * What names a call, and whether it counts elsewhere, is in other tables than its cost. Rows of all are brought together by a group, never by a
 * join: of a table that has just grown the planner expects so little that it would compare each call with all others of its session.
 */
export async function recordRemovedSpend(tx: Sql, { session_ids, nodes }: RemovedSpend): Promise<void> {
  await tx.rows(sql`
    with facts (session_id, call, call_key, day, project, cost_usd, counts_elsewhere) as (
      select n.session_id, case when ${isTranscripts(sql`n`)} then n.call_id else n.raw_turn_id::text end,
             null::bytea, svc.day_of(n.created_at), n.project, n.cost_usd, false
        from svc.nodes n
       where n.session_id = any(${session_ids}::uuid[]) and ${nodes}
         and n.cost_usd > 0 and svc.day_of(n.created_at) >= ${FIRST_DAY}
       union all
      select k.session_id, k.raw_turn_id::text, k.call_key, null, null, null, false
        from svc.calls k where k.session_id = any(${session_ids}::uuid[])
       union all
      select t.session_id, t.call_id, t.call_key, null, null, null, t.owner_session_id <> t.session_id or t.owner_turn_id is not null
        from svc.transcript_claims t where t.session_id = any(${session_ids}::uuid[])),
    calls as materialized (
      select any_value(call_key) as call_key, any_value(day) as day, svc.project_digest(any_value(project)) as project_digest,
             sum(cost_usd) as cost_usd
        from facts
       group by session_id, call
      having sum(cost_usd) > 0 and not bool_or(counts_elsewhere)),
    spend as (${addSpend(sql`select day, project_digest, sum(cost_usd) as cost_usd from calls group by 1, 2`)})
    insert into svc.removed_calls as r (call_key, day, project_digest, cost_usd)
    select call_key, day, project_digest, sum(cost_usd)
      from calls
     where call_key is not null
     group by 1, 2, 3
     order by 1, 2, 3
    on conflict (call_key, day, project_digest) do update set cost_usd = r.cost_usd + excluded.cost_usd`);
  await tx.rows(sql`delete from svc.removed_spend where day < ${FIRST_DAY}`);
  await tx.rows(sql`delete from svc.removed_calls where day < ${FIRST_DAY}`);
}

/** @param sums rows of day, project_digest and cost_usd */
const addSpend = (sums: SQL): SQL => sql`
  insert into svc.removed_spend as r (day, project_digest, cost_usd)
  select day, project_digest, cost_usd from (${sums}) s order by 1, 2
  on conflict (day, project_digest) do update set cost_usd = r.cost_usd + excluded.cost_usd`;

/**
 * Takes out of the removed spend what the claims of a session say that it counts, within the transaction that stores the nodes of its
 * transcripts' calls. It does nothing while the session's own removal is under way, or where its claims have changed since they were read: the
 * session is derived again after either, which repeats this step.
 * @param claim_mark of the claims that the nodes were made with
 */
export const countReturned = (tx: Sql, session_id: string, claim_mark: number) =>
  tx.rows(sql`
    with returned as (
      delete from svc.removed_calls r
       where r.call_key in (
         select t.call_key from svc.transcript_claims t
          where t.session_id = ${session_id}::uuid and t.owner_session_id = t.session_id and t.owner_turn_id is null
            and (select exists (select from svc.removed_calls)) and not ${isRemoved(sql`t.session_id`)}
            and ${claimMarkOf(session_id)} = ${claim_mark}::bigint)
      returning r.day, r.project_digest, r.cost_usd)
    ${addSpend(sql`select day, project_digest, -sum(cost_usd) as cost_usd from returned group by 1, 2`)}`);

type RemovedSpend = {
  /** An array of uuid, as text. */
  session_ids: string;
  /** Which of their nodes: a condition on `n`, a row of `svc.nodes`. */
  nodes: SQL;
};

/** Its removal by retention is under way: its spend was recorded when that began. */
export const isRemoved = (session_id: SQL): SQL =>
  sql`exists (select from svc.session_removals m where m.session_id = ${session_id})`;
