/** What is known of the unnamed sessions of the clients whose turns are to be placed? As much of it as can decide. */
import { type SQL, sql } from 'drizzle-orm';
import type { ChainLink, KnownNode } from '../../capture/conversation.ts';
import type { CallNodes } from '../../model/node.ts';
import { hexArray, instant, pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { isCarriedAnswer } from './carried-answers.ts';
import type { SessionKey, Unplaced } from './placement.ts';

/** `opened_by` is the request that opened the session, and its key. */
export type Remembered = KnownNode & {
  opened_by: string;
  /** When a request first showed it, where it is an answer and the call that gave it is not known; else null. */
  shown_at: string | null;
};

/** By hash of the message, then by session. */
export type Known = Map<string, Map<string, Remembered>>;

/** The messages of the request, without what a harness injects. */
export const spine = (nodes: CallNodes): ChainLink[] => nodes.messages.filter(({ injected }) => injected === '');

/** Adds a turn that has been placed, for those after it in the batch. */
export function remember(
  known: Known,
  { nodes, requested_at }: Unplaced,
  { session_id, harness_session_id }: SessionKey,
  started_at: string,
): void {
  const links = nodes.answer ? [...spine(nodes), nodes.answer] : spine(nodes);
  for (const [index, { node_hash, role }] of links.entries()) {
    const sessions = known.get(node_hash) ?? new Map<string, Remembered>();
    known.set(node_hash, sessions);
    const stands = sessions.get(session_id);
    const is_head = index === links.length - 1;
    if (stands && !is_head) stands.is_head = false;
    if (stands && nodes.answer?.node_hash === node_hash) stands.shown_at = null;
    if (stands) continue;
    const shown_at = role === 'assistant' && links[index] !== nodes.answer ? requested_at : null;
    const session = { session_id, started_at, opened_by: harness_session_id };
    sessions.set(session_id, { ...session, node_hash, role, is_head, shown_at });
  }
}

/** By client (hex). Locks the clients until the transaction ends. */
export async function knownNodes(tx: Sql, turns: readonly Unplaced[]): Promise<Map<string, Known>> {
  const clients = new Map<string, Known>(turns.map(({ client_key }) => [client_key, new Map()]));
  if (turns.length === 0) return clients;
  const keys = [...clients.keys()].map((key) => BigInt.asIntN(64, BigInt(`0x${key.slice(0, 16)}`)));
  await tx.rows(sql`
    select pg_advisory_xact_lock(k.key)
      from (select key from unnest(${pgArray(keys.map(String))}::bigint[]) as u (key) order by key) k`);
  const rows = [...(await deciding(tx, turns)), ...(await answersInHistory(tx, turns))];
  for (const { client_key, ...node } of rows) {
    const known = clients.get(client_key);
    if (!known) continue;
    known.set(node.node_hash, (known.get(node.node_hash) ?? new Map<string, Remembered>()).set(node.session_id, node));
  }
  return clients;
}

type Row = Remembered & { client_key: string };
type Wanted = { client_key: string; node_hash: string };

/**
 * Of each message of the requests from the first answer on (and the last one of a retry) the newest heads, as many as there are turns
 * to place, and the newest session that holds it inside.
 */
async function deciding(tx: Sql, turns: readonly Unplaced[]): Promise<Row[]> {
  const wanted = distinct(
    turns.flatMap(({ client_key, nodes, retry }) => {
      const chain = spine(nodes);
      const from = chain.findIndex(({ role }) => role === 'assistant');
      const some = from === -1 ? chain.slice(retry ? -1 : chain.length) : chain.slice(from);
      return some.map(({ node_hash }) => ({ client_key, node_hash }));
    }),
  );
  const holders = (which: SQL) => sql`
    select s.session_id, s.opened_by, n.role, n.is_head, s.started_at, null::timestamptz as shown_at
      from (select h.session_id, h.role, h.is_head from svc.nodes h where h.node_hash = w.node_hash and ${which} offset 0) n
     cross join lateral (${unnamed(sql`n.session_id`)}) s
     order by s.started_at desc, s.session_id desc`;
  return await rowsOf(
    tx,
    wanted,
    sql`(${holders(sql`h.is_head`)} limit ${turns.length}) union all (${holders(sql`not h.is_head`)} limit 1)`,
  );
}

/** Of each call's answer the oldest session that shows it in a request, without the call that gave it. */
async function answersInHistory(tx: Sql, turns: readonly Unplaced[]): Promise<Row[]> {
  const wanted = distinct(
    turns.flatMap(({ client_key, nodes: { answer } }) => (answer ? { client_key, node_hash: answer.node_hash } : [])),
  );
  return await rowsOf(
    tx,
    wanted,
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
 * The session, if it is one of the client of `w` that its first request opened. From the hash to the session to its opening, row by
 * row: `offset 0` keeps the planner, which may know nothing of a young database, from beginning at the other end, where a client has
 * any number of sessions.
 */
const unnamed = (session_id: SQL): SQL => sql`
  select u.session_id, u.opened_by, u.started_at
    from (select v.session_id, v.harness_session_id as opened_by, v.started_at from svc.sessions v
           where v.session_id = ${session_id} and v.client_key = w.client_key and v.harness_id = 'unknown'
          offset 0) u
   where exists (select from svc.raw_turns o where o.svc_proxy_request_id = u.opened_by)
      or exists (select from svc.raw_turns o where o.request_id = u.opened_by)`;

async function rowsOf(tx: Sql, wanted: readonly Wanted[], holders: SQL): Promise<Row[]> {
  if (wanted.length === 0) return [];
  return await tx.rows<Row>(sql`
    select encode(w.client_key, 'hex') as client_key, k.session_id, k.opened_by, encode(w.node_hash, 'hex') as node_hash,
           k.role, k.is_head, ${instant(sql`k.started_at`)} as started_at, ${instant(sql`k.shown_at`)} as shown_at
      from unnest(${hexArray(wanted.map((node) => node.client_key))}::bytea[],
                  ${hexArray(wanted.map((node) => node.node_hash))}::bytea[]) as w (client_key, node_hash)
     cross join lateral (${holders}) k`);
}

const distinct = (wanted: readonly Wanted[]): Wanted[] => [
  ...new Map(wanted.map((node) => [`${node.client_key} ${node.node_hash}`, node])).values(),
];
