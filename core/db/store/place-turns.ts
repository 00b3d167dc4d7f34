/** Decides the session of each turn of a batch: the one that the turn names, else by its content, under a lock. */

import { sessionId } from '../../call/identity.ts';
import { placeConversation } from '../../call/placement.ts';
import type { Sql } from '../sql.ts';
import { addKnown, type CachedNode, type Known, knownNodes, spine } from './known-nodes.ts';
import type { Placement, SessionKey, Unplaced } from './placement.ts';
import { storedCalls } from './stored-calls.ts';
import { waitingCalls } from './waiting-calls.ts';

/** In the given order; a turn's placement takes those before it into account. Locks the clients of unnamed turns until the transaction ends. */
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
    const waiting = [...new Set([named, null])].flatMap(
      (scope) => awaited.get(awaitedKey(scope, turn.client_key, response_id)) ?? [],
    );
    // A server may number its responses anew at each start: a call that was sent before this one continues an older response.
    const later = waiting.filter(({ requested_at }) => requested_at > turn.requested_at);
    const placement = named
      ? { ...placementIn(named), awaited: waiting.length > 0 }
      : (followed.get(continues_call_id ?? '') ??
        placeUnnamed(turn, clients.get(turn.client_key) ?? new Map(), later[0]?.place));
    followed.set(turn.call_id, placementIn(placement));
    if (previous_response_id !== '' && continues_call_id === undefined)
      push(
        awaited,
        awaitedKey(named, turn.client_key, previous_response_id),
        waitingAt(placement, named !== null, turn.requested_at),
      );
    const linked = later.filter(({ unnamed }) => unnamed).map(({ place }) => place.session_id);
    const merges = [...new Set(linked)].filter((session_id) => session_id !== placement.session_id);
    return merges.length > 0 ? { ...placement, awaited: true, merges } : placement;
  });
}

const placementIn = ({ session_id, harness_id, harness_session_id }: SessionKey): Placement => ({
  ...{ session_id, harness_id, harness_session_id },
  fork: null,
  awaited: false,
  merges: [],
});

/** Where a call is that waits for a response; `unnamed`: in a session with no other name than the id of the request that opened it. */
type Waiting = { place: Placement; unnamed: boolean; requested_at: string };

const waitingAt = (place: SessionKey, named: boolean, requested_at: string): Waiting => ({
  place: { ...placementIn(place), awaited: true },
  requested_at,
  unnamed: !named && place.harness_id === 'unknown',
});

function push<T>(lists: Map<string, T[]>, key: string, value: T): void {
  const list = lists.get(key);
  if (list) list.push(value);
  else lists.set(key, [value]);
}

/** A call waits for a response within the session that its caller named, or else of its client. */
const awaitedKey = (named: SessionKey | null, client_key: string, response_id: string) =>
  `${named?.session_id ?? client_key} ${response_id}`;

/** Stored calls that wait for one of these responses, by `awaitedKey`, the oldest first; those of the batch are added as they are placed. */
async function awaitedAnswers(tx: Sql, turns: readonly Unplaced[]): Promise<Map<string, Waiting[]>> {
  const response_ids = [...new Set(turns.map(({ nodes }) => nodes.call.response_id))].filter((id) => id !== '');
  const waiting = response_ids.length > 0 ? await waitingCalls(tx, { response_ids }) : [];
  const awaited = new Map<string, Waiting[]>();
  for (const call of waiting) {
    const key = awaitedKey(call.named ? call : null, call.client_key, call.previous_response_id);
    push(awaited, key, waitingAt(call, call.named, call.requested_at));
  }
  return awaited;
}

/** Stored calls that others continue according to the provider's id; those of the batch are added as they are placed. */
async function followedCalls(tx: Sql, turns: readonly Unplaced[]): Promise<Map<string, Placement>> {
  const call_ids = [...new Set(turns.flatMap(({ identity }) => identity.continues_call_id ?? []))];
  const stored = call_ids.length > 0 ? await storedCalls(tx, { call_ids }) : [];
  return new Map(stored.map((call) => [call.call_id, placementIn(call)]));
}

/** A new conversation is named by the request that opened it. */
const openedBy = (request_id: string): Placement =>
  placementIn({
    session_id: sessionId('unknown', request_id),
    harness_id: 'unknown',
    harness_session_id: request_id,
  });

/** @param awaited the session of a call that waits for this one's response */
function placeUnnamed(turn: Unplaced, known: Known, awaited: Placement | undefined): Placement {
  const chain = spine(turn.nodes);
  const candidates = chain.flatMap(({ node_hash }) => [...(known.get(node_hash)?.values() ?? [])]);
  const place = placeConversation(chain, candidates, turn.retry);
  const joined =
    place.kind === 'continue'
      ? candidates.find(({ session_id }) => session_id === place.session_id)
      : sessionShowingAnswer(turn, known);
  const opened = openedBy(joined?.opened_by ?? turn.call_id);
  const started_at = joined?.started_at ?? turn.requested_at;
  let placement = opened;
  if (!joined && place.kind === 'fork')
    placement = { ...opened, fork: { session_id: place.session_id, node_hash: place.node_hash } };
  else if (!joined && awaited) placement = awaited;
  addKnown(known, turn, placement, started_at);
  return placement;
}

/** The session that continued from this call's answer before the call itself came: the oldest one, since others are its forks. */
function sessionShowingAnswer({ nodes, requested_at }: Unplaced, known: Known): CachedNode | undefined {
  const holders = nodes.answer ? [...(known.get(nodes.answer.node_hash)?.values() ?? [])] : [];
  return holders
    .filter(({ shown_at }) => shown_at !== null && requested_at < shown_at)
    .sort((a, b) => (a.started_at === b.started_at ? 0 : a.started_at < b.started_at ? -1 : 1))[0];
}
