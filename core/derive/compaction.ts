/** Compactions: a conversation whose history was rewritten continues in a trace of its own, which a link joins to the compaction. */
import { summaryIn } from '../harness/harnesses.ts';
import { firstWords } from './first-words.ts';
import { goesOnFrom, headOf } from './heads.ts';
import { textOf } from './prompt.ts';
import type { Compaction, SessionState } from './state.ts';
import type { CallTurn, FreshMessage } from './turn.ts';

const LONGEST = 2000;
const PROBE = 60;

/** What is remembered of a compaction; null when it gave no summary. */
export function compactionOf(
  state: SessionState,
  turn: CallTurn,
  llm: { trace_id: string; span_id: string },
): Compaction | null {
  const answer = textOf(turn.reply?.content ?? []);
  if (answer.trim() === '') return null;
  return {
    trace_id: llm.trace_id,
    span_id: llm.span_id,
    // A history sent under instructions of its own has other hashes and no known head: the main thread's last head is taken.
    from: (headOf(state, turn) ?? state.heads.findLast(({ thread_id }) => thread_id === ''))?.hash ?? null,
    summary: firstWords(summaryIn(answer).slice(0, LONGEST)).slice(0, PROBE),
  };
}

/** False when a call continues the very message that the compaction continued: its history was not rewritten. */
export const isCompacted = ({ from }: Compaction, turn: CallTurn): boolean =>
  from === null || goesOnFrom(turn) !== from;

/** True for the message that carries the summary, which no person wrote. */
export const isSummary = ({ summary }: Compaction, { content }: FreshMessage): boolean =>
  summary !== '' && textOf(content).replace(/\s+/g, ' ').includes(summary);
