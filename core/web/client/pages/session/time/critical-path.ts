/** The critical path of a prompt: the longest chain of steps of which each waited for the one before; without any of them it had ended earlier. */
import type { OutlineColumns } from '../../../store/outline-columns.ts';
import type { OutlineIndex } from '../../../store/outline-index.ts';

const CLOCK_US = 1000; // steps that follow each other may overlap by as much, since each end has a clock reading of its own

/** Marks the spans on it, of all prompts: 1 where a span is. Walked from the end: of what had ended by then, the last to end. */
export function criticalSpans(columns: OutlineColumns, index: OutlineIndex): Uint8Array {
  const { spans, names } = columns;
  const marks = new Uint8Array(spans.count);
  const event = names.indexOf('event');
  const endOf = (span: number): number => (spans.started_us[span] ?? 0) + (spans.duration_us[span] || 0);
  const chain = (list: Int32Array, until: number) => {
    const byEnd = list.filter((span) => spans.kind[span] !== event).sort((a, b) => endOf(b) - endOf(a));
    let before = until;
    for (const span of byEnd) {
      const started = spans.started_us[span] ?? 0;
      if (endOf(span) > before + CLOCK_US || started > before) continue;
      marks[span] = 1;
      chain(index.childrenOf.of(span), endOf(span));
      before = started;
    }
  };
  for (const trace of index.traces)
    chain(
      index.spansOf.of(trace).filter((span) => (spans.parent[span] ?? -1) < 0),
      Number.POSITIVE_INFINITY,
    );
  return marks;
}
