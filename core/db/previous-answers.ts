/** Which call gave the answer that a request names? Providers that keep the conversation are told its id and nothing more. */
import { sql } from 'drizzle-orm';
import { pgArray } from './literals.ts';
import type { Sql } from './sql.ts';

/** `node_hash`: the answer, or for an empty one the message before it; null when it could not be read. `client_key` is that of the session, in hex. */
export type PreviousAnswer = {
  response_id: string;
  call_id: string;
  session_id: string;
  client_key: string;
  node_hash: string | null;
  depth: number;
};

const SAME_ID = 16; // a local server may number its answers anew at each start

/** The newest calls with these answers, the newest first. */
export const previousAnswers = (db: Sql, { response_ids }: { response_ids: string[] }): Promise<PreviousAnswer[]> =>
  db.rows<PreviousAnswer>(sql`
    select w.response_id, k.call_id, k.session_id, k.client_key, k.node_hash, k.depth
      from unnest(${pgArray(response_ids)}::text[]) as w (response_id)
     cross join lateral (
       select coalesce(t.svc_proxy_request_id, t.request_id, t.raw_turn_id::text) as call_id, c.session_id,
              encode(s.client_key, 'hex') as client_key, encode(coalesce(c.leaf_hash, c.tip_hash), 'hex') as node_hash, coalesce(n.depth, 0) as depth,
              c.raw_turn_id
         from svc.calls c
         join svc.raw_turns t on t.raw_turn_id = c.raw_turn_id
         join svc.sessions s on s.session_id = c.session_id
         left join svc.nodes n on n.session_id = c.session_id and n.node_hash = coalesce(c.leaf_hash, c.tip_hash)
        where c.response_id = w.response_id and c.response_id <> ''
        order by c.raw_turn_id desc
        limit ${SAME_ID}) k
     order by k.raw_turn_id desc`);
