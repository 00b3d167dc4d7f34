/** Which turns does a session have, as far as they have to be known to be read again? */
import { sql } from 'drizzle-orm';
import { instant } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { hasBodies } from '../store/kept-turns.ts';

export type TurnToRead = {
  raw_turn_id: number;
  call_id: string;
  continues_call_id: string;
  format: string; // '' for none that could be read
  kept: boolean; // with its bodies
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
           coalesce(t.identity ->> 'continues_call_id', '') as continues_call_id, t.format, t.harness_id, t.provider,
           ${hasBodies} as kept,
           t.identity ->> 'agent_name' as agent_name, t.identity ->> 'project' as project,
           ${instant(sql`t.requested_at`)} as requested_at, ${instant(sql`t.last_byte_at`)} as last_byte_at
      from (select r.raw_turn_id from svc.raw_turns r where r.session_id = ${session_id}::uuid
            union
            select k.raw_turn_id from svc.raw_turn_corrections k where k.session_id = ${session_id}::uuid) c
      join svc.effective_turns e on e.raw_turn_id = c.raw_turn_id and e.session_id = ${session_id}::uuid
      join svc.raw_turns t on t.raw_turn_id = c.raw_turn_id
     where t.source = 'wire' and t.raw_turn_id > ${after}
     order by t.raw_turn_id
     limit ${limit}`);
