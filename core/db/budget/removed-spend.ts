/** What removed sessions have cost, by day and project: budgets count it, since it has been spent. */
import { type SQL, sql } from 'drizzle-orm';
import type { Sql } from '../sql.ts';

/** The first day of last month: no budget looks further back. */
const FIRST_DAY = sql`(date_trunc('month', now() at time zone 'UTC') - interval '1 month')::date`;

/**
 * Records the spend of sessions before it is removed, within the transaction by which budgets stop seeing it in the totals. A call that the
 * transcripts of another session hold too counts there from now on, so it is not recorded. No fold may be able to commit to the sessions.
 */
export async function recordRemovedSpend(tx: Sql, { session_ids, nodes, going }: RemovedSpend): Promise<void> {
  await tx.rows(sql`
    insert into svc.removed_spend as r (day, project_digest, cost_usd)
    select svc.day_of(n.created_at), svc.project_digest(n.project), sum(n.cost_usd)
      from svc.nodes n
     where n.session_id = any(${session_ids}::uuid[]) and ${nodes}
       and n.cost_usd > 0 and svc.day_of(n.created_at) >= ${FIRST_DAY}
       and (n.session_id, n.raw_turn_id) not in (${claimedElsewhere('raw_turn_id', sql`svc.calls`, { session_ids, going })})
       and (n.session_id, n.call_id) not in (${claimedElsewhere('call_id', sql`svc.transcript_claims`, { session_ids, going })})
     group by 1, 2
     order by 1, 2
    on conflict (day, project_digest) do update set cost_usd = r.cost_usd + excluded.cost_usd`);
  await tx.rows(sql`delete from svc.removed_spend where day < ${FIRST_DAY}`);
}

type RemovedSpend = {
  /** An array of uuid, as text. */
  session_ids: string;
  /** Which of their nodes: a condition on `n`, a row of `svc.nodes`. */
  nodes: SQL;
  /** Sessions that count as removed: a condition on `o`, a row of `svc.transcript_claims`. */
  going: SQL;
};

/** Found once for all sessions, and hashed: looked for at each node, all claims of a session are compared for each of its calls. */
const claimedElsewhere = (
  column: 'raw_turn_id' | 'call_id',
  calls: SQL,
  { session_ids, going }: Pick<RemovedSpend, 'session_ids' | 'going'>,
): SQL => sql`
  select k.session_id, k.${sql.identifier(column)}
    from ${calls} k
    join svc.transcript_claims o on o.call_key = k.call_key
   where k.session_id = any(${session_ids}::uuid[]) and o.session_id <> k.session_id and not ${going}`;

/** Its removal by retention is under way: its spend was recorded when that began. */
export const isRemoved = (session_id: SQL): SQL =>
  sql`exists (select from svc.session_removals m where m.session_id = ${session_id})`;
