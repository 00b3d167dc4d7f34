/** Whether the cache of a session can have broken, by what its outline has: where it cannot, nothing more is read of it. */
import type { OutlineColumns } from '../../../store/outline-columns.ts';
import type { OutlineIndex } from '../../../store/outline-index.ts';

const TOLERANCE = 1_024; // tokens that a call may read less than the provider held, by the rules

/** What a call can be expected to read is in its own prompt, and in that of an earlier call of its model. */
export function mayHaveBroken({ spans }: OutlineColumns, { calls }: Pick<OutlineIndex, 'calls'>): boolean {
  const most = new Map<number | undefined, number>();
  return calls.some((span) => {
    const model = spans.model[span];
    const input = spans.input_tokens[span] || 0;
    const before = most.get(model) ?? 0;
    most.set(model, Math.max(before, input));
    return Math.min(before, input) - (spans.cache_read_tokens[span] || 0) > TOLERANCE;
  });
}
