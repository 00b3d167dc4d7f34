/** Claims: the calls that a session's transcripts contain, and which of them count for another session. */
import { type SQL, sql } from 'drizzle-orm';
import type { CallClaim } from '../../derive/transcript/linked-calls.ts';
import { jsonText } from '../literals.ts';
import { pipelined } from '../pipelined.ts';
import type { Sql } from '../sql.ts';
import { lockClaims, settleOwners } from '../store/call-owners.ts';
import { notifyDirty } from '../store/mark-dirty.ts';
import { useIndexes } from '../use-indexes.ts';

/** `inherited`: the session in which a call counts, where that is not as this session claims. `mark`: of the last change. */
export type Claimed = { mark: number; inherited: { call_key: string; session_id: string }[] };

/**
 * Replaces the session's claims by these, and decides where all of those calls count; other sessions for which that changes something
 * are derived again. An existing claim keeps the time at which its file had ended when it was first made. Most calls nobody else has: they
 * count here, which is written with the claim itself.
 */
export const claimCalls = (
  db: Sql,
  { session_id, claims }: { session_id: string; claims: readonly CallClaim[] },
): Promise<Claimed> =>
  db.transaction(async (tx) => {
    await pipelined([useIndexes(tx), lockClaims(tx, 'to claim')]);
    const firstByKey = new Map([...claims].reverse().map((claim) => [claim.call_key, claim]));
    const rows = jsonText([...firstByKey.values()]);
    const changed = await tx.rows<{ call_key: string | null }>(sql`
      with claimed as materialized (
        select k.*, not exists (select 1 from svc.transcript_claims o where o.call_key = k.call_key)
                    and not exists (select 1 from svc.calls s where s.call_key = k.call_key) as is_only
          from (select decode(r.call_key, 'hex') as call_key, r.call_id, r.is_own, r.file_ended_at
                  from json_to_recordset(${rows}::json)
                    as r (call_key text, call_id text, is_own boolean, file_ended_at timestamptz)) k),
      gone as (
        delete from svc.transcript_claims t
         where t.session_id = ${session_id}::uuid and not exists (select 1 from claimed c where c.call_key = t.call_key)
        returning t.call_key),
      written as (
        insert into svc.transcript_claims as t (session_id, call_key, call_id, is_own, file_ended_at, owner_session_id, owner_call_id)
        select ${session_id}::uuid, c.call_key, c.call_id, c.is_own, c.file_ended_at,
               case when c.is_only then ${session_id}::uuid end, case when c.is_only then c.call_id else '' end
          from claimed c
        on conflict (session_id, call_key) do update set call_id = excluded.call_id, is_own = excluded.is_own
         where (t.call_id, t.is_own) is distinct from (excluded.call_id, excluded.is_own)
        returning t.call_key),
      changed as materialized (
        select g.call_key, false as is_settled from gone g
         union
        select w.call_key, c.is_only from written w join claimed c on c.call_key = w.call_key)
      select encode(x.call_key, 'hex') as call_key from changed x where not x.is_settled
       union all
      (select null from changed x where x.is_settled limit 1)`);
    // A row without a key stands for all that are settled.
    const contested = changed.flatMap(({ call_key }) => call_key ?? []);
    const resettled = await settleOwners(tx, contested, session_id);
    const [, , current] = await pipelined([
      contested.length < changed.length && !resettled.includes(session_id) ? countClaims(tx, session_id) : null,
      changed.length > 0 ? notifyDirty(tx) : null,
      currentClaims(tx, { session_id }),
    ]);
    return current;
  });

/** As `settleOwners` counts that claims have another owner. */
const countClaims = (tx: Sql, session_id: string) =>
  tx.rows(sql`
    insert into svc.transcript_claim_marks as m (session_id, mark) values (${session_id}::uuid, 1)
    on conflict (session_id) do update set mark = m.mark + 1`);

/** The current claims. */
export async function currentClaims(db: Sql, { session_id }: { session_id: string }): Promise<Claimed> {
  const [found] = await db.rows<Claimed>(sql`
    select ${claimMarkOf(session_id)} as mark,
           (select coalesce(jsonb_agg(jsonb_build_object('call_key', encode(t.call_key, 'hex'), 'session_id', t.owner_session_id)), '[]')
              from svc.transcript_claims t
             where t.session_id = ${session_id}::uuid and (t.owner_session_id <> t.session_id or t.owner_turn_id is not null)) as inherited`);
  return found ?? { mark: 0, inherited: [] };
}

export const claimMarkOf = (session_id: string): SQL =>
  sql`coalesce((select m.mark from svc.transcript_claim_marks m where m.session_id = ${session_id}::uuid), 0)`;
