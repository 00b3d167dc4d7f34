/** The turns of a session, with what is needed to read them again. */
import { type SQL, sql } from 'drizzle-orm';
import { instant } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { hasBodies } from '../store/stored-turns.ts';
import { effectiveAgent } from './effective-identity.ts';

export type TurnToRead = {
  raw_turn_id: number;
  call_id: string;
  continues_call_id: string;
  format: string; // '' for none that could be read
  url: string; // path and query, credentials replaced
  kept: boolean; // its bodies were stored
  harness_id: string;
  provider: string;
  agent_name: string;
  project: string;
  requested_at: string;
  last_byte_at: string | null;
};

/** In the order of their ids, as the latest correction attributes them. Transcripts hold no calls. */
export const turnsToRead = (
  db: Sql,
  { session_id, after, limit }: { session_id: string; after: number; limit: number },
): Promise<TurnToRead[]> =>
  db.rows<TurnToRead>(sql`
    select t.raw_turn_id, coalesce(t.svc_proxy_request_id, t.request_id, t.raw_turn_id::text) as call_id,
           coalesce(t.identity ->> 'continues_call_id', '') as continues_call_id, t.format, t.url, s.harness_id, t.provider,
           ${hasBodies} as kept,
           ${effectiveAgent(sql`e.correction_id is not null`)} as agent_name, t.identity ->> 'project' as project,
           ${instant(sql`t.requested_at`)} as requested_at, ${instant(sql`t.last_byte_at`)} as last_byte_at
      from (select r.raw_turn_id from svc.raw_turns r where r.session_id = ${session_id}::uuid
            union
            select k.raw_turn_id from svc.raw_turn_corrections k where k.session_id = ${session_id}::uuid) c
      join svc.effective_turns e on e.raw_turn_id = c.raw_turn_id and e.session_id = ${session_id}::uuid
      join svc.raw_turns t on t.raw_turn_id = c.raw_turn_id
      join svc.sessions s on s.session_id = e.session_id
     where t.source = 'wire' and t.raw_turn_id > ${after}
     order by t.raw_turn_id
     limit ${limit}`);

/**
 * The newest correction that concerns a session; 0: none. A reading of the session from before it may have too many or too few turns.
 * Each turn's newest is looked up by the turn: a condition on corrections would be put to all that there are, whosever they are.
 */
export const lastCorrectionOf = (session_id: SQL): SQL => sql`
  (select coalesce(max(n.correction_id), 0)
     from (select o.raw_turn_id from svc.raw_turns o where o.session_id = ${session_id}
           union all
           select k.raw_turn_id from svc.raw_turn_corrections k where k.session_id = ${session_id}) c
    cross join lateral (
      select k.correction_id
        from svc.raw_turn_corrections k
       where k.raw_turn_id = c.raw_turn_id
       order by k.correction_id desc
       limit 1) n)`;

export async function lastCorrection(db: Sql, { session_id }: { session_id: string }): Promise<number> {
  const [row] = await db.rows<{ correction_id: number }>(sql`
    select ${lastCorrectionOf(sql`${session_id}::uuid`)} as correction_id`);
  return row?.correction_id ?? 0;
}
