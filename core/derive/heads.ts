/** Heads: the messages with which recent calls ended, among them the one that a call continues. */
import type { SpanRow } from './changes.ts';
import type { Head, SessionState } from './state.ts';
import type { CallTurn } from './turn.ts';

export const headHash = (hash: string): string => hash.slice(0, 16);

/** The message before the first that is new, or the last message when nothing is new; null: the call begins a chain. */
export function goesOnFrom({ fresh, tip_hash }: CallTurn): string | null {
  const first = fresh.find(({ injected }) => injected === '');
  const before = first ? first.parent_hash : tip_hash;
  return before === null ? null : headHash(before);
}

/** The head of that message; undefined when no recent call ended with it. */
export function headOf({ heads }: SessionState, turn: CallTurn): Head | undefined {
  const before = goesOnFrom(turn);
  return before === null ? undefined : heads.findLast(({ hash }) => hash === before);
}

/**
 * The head from which a call branches off: an earlier call has continued it already, so somebody went back to it. A call that
 * rewords an answer, or sends its history anew, is no new branch.
 */
export function forkedFrom(state: SessionState, turn: CallTurn): Head | null {
  const head = headOf(state, turn);
  const restatesAnswer = turn.fresh.some(({ role, injected }) => role === 'assistant' && injected === '');
  return head?.gone_on && head.thread_id === turn.thread_id && !restatesAnswer ? head : null;
}

/** The heads that later calls may continue, once a call of a conversation is folded: its last message and its answer besides the others. */
export function headsAfter(
  state: SessionState,
  turn: CallTurn,
  { llm, n, guessed }: { llm: SpanRow; n: number; guessed: boolean },
): Head[] {
  const from = llm.status === 'error' ? undefined : headOf(state, turn);
  const continued = (head: Head) => (head === from ? { ...head, gone_on: true } : head);
  const answered = llm.status === 'ok' && turn.leaf_hash !== null;
  const own = [
    { hash: turn.tip_hash, gone_on: answered },
    { hash: turn.leaf_hash, gone_on: false },
  ].flatMap(({ hash, gone_on }): Head[] => {
    if (hash === null) return [];
    const known = state.heads.findLast((head) => head.hash === headHash(hash));
    return [
      {
        ...{ hash: headHash(hash), n, span_id: llm.span_id, thread_id: turn.thread_id, guessed },
        gone_on: gone_on || known?.gone_on === true,
      },
    ];
  });
  const after: Head[] = [];
  for (const head of state.heads) if (own.every(({ hash }) => hash !== head.hash)) after.push(continued(head));
  after.push(...own);
  return after;
}
