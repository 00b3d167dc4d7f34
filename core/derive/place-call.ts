/** Which trace does a call belong to? It opens one when a person speaks, else it joins the one that its chain continues. */
import { genuinePrompts } from './prompt.ts';
import type { Head, SessionState } from './state.ts';
import type { CallTurn } from './turn.ts';

/**
 * The number of the live trace that a call joins; null when it opens one.
 * A fresh genuine prompt opens. Else the message before the first fresh one, or the last message when nothing is fresh, is
 * looked up among what recent calls ended with; else the thread's own current trace is taken.
 */
export function placeCall(state: SessionState, turn: CallTurn): number | null {
  if (genuinePrompts(turn).length > 0) return null;
  const current = state.current.findLast(({ thread_id }) => thread_id === turn.thread_id);
  return continued(state, turn) ?? current?.n ?? null;
}

/** What later calls may continue from: the answer and the last message. */
export const headsOf = (turn: CallTurn, n: number): Head[] =>
  [turn.tip_hash, turn.leaf_hash].flatMap((hash) => (hash === null ? [] : [{ hash: headHash(hash), n }]));

export const headHash = (hash: string): string => hash.slice(0, 16);

function continued({ heads }: SessionState, { fresh, tip_hash }: CallTurn): number | null {
  const first = fresh.find((message) => message.injected === '') ?? fresh[0];
  const before = first ? first.parent_hash : tip_hash;
  return before === null ? null : (heads.findLast(({ hash }) => hash === headHash(before))?.n ?? null);
}
