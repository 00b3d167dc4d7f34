/** The nodes of clients' unnamed sessions, as far as they decide where the clients' turns are placed. */
import { type SQL, sql } from 'drizzle-orm';
import { type ClientNode, type ClientNodes, spine, type Unplaced } from '../../call/placement.ts';
import { hexArray, instant, pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { isCarriedAnswer } from './carried-answers.ts';

/** By client (hex). Locks the clients until the transaction ends. */
export async function knownNodes(tx: Sql, turns: readonly Unplaced[]): Promise<Map<string, ClientNodes>> {
  const clients = new Map<string, ClientNodes>(turns.map(({ client_key }) => [client_key, new Map()]));
  if (turns.length === 0) return clients;
  const keys = [...clients.keys()].map((key) => BigInt.asIntN(64, BigInt(`0x${key.slice(0, 16)}`)));
  // A message that thousands of sessions have is as rare as any other to the planner, which would read and sort all of them. What else
  // the transaction reads, it finds by keys.
  await tx.rows(sql`
    select pg_advisory_xact_lock(k.key), set_config('enable_bitmapscan', 'off', true)
      from (select key from unnest(${pgArray(keys.map(String))}::bigint[]) as u (key) order by key) k`);
  const current = currentKeys(turns);
  const rows = [...(await decidingNodes(tx, turns)), ...(await answersInHistory(tx, turns))];
  for (const { client_key, ...node } of rows) {
    const known = clients.get(current.get(client_key) ?? client_key);
    if (!known) continue;
    known.set(node.node_hash, (known.get(node.node_hash) ?? new Map<string, ClientNode>()).set(node.session_id, node));
  }
  return clients;
}

/** Of each client that has sessions under a former key: its key now, by that one. */
export const currentKeys = (turns: readonly Client[]): Map<string, string> =>
  new Map(turns.flatMap(({ client_key, former_client_key: former }) => (former ? [[former, client_key]] : [])));

type Client = Pick<Unplaced, 'client_key' | 'former_client_key'>;

const ofClient = ({ client_key, former_client_key: former }: Client, node_hash: string): MessageKey[] =>
  [client_key, ...(former ? [former] : [])].map((key) => ({ client_key: key, node_hash }));

type Row = ClientNode & { client_key: string };
type MessageKey = { client_key: string; node_hash: string };

/** Of more sessions that hold the same message those that came last are looked at: thousands can begin with the same examples. */
const MOST_HOLDERS = { heads: 1_000, inner: 64 };

/**
 * For each message of the requests from the first answer on (for a retry without one, the last message): the newest heads, as many as
 * there are turns to place, and the newest session that holds it as an inner node.
 */
async function decidingNodes(tx: Sql, turns: readonly Unplaced[]): Promise<Row[]> {
  const messages = distinct(
    turns.flatMap(({ nodes, retry, ...client }) => {
      const chain = spine(nodes);
      const from = chain.findIndex(({ role }) => role === 'assistant');
      const links = from === -1 ? chain.slice(retry ? -1 : chain.length) : chain.slice(from);
      return links.flatMap(({ node_hash }) => ofClient(client, node_hash));
    }),
  );
  const holders = (condition: SQL, most: number) => sql`
    select s.session_id, s.opened_by, n.role, n.is_head, s.started_at, null::timestamptz as shown_at
      from (select h.session_id, h.role, h.is_head from svc.nodes h
             where h.node_hash = w.node_hash order by h.raw_turn_id desc limit ${most}) n
     cross join lateral (${unnamed(sql`n.session_id`)}) s
     where ${condition}
     order by s.started_at desc, s.session_id desc`;
  const heads = holders(sql`n.is_head`, MOST_HOLDERS.heads);
  const inner = holders(sql`not n.is_head`, MOST_HOLDERS.inner);
  return await rowsOf(tx, messages, sql`(${heads} limit ${turns.length}) union all (${inner} limit 1)`);
}

/** For each call's answer: the oldest session that has it in a request, without the call itself. */
async function answersInHistory(tx: Sql, turns: readonly Unplaced[]): Promise<Row[]> {
  const messages = distinct(
    turns.flatMap(({ nodes: { answer }, ...client }) => (answer ? ofClient(client, answer.node_hash) : [])),
  );
  return await rowsOf(
    tx,
    messages,
    sql`
      select s.session_id, s.opened_by, n.role, n.is_head, s.started_at, n.requested_at as shown_at
        from (select h.session_id, h.role, h.is_head, h.requested_at
                from svc.nodes h where h.node_hash = w.node_hash and ${isCarriedAnswer(sql`h`)} offset 0) n
       cross join lateral (${unnamed(sql`n.session_id`)}) s
       order by s.started_at, s.session_id
       limit 1`,
  );
}

/**
 * The session, if it is one of the client of `w` and named by its first request. The query goes from the hash to the session to that
 * request, row by row: `offset 0` keeps the planner, which may have no statistics of a new database, from starting at the other end,
 * where a client has any number of sessions.
 */
const unnamed = (session_id: SQL): SQL => sql`
  select u.session_id, u.opened_by, u.started_at
    from (select v.session_id, v.harness_session_id as opened_by, v.started_at from svc.sessions v
           where v.session_id = ${session_id} and v.client_key = w.client_key and v.harness_id = 'unknown'
          offset 0) u
   where exists (select 1 from svc.raw_turns o where o.svc_proxy_request_id = u.opened_by)
      or exists (select 1 from svc.raw_turns o where o.request_id = u.opened_by)`;

async function rowsOf(tx: Sql, messages: readonly MessageKey[], holders: SQL): Promise<Row[]> {
  if (messages.length === 0) return [];
  return await tx.rows<Row>(sql`
    select encode(w.client_key, 'hex') as client_key, k.session_id, k.opened_by, encode(w.node_hash, 'hex') as node_hash,
           k.role, k.is_head, ${instant(sql`k.started_at`)} as started_at, ${instant(sql`k.shown_at`)} as shown_at
      from unnest(${hexArray(messages.map((node) => node.client_key))}::bytea[],
                  ${hexArray(messages.map((node) => node.node_hash))}::bytea[]) as w (client_key, node_hash)
     cross join lateral (${holders}) k`);
}

const distinct = (messages: readonly MessageKey[]): MessageKey[] => [
  ...new Map(messages.map((node) => [`${node.client_key} ${node.node_hash}`, node])).values(),
];
