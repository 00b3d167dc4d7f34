/** The marks above the strip: what failed or was cut off, compactions, and tools that a permission check blocked. */
import type { OutlineColumns } from '../../../store/outline-columns.ts';
import type { OutlineIndex } from '../../../store/outline-index.ts';

export type MarkKind = 'error' | 'cut' | 'compaction' | 'blocked';

/** `call` is the number of the call at whose place it is, 0 first; `span` is where it leads. */
export type StripMark = { kind: MarkKind; call: number; span: number; words: string };

export const MARK_SIGNS: Readonly<Record<MarkKind, string>> = { error: '!', cut: '✂', compaction: '≈', blocked: '×' };

/** The providers' words for an answer that met its limit. */
const CUT = new Set(['max_tokens', 'length', 'MAX_TOKENS', 'max_output_tokens', 'incomplete']);

/** In order of time. */
export function stripMarks({ spans, names }: OutlineColumns, { calls, callOf }: OutlineIndex): StripMark[] {
  const name = (column: Int32Array, span: number): string => names[column[span] ?? 0] ?? '';
  const tool = names.indexOf('tool');
  const marks: StripMark[] = [];
  const add = (kind: MarkKind, span: number, what: string) => {
    const own = callOf[span] ?? -1;
    const call = own >= 0 ? own : lastBefore(spans.started_us, calls, spans.started_us[span] ?? 0);
    marks.push({ kind, call, span, words: `call ${call + 1}: ${what}` });
  };
  for (let span = 0; span < spans.count; span++) {
    const isCall = (callOf[span] ?? -1) >= 0;
    if (!isCall && spans.kind[span] !== tool) continue;
    const what = isCall ? 'call' : name(spans.name, span);
    const status = name(spans.status, span);
    if (!isCall && name(spans.verdict, span).toUpperCase() === 'BLOCK') add('blocked', span, `${what} was blocked`);
    else if (status === 'error') add('error', span, `${what} failed${reason(name(spans.error_type, span))}`);
    else if (isCall && (status === 'partial' || CUT.has(name(spans.stop_reason, span))))
      add('cut', span, 'answer cut off');
    if (name(spans.call_kind, span) === 'offshoot:compaction') add('compaction', span, 'compaction');
  }
  return marks.sort((a, b) => a.call - b.call || a.span - b.span);
}

const reason = (error: string): string => (error === '' ? '' : `: ${error}`);

/** The number of the last call that began by a moment; 0 where all began later. */
function lastBefore(started: Float64Array, calls: Int32Array, moment: number): number {
  let [low, high] = [0, calls.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((started[calls[middle] ?? 0] ?? 0) <= moment) low = middle;
    else high = middle;
  }
  return low;
}
