/** Calls that continue a response which is stored after them: two proxies, or a gateway that sends in parallel, keep no order. */
import { type SQL, sql } from 'drizzle-orm';
import { instant, pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';

/**
 * `waits_for`: the id of the response, or of an item of it; `client_key` in hex; `named`: the caller named the session; `is_answered`: the
 * session has such a response by now.
 */
export type StoredWaitingCall = {
  waits_for: string;
  requested_at: string;
  client_key: string;
  session_id: string;
  harness_id: string;
  harness_session_id: string;
  named: boolean;
  is_answered: boolean;
};

/** The oldest first, each with the session that it counts for. */
export const waitingCalls = (db: Sql, { ids }: { ids: string[] }): Promise<StoredWaitingCall[]> => {
  const one_of: SQL = sql`any(${pgArray(ids)}::text[])`;
  // two queries, since each has an index of its own
  return db.rows<StoredWaitingCall>(sql`
    select w.waits_for, ${instant(sql`w.requested_at`)} as requested_at, encode(s.client_key, 'hex') as client_key, s.session_id,
           s.harness_id, s.harness_session_id, w.named, w.is_answered
      from (select c.raw_turn_id, c.previous_response_id as waits_for, t.requested_at, t.identity ->> 'harness_session_id' <> '' as named,
                   exists (select 1 from svc.calls a
                            where a.response_id = c.previous_response_id and a.response_id <> '' and a.session_id = c.session_id) as is_answered
              from svc.calls c
              join svc.raw_turns t on t.raw_turn_id = c.raw_turn_id
             where c.previous_response_id = ${one_of} and c.previous_response_id <> ''
               and t.identity ->> 'continues_call_id' is null
            union all
            select c.raw_turn_id, c.item_reference, t.requested_at, t.identity ->> 'harness_session_id' <> '',
                   exists (select 1 from svc.calls a
                            where a.item_ids @> array[c.item_reference] and a.item_ids <> '{}' and a.session_id = c.session_id)
              from svc.calls c
              join svc.raw_turns t on t.raw_turn_id = c.raw_turn_id
             where c.item_reference = ${one_of} and c.item_reference <> '') w
      join svc.effective_turns e on e.raw_turn_id = w.raw_turn_id
      join svc.sessions s on s.session_id = e.session_id
     order by w.raw_turn_id`);
};
