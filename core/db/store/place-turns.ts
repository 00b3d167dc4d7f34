/** Places the turns of a batch in their sessions: fetches, under a lock, what `core/call/placement.ts` decides by. */

import {
  addTo,
  answerIds,
  awaitedKey,
  awaitedKeys,
  isUnnamed,
  type Placement,
  type PlacementFacts,
  placeCalls,
  type SessionKey,
  type Unplaced,
} from '../../call/placement.ts';
import type { Sql } from '../sql.ts';
import { currentKeys, knownNodes } from './known-nodes.ts';
import { storedCalls } from './stored-calls.ts';
import { waitingCalls } from './waiting-calls.ts';

/** In the given order; a turn's placement takes those before it into account. Locks the clients of unnamed turns until the transaction ends. */
export async function placeTurns(tx: Sql, turns: readonly Unplaced[]): Promise<Placement[]> {
  const unnamed = turns.filter(({ identity }) => identity.harness_session_id === '');
  const clients = await knownNodes(tx, unnamed);
  const followed = await followedCalls(tx, unnamed);
  const awaited = await awaitedAnswers(tx, turns);
  return placeCalls(turns, { clients, followed, awaited });
}

/** Stored calls that wait for one of these responses, or for one with an item of theirs. */
async function awaitedAnswers(tx: Sql, turns: readonly Unplaced[]): Promise<PlacementFacts['awaited']> {
  const ids = [...new Set(turns.flatMap(answerIds))];
  const waiting = ids.length > 0 ? await waitingCalls(tx, { ids }) : [];
  const awaited: PlacementFacts['awaited'] = new Map();
  const current = currentKeys(turns);
  for (const call of waiting) {
    const { waits_for, requested_at, named, is_answered } = call;
    const session = sessionKey(call);
    const found = { session, requested_at, unnamed: isUnnamed(named, session) };
    const scope = [named ? session : null, current.get(call.client_key) ?? call.client_key, waits_for] as const;
    for (const key of is_answered ? [awaitedKey(...scope)] : awaitedKeys(...scope)) addTo(awaited, key, found);
  }
  return awaited;
}

/** Stored calls that others continue according to the provider's id. */
async function followedCalls(tx: Sql, turns: readonly Unplaced[]): Promise<PlacementFacts['followed']> {
  const call_ids = [...new Set(turns.flatMap(({ identity }) => identity.continues_call_id ?? []))];
  const stored = call_ids.length > 0 ? await storedCalls(tx, { call_ids }) : [];
  return new Map(stored.map((call) => [call.call_id, sessionKey(call)]));
}

const sessionKey = ({ session_id, harness_id, harness_session_id }: SessionKey): SessionKey => ({
  session_id,
  harness_id,
  harness_session_id,
});
