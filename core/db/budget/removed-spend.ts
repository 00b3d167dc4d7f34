/** What removed sessions have cost, by day and project: budgets count it, since it has been spent. */
import { type SQL, sql } from 'drizzle-orm';
import type { Sql } from '../sql.ts';

/** The first day of last month: no budget looks further back. */
const FIRST_DAY = sql`(date_trunc('month', now() at time zone 'UTC') - interval '1 month')::date`;

/**
 * Records the spend of nodes before they are removed, within the transaction by which budgets stop seeing it in the totals. A call that the
 * transcripts of another session hold too counts there from now on, so it is not recorded. No fold may be able to commit to the sessions.
 * @param nodes which: a condition on `n`, a row of `svc.nodes`
 * @param going sessions that count as removed: a condition on `o`, a row of `svc.transcript_claims`
 */
export async function recordRemovedSpend(tx: Sql, { nodes, going }: { nodes: SQL; going: SQL }): Promise<void> {
  await tx.rows(sql`
    insert into svc.removed_spend as r (day, project_digest, cost_usd)
    select svc.day_of(n.created_at), svc.project_digest(n.project), sum(n.cost_usd)
      from svc.nodes n
     where ${nodes} and n.cost_usd > 0 and svc.day_of(n.created_at) >= ${FIRST_DAY} and not ${countsElsewhere(going)}
     group by 1, 2
     order by 1, 2
    on conflict (day, project_digest) do update set cost_usd = r.cost_usd + excluded.cost_usd`);
  await tx.rows(sql`delete from svc.removed_spend where day < ${FIRST_DAY}`);
}

/** Its removal by retention is under way: its spend was recorded when that began. */
export const isRemoved = (session_id: SQL): SQL =>
  sql`exists (select from svc.session_removals m where m.session_id = ${session_id})`;

const countsElsewhere = (going: SQL): SQL => sql`
  exists (
    select from svc.transcript_claims o
     where o.session_id <> n.session_id and not ${going}
       and o.call_key in (
         select k.call_key from svc.calls k where k.raw_turn_id = n.raw_turn_id and k.session_id = n.session_id
          union all
         select t.call_key from svc.transcript_claims t where t.session_id = n.session_id and t.call_id = n.call_id))`;
