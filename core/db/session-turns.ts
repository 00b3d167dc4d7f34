/** Which turns of a session have not been read into nodes? Those whose nodes were thrown away, or that came from elsewhere. */
import { sql } from 'drizzle-orm';
import type { FormatId } from '../model/provider.ts';
import { instant } from './literals.ts';
import type { Sql } from './sql.ts';

export type UnreadTurn = {
  raw_turn_id: number;
  call_id: string;
  format: FormatId;
  provider: string;
  agent_name: string;
  project: string;
  requested_at: string;
  last_byte_at: string | null;
};

/** In the order of their ids, as the latest correction attributes them. Turns of no wire format have no nodes. */
export const unreadTurns = (
  db: Sql,
  { session_id, after, limit }: { session_id: string; after: number; limit: number },
): Promise<UnreadTurn[]> =>
  db.rows<UnreadTurn>(sql`
    select t.raw_turn_id, coalesce(t.svc_proxy_request_id, t.request_id, t.raw_turn_id::text) as call_id, t.format, t.provider,
           t.identity ->> 'agent_name' as agent_name, t.identity ->> 'project' as project,
           ${instant(sql`t.requested_at`)} as requested_at, ${instant(sql`t.last_byte_at`)} as last_byte_at
      from (select r.raw_turn_id from svc.raw_turns r where r.session_id = ${session_id}::uuid
            union
            select k.raw_turn_id from svc.raw_turn_corrections k where k.session_id = ${session_id}::uuid) c
      join svc.effective_turns e on e.raw_turn_id = c.raw_turn_id and e.session_id = ${session_id}::uuid
      join svc.raw_turns t on t.raw_turn_id = c.raw_turn_id
     where t.format <> '' and t.raw_turn_id > ${after}
       and not exists (select 1 from svc.calls k where k.raw_turn_id = t.raw_turn_id)
     order by t.raw_turn_id
     limit ${limit}`);
