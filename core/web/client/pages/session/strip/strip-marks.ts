/** The marks above the strip: what failed or was cut off, compactions, tools that a permission check blocked, and breaks of the cache. */
import type { CacheBreak } from '../../../../../model/cache-break.ts';
import { costText } from '../../../parts/number-text.ts';
import { type OutlineColumns, spanIndex } from '../../../store/outline-columns.ts';
import type { OutlineIndex } from '../../../store/outline-index.ts';
import { CAUSES } from '../cache/break-causes.ts';
import { nearestCall } from './nearest-call.ts';

export type MarkKind = 'error' | 'cut' | 'compaction' | 'blocked' | 'break';

/** `call` is the number of the call at whose place it is, 0 first; `span` is where it leads. */
export type StripMark = { kind: MarkKind; call: number; span: number; words: string };

export const MARK_SIGNS: Readonly<Record<MarkKind, string>> = {
  ...{ error: '!', cut: '✂', compaction: '≈', blocked: '×', break: '◆' },
};

/** The providers' words for an answer that met its limit. */
const CUT = new Set(['max_tokens', 'length', 'MAX_TOKENS', 'max_output_tokens', 'incomplete']);

/** In order of time. @param breaks of which those that were not planned have a mark */
export function stripMarks(columns: OutlineColumns, index: OutlineIndex, breaks: readonly CacheBreak[]): StripMark[] {
  const { spans, names } = columns;
  const { callOf } = index;
  const name = (column: Int32Array, span: number): string => names[column[span] ?? 0] ?? '';
  const tool = names.indexOf('tool');
  const marks: StripMark[] = [];
  const add = (kind: MarkKind, span: number, what: string) => {
    const call = nearestCall(columns, index, span);
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
  for (const { trace_id, span_id, planned, cause, lost_usd } of breaks) {
    const span = planned || span_id === null ? -1 : spanIndex(columns, trace_id ?? '', span_id);
    const lost = lost_usd === null ? '' : `, ${costText(lost_usd)} lost`;
    if (span >= 0) add('break', span, `cache break, ${CAUSES[cause]}${lost}`);
  }
  return marks.sort((a, b) => a.call - b.call || a.span - b.span);
}

const reason = (error: string): string => (error === '' ? '' : `: ${error}`);
