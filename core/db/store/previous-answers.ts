/** The call whose response a request continues from. Providers that store the conversation get only an id in the request. */
import { type SQL, sql } from 'drizzle-orm';
import type { ConversationUpTo } from '../../call/previous-call.ts';
import { hexArray, pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';

/** `item_ids`: of the answer. `node_hash`: the answer, or the message before an empty one; null when it could not be read. `client_key`: the session's, in hex. */
export type PreviousAnswer = {
  call_id: string;
  session_id: string;
  client_key: string;
  item_ids: string[];
  node_hash: string | null;
  depth: number;
};

const SAME_ID = 16; // a local server may number its responses anew at each start
const SAME_ITEMS = 256; // the same of items, of which a request refers to several

/** The newest calls with this response id, the newest first. */
export const previousAnswers = (db: Sql, { response_id }: { response_id: string }): Promise<PreviousAnswer[]> =>
  db.rows<PreviousAnswer>(newest(sql`c.response_id = ${response_id} and c.response_id <> ''`));

/** `session_id`: then its calls alone; else those of the client, by its keys in hex, and with one of the items in `of_any` those of others. */
type ReferencedItems = { item_ids: string[]; of_any: string[]; client_keys: string[]; session_id: string | null };

/**
 * The newest calls with one of these items in their answers, the newest first; each for every such item. One look-up for each: PostgreSQL
 * takes a list of ids to be a good part of the table, and would read all of it.
 */
export const referencedAnswers = (
  db: Sql,
  { item_ids, of_any, client_keys, session_id }: ReferencedItems,
): Promise<PreviousAnswer[]> =>
  db.rows<PreviousAnswer>(
    newest(
      session_id === null
        ? sql`s.client_key = any(${hexArray(client_keys)}::bytea[]) or c.item_ids && ${pgArray(of_any)}::text[]`
        : sql`c.session_id = ${session_id}::uuid`,
      sql`(select k.*
             from unnest(${pgArray(item_ids)}::text[]) as i (id)
            cross join lateral (
                  select x.* from svc.calls x where x.item_ids @> array[i.id] and x.item_ids <> '{}' offset 0) k
            order by k.raw_turn_id desc
            limit ${SAME_ITEMS})`,
      SAME_ITEMS,
    ),
  );

/** The last calls of a conversation that have a response, the newest first; of any caller, since all share the conversation. */
export const lastAnswers = (
  db: Sql,
  { session_id, conversation_id, before }: ConversationUpTo,
): Promise<PreviousAnswer[]> =>
  db.rows<PreviousAnswer>(
    newest(sql`c.conversation_id = ${conversation_id} and c.conversation_id <> '' and c.leaf_hash is not null
               and c.session_id = ${session_id}::uuid and t.requested_at < ${before}::timestamptz`),
  );

const newest = (matching: SQL, calls = sql`svc.calls`, most = SAME_ID): SQL => sql`
  select coalesce(t.svc_proxy_request_id, t.request_id, t.raw_turn_id::text) as call_id, c.session_id,
         encode(s.client_key, 'hex') as client_key, c.item_ids, encode(coalesce(c.leaf_hash, c.tip_hash), 'hex') as node_hash,
         coalesce(n.depth, 0) as depth
    from ${calls} c
    join svc.raw_turns t on t.raw_turn_id = c.raw_turn_id
    join svc.sessions s on s.session_id = c.session_id
    left join svc.nodes n on n.session_id = c.session_id and n.node_hash = coalesce(c.leaf_hash, c.tip_hash)
   where ${matching}
   order by c.raw_turn_id desc
   limit ${most}`;
