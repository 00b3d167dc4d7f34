/** Finds calls that are in the log already. A call comes twice when the response to its sender was lost. */
import { sql } from 'drizzle-orm';
import { pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';

/** A stored call: its raw turn, and the session that it counts for. */
export type StoredCall = {
  call_id: string;
  raw_turn_id: number;
  session_id: string;
  harness_id: string;
  harness_session_id: string;
};

/** By the id that the proxy assigned or, for ingested ones, their sender. */
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
