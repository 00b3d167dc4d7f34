/** The order of what was found in a session: as the conversation goes, and within a step from its input to its error. */
import type { SessionMatch } from '../../../../../model/find.ts';
import { type OutlineColumns, spanIndex } from '../../../store/outline-columns.ts';
import { outlineIndex } from '../../../store/outline-index.ts';

const SIDES = ['prompt', 'input', 'output', 'error'];

/** The place of each step in the order of the conversation; steps that the outline does not have yet come last. */
export function spanRanks(columns: OutlineColumns): (found: Pick<SessionMatch, 'trace_id' | 'span_id'>) => number {
  const { traces, spansOf } = outlineIndex(columns);
  const ranks = new Float64Array(columns.spans.count);
  let rank = 0;
  for (const trace of traces) for (const span of spansOf.of(trace)) ranks[span] = rank++;
  return ({ trace_id, span_id }) => ranks[spanIndex(columns, trace_id, span_id)] ?? Number.POSITIVE_INFINITY;
}

/** Sorted; the same array where it is in order already, as the service mostly sends it. */
export function inOrder(
  found: readonly SessionMatch[],
  rankOf: (found: SessionMatch) => number,
): readonly SessionMatch[] {
  const ranked = found.map((one) => ({ one, rank: rankOf(one) }));
  type Ranked = (typeof ranked)[number];
  const compared = (a: Ranked, b: Ranked) =>
    (a.rank === b.rank ? 0 : a.rank - b.rank) ||
    SIDES.indexOf(a.one.side) - SIDES.indexOf(b.one.side) ||
    a.one.block - b.one.block ||
    a.one.start - b.one.start;
  const isSorted = ranked.every((next, n) => {
    const before = ranked[n - 1];
    return before === undefined || compared(before, next) <= 0;
  });
  return isSorted ? found : ranked.sort(compared).map(({ one }) => one);
}
