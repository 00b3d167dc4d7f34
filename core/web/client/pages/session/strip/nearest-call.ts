/** The call at whose place on the strip a step is. */
import type { OutlineColumns } from '../../../store/outline-columns.ts';
import type { OutlineIndex } from '../../../store/outline-index.ts';

/** The number of the call that a span is, or that began last before it. */
export function nearestCall({ spans }: OutlineColumns, { calls, callOf }: OutlineIndex, span: number): number {
  const own = callOf[span] ?? -1;
  if (own >= 0 || span < 0) return Math.max(0, own);
  const moment = spans.started_us[span] ?? 0;
  let [low, high] = [0, calls.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((spans.started_us[calls[middle] ?? 0] ?? 0) <= moment) low = middle;
    else high = middle;
  }
  return low;
}
