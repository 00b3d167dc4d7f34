/** What does a call go on from? Among what recent calls ended with, the message on which it hangs. */
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

/** What that message is known by; undefined when no recent call ended with it. */
export function headOf({ heads }: SessionState, turn: CallTurn): Head | undefined {
  const before = goesOnFrom(turn);
  return before === null ? undefined : heads.findLast(({ hash }) => hash === before);
}

/**
 * Where a call turns off: the message on which it hangs has been gone on from before, so that somebody went back to it. A call that
 * tells an answer in words of its own, or history anew, is no new branch.
 */
export function forkedFrom(state: SessionState, turn: CallTurn): Head | null {
  const head = headOf(state, turn);
  const retold = turn.fresh.some(({ role, injected }) => role === 'assistant' && injected === '');
  return head?.gone_on && head.thread_id === turn.thread_id && !retold ? head : null;
}

/** What later calls may go on from, once a call of a conversation is in: its last message and its answer besides the others. */
export function headsAfter(
  state: SessionState,
  turn: CallTurn,
  { llm, n, guessed }: { llm: SpanRow; n: number; guessed: boolean },
): Head[] {
  const from = llm.status === 'error' ? undefined : headOf(state, turn);
  const gone = (head: Head) => (head === from ? { ...head, gone_on: true } : head);
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
  const others = state.heads.filter(({ hash }) => own.every((head) => head.hash !== hash));
  return [...others.map(gone), ...own];
}
