/** Which session does each turn of a batch belong to? Its own word where it has one; else its content decides, under a lock. */
import { type SQL, sql } from 'drizzle-orm';
import { type ChainLink, type KnownNode, placeConversation } from '../../capture/conversation.ts';
import { sessionId } from '../../capture/identity.ts';
import type { Identity } from '../../model/identity.ts';
import type { CallNodes } from '../../model/node.ts';
import { hexArray, instant, pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { storedCalls } from './stored-calls.ts';
import { waitingCalls } from './waiting-calls.ts';

/** What placing needs to know of a turn. `client_key` is hex. */
export type Unplaced = {
  call_id: string;
  client_key: string;
  identity: Identity;
  retry: boolean; // the client says that it asks again
  requested_at: string;
  nodes: CallNodes;
};

export type Placement = {
  session_id: string;
  harness_id: string;
  harness_session_id: string;
  fork: { session_id: string; node_hash: string } | null;
  /** A call of the session has waited for this one: how its messages hang together is to be worked out anew. */
  awaited: boolean;
};

/** `opened_by` is the request that opened the session, and its key. */
type Remembered = KnownNode & { opened_by: string };
/** What is known of a client's unnamed sessions: by hash of the message, then by session. */
type Known = Map<string, Map<string, Remembered>>;

/** In the order given; a turn sees those before it. Locks the clients of unnamed turns until the transaction ends. */
export async function placeTurns(tx: Sql, turns: readonly Unplaced[]): Promise<Placement[]> {
  const unnamed = turns.filter(({ identity }) => identity.harness_session_id === '');
  const clients = await knownNodes(tx, unnamed);
  const followed = await followedCalls(tx, unnamed);
  const awaited = await awaitedAnswers(tx, turns);
  return turns.map((turn) => {
    const { harness_id, harness_session_id, continues_call_id } = turn.identity;
    const { response_id, previous_response_id } = turn.nodes.call;
    const named =
      harness_session_id === ''
        ? null
        : { session_id: sessionId(harness_id, harness_session_id), harness_id, harness_session_id };
    const waiting = awaited.get(awaitedKey(named, turn.client_key, response_id));
    const placement = named
      ? { ...joining(named), awaited: waiting !== undefined }
      : (followed.get(continues_call_id ?? '') ??
        placeUnnamed(turn, clients.get(turn.client_key) ?? new Map(), waiting));
    followed.set(turn.call_id, joining(placement));
    if (previous_response_id !== '' && continues_call_id === undefined)
      awaited.set(awaitedKey(named, turn.client_key, previous_response_id), { ...joining(placement), awaited: true });
    return placement;
  });
}

type SessionKey = Pick<Placement, 'session_id' | 'harness_id' | 'harness_session_id'>;

const joining = ({ session_id, harness_id, harness_session_id }: SessionKey): Placement => ({
  ...{ session_id, harness_id, harness_session_id },
  fork: null,
  awaited: false,
});

/** A call waits for an answer of the session that its caller named, or else of its client. */
const awaitedKey = (named: SessionKey | null, client_key: string, response_id: string) =>
  `${named?.session_id ?? client_key} ${response_id}`;

/** Where the calls are that wait for one of these answers, by `awaitedKey`; those of the batch join them as they are placed. */
async function awaitedAnswers(tx: Sql, turns: readonly Unplaced[]): Promise<Map<string, Placement>> {
  const response_ids = [...new Set(turns.map(({ nodes }) => nodes.call.response_id))].filter((id) => id !== '');
  const waiting = response_ids.length > 0 ? await waitingCalls(tx, { response_ids }) : [];
  return new Map(
    waiting.map((call) => [
      awaitedKey(call.named ? call : null, call.client_key, call.previous_response_id),
      { ...joining(call), awaited: true },
    ]),
  );
}

/** Where the calls are that others go on from by the provider's word; those of the batch join them as they are placed. */
async function followedCalls(tx: Sql, turns: readonly Unplaced[]): Promise<Map<string, Placement>> {
  const call_ids = [...new Set(turns.flatMap(({ identity }) => identity.continues_call_id ?? []))];
  const stored = call_ids.length > 0 ? await storedCalls(tx, { call_ids }) : [];
  return new Map(stored.map((call) => [call.call_id, joining(call)]));
}

/** A new conversation is named by the request that opened it. */
const openedBy = (request_id: string): Placement =>
  joining({
    session_id: sessionId('unknown', request_id),
    harness_id: 'unknown',
    harness_session_id: request_id,
  });

/** @param awaited where a call waits for this one's answer */
function placeUnnamed(turn: Unplaced, known: Known, awaited: Placement | undefined): Placement {
  const chain = spine(turn.nodes);
  const candidates = chain.flatMap(({ node_hash }) => [...(known.get(node_hash)?.values() ?? [])]);
  const place = placeConversation(chain, candidates, turn.retry);
  let placement = openedBy(turn.call_id);
  let started_at = turn.requested_at;
  if (place.kind === 'continue') {
    const node = candidates.find(({ session_id }) => session_id === place.session_id);
    placement = openedBy(node?.opened_by ?? turn.call_id);
    started_at = node?.started_at ?? started_at;
  } else if (place.kind === 'fork') {
    placement.fork = { session_id: place.session_id, node_hash: place.node_hash };
  } else if (awaited) {
    placement = awaited;
  }
  remember(known, turn, placement, started_at);
  return placement;
}

function remember(
  known: Known,
  { nodes }: Unplaced,
  { session_id, harness_session_id }: Placement,
  started_at: string,
) {
  const links = nodes.answer ? [...spine(nodes), nodes.answer] : spine(nodes);
  for (const [index, { node_hash, role }] of links.entries()) {
    const sessions = known.get(node_hash) ?? new Map<string, Remembered>();
    known.set(node_hash, sessions);
    const stands = sessions.get(session_id);
    if (stands && index < links.length - 1) stands.is_head = false;
    if (stands) continue;
    const is_head = index === links.length - 1;
    sessions.set(session_id, { session_id, node_hash, role, is_head, started_at, opened_by: harness_session_id });
  }
}

const spine = (nodes: CallNodes): ChainLink[] => nodes.messages.filter(({ injected }) => injected === '');

/**
 * The nodes that can decide: of each message from the first answer on (and the last one of a retry) the newest heads, as many as
 * there are turns to place, and the newest session that holds it inside.
 */
async function knownNodes(tx: Sql, turns: readonly Unplaced[]): Promise<Map<string, Known>> {
  const clients = new Map<string, Known>(turns.map(({ client_key }) => [client_key, new Map()]));
  if (turns.length === 0) return clients;
  const keys = [...clients.keys()].map((key) => BigInt.asIntN(64, BigInt(`0x${key.slice(0, 16)}`)));
  await tx.rows(sql`
    select pg_advisory_xact_lock(k.key)
      from (select key from unnest(${pgArray(keys.map(String))}::bigint[]) as u (key) order by key) k`);

  const wanted = new Map<string, { client_key: string; node_hash: string }>();
  for (const { client_key, nodes, retry } of turns) {
    const chain = spine(nodes);
    const from = chain.findIndex(({ role }) => role === 'assistant');
    const deciding = from === -1 ? chain.slice(retry ? -1 : chain.length) : chain.slice(from);
    for (const { node_hash } of deciding) wanted.set(`${client_key} ${node_hash}`, { client_key, node_hash });
  }
  if (wanted.size === 0) return clients;
  const asked = [...wanted.values()];
  // From the hash to the session to its opening, row by row: `offset 0` keeps the planner, which may know nothing of a young database,
  // from beginning at the other end, where a client has any number of sessions.
  const holders = (which: SQL) => sql`
    select s.session_id, s.opened_by, n.role, n.is_head, s.started_at
      from (select h.session_id, h.role, h.is_head from svc.nodes h where h.node_hash = w.node_hash and ${which} offset 0) n
     cross join lateral (
       select u.session_id, u.harness_session_id as opened_by, u.started_at from svc.sessions u
        where u.session_id = n.session_id and u.client_key = w.client_key and u.harness_id = 'unknown'
       offset 0) s
     where exists (select from svc.raw_turns o where o.svc_proxy_request_id = s.opened_by)
        or exists (select from svc.raw_turns o where o.request_id = s.opened_by)
     order by s.started_at desc, s.session_id desc`;
  const rows = await tx.rows<Remembered & { client_key: string }>(sql`
    select encode(w.client_key, 'hex') as client_key, k.session_id, k.opened_by, encode(w.node_hash, 'hex') as node_hash,
           k.role, k.is_head, ${instant(sql`k.started_at`)} as started_at
      from unnest(${hexArray(asked.map((node) => node.client_key))}::bytea[],
                  ${hexArray(asked.map((node) => node.node_hash))}::bytea[]) as w (client_key, node_hash)
     cross join lateral (
       (${holders(sql`h.is_head`)} limit ${turns.length})
       union all
       (${holders(sql`not h.is_head`)} limit 1)
     ) k`);
  for (const { client_key, ...node } of rows) {
    const known = clients.get(client_key);
    if (!known) continue;
    known.set(node.node_hash, (known.get(node.node_hash) ?? new Map<string, Remembered>()).set(node.session_id, node));
  }
  return clients;
}
