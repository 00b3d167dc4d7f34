/** Where does a conversation go on after its history was rewritten? In a trace of its own, joined to the compaction by a link. */
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
  const summary = (answer.split('<summary>')[1] ?? answer).slice(0, LONGEST).split('</summary>')[0] ?? '';
  return {
    trace_id: llm.trace_id,
    span_id: llm.span_id,
    // Told under instructions of its own, the history hangs elsewhere: what was said last in the conversation stands for it.
    from: (headOf(state, turn) ?? state.heads.findLast(({ thread_id }) => thread_id === ''))?.hash ?? null,
    summary: firstWords(summary).slice(0, PROBE),
  };
}

/** False when a call goes on from the very message that the compaction went on from: its history was not rewritten. */
export const isCompacted = ({ from }: Compaction, turn: CallTurn): boolean =>
  from === null || goesOnFrom(turn) !== from;

/** True for the message that brings the summary along; no person says it. */
export const isSummary = ({ summary }: Compaction, { content }: FreshMessage): boolean =>
  summary !== '' && textOf(content).replace(/\s+/g, ' ').includes(summary);
