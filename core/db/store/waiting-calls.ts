/** Calls that continue a response which is stored after them: two proxies, or a gateway that sends in parallel, keep no order. */
import { sql } from 'drizzle-orm';
import { instant, pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';

/** `previous_response_id` is the response that it waits for; `client_key` in hex; `named`: the caller named the session. */
export type StoredWaitingCall = {
  previous_response_id: string;
  requested_at: string;
  client_key: string;
  session_id: string;
  harness_id: string;
  harness_session_id: string;
  named: boolean;
};

/** The oldest first, each with the session that it counts for. */
export const waitingCalls = (db: Sql, { response_ids }: { response_ids: string[] }): Promise<StoredWaitingCall[]> =>
  db.rows<StoredWaitingCall>(sql`
    select c.previous_response_id, ${instant(sql`t.requested_at`)} as requested_at, encode(s.client_key, 'hex') as client_key, s.session_id, s.harness_id, s.harness_session_id,
           t.identity ->> 'harness_session_id' <> '' as named
      from svc.calls c
      join svc.raw_turns t on t.raw_turn_id = c.raw_turn_id
      join svc.effective_turns e on e.raw_turn_id = c.raw_turn_id
      join svc.sessions s on s.session_id = e.session_id
     where c.previous_response_id = any(${pgArray(response_ids)}::text[]) and c.previous_response_id <> ''
       and t.identity ->> 'continues_call_id' is null
     order by c.raw_turn_id`);
