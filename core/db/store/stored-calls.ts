/** Which of these calls are in the log? A call comes twice when the answer to its sender was lost. */
import { sql } from 'drizzle-orm';
import { pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';

/** Where a call stands: its raw turn, and the session that counts for it. */
export type StoredCall = {
  call_id: string;
  raw_turn_id: number;
  session_id: string;
  harness_id: string;
  harness_session_id: string;
};

/** By the id that the proxy gave them or, for ingested ones, their sender. */
export const storedCalls = (db: Sql, { call_ids }: { call_ids: string[] }): Promise<StoredCall[]> =>
  db.rows<StoredCall>(sql`
    with wanted as (
      select t.svc_proxy_request_id as call_id, t.raw_turn_id
        from svc.raw_turns t
       where t.svc_proxy_request_id = any(${pgArray(call_ids)}::text[])
      union
      select t.request_id, t.raw_turn_id
        from svc.raw_turns t
       where t.request_id = any(${pgArray(call_ids)}::text[]) and t.svc_proxy_request_id is null)
    select w.call_id, w.raw_turn_id, e.session_id, s.harness_id, s.harness_session_id
      from wanted w
      join svc.effective_turns e on e.raw_turn_id = w.raw_turn_id
      join svc.sessions s on s.session_id = e.session_id`);
