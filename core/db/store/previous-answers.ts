/** The call whose response a request continues from. Providers that store the conversation get only an id in the request. */
import { type SQL, sql } from 'drizzle-orm';
import type { ConversationUpTo } from '../../call/previous-call.ts';
import type { Sql } from '../sql.ts';

/** `node_hash`: the answer, or the message before an empty one; null when it could not be read. `client_key`: the session's, in hex. */
export type PreviousAnswer = {
  call_id: string;
  session_id: string;
  client_key: string;
  node_hash: string | null;
  depth: number;
};

const SAME_ID = 16; // a local server may number its responses anew at each start

/** The newest calls with this response id, the newest first. */
export const previousAnswers = (db: Sql, { response_id }: { response_id: string }): Promise<PreviousAnswer[]> =>
  db.rows<PreviousAnswer>(newest(sql`c.response_id = ${response_id} and c.response_id <> ''`));

/** The last calls of a conversation that have a response, the newest first; of any caller, since all share the conversation. */
export const lastAnswers = (
  db: Sql,
  { session_id, conversation_id, before }: ConversationUpTo,
): Promise<PreviousAnswer[]> =>
  db.rows<PreviousAnswer>(
    newest(sql`c.conversation_id = ${conversation_id} and c.conversation_id <> '' and c.leaf_hash is not null
               and c.session_id = ${session_id}::uuid and t.requested_at < ${before}::timestamptz`),
  );

const newest = (matching: SQL): SQL => sql`
  select coalesce(t.svc_proxy_request_id, t.request_id, t.raw_turn_id::text) as call_id, c.session_id,
         encode(s.client_key, 'hex') as client_key, encode(coalesce(c.leaf_hash, c.tip_hash), 'hex') as node_hash,
         coalesce(n.depth, 0) as depth
    from svc.calls c
    join svc.raw_turns t on t.raw_turn_id = c.raw_turn_id
    join svc.sessions s on s.session_id = c.session_id
    left join svc.nodes n on n.session_id = c.session_id and n.node_hash = coalesce(c.leaf_hash, c.tip_hash)
   where ${matching}
   order by c.raw_turn_id desc
   limit ${SAME_ID}`;
