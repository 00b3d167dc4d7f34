/** The cells of the bar of a context: a stretch for each block, as wide as its share of the prompt. */
import type { CallContext, ContextBlock } from '../../../../../model/call-context.ts';
import type { Entry } from './block-changes.ts';
import { shareOf } from './block-sums.ts';

export type BarCell = { block: ContextBlock; op: string | null; from: number; to: number };
export type BilledPart = { as: 'read' | 'written' | 'fresh'; tokens: number; from: number; to: number };

/** In cache order, from 0 to 1; what the blocks cannot explain is left over at the end. */
export function barCells(context: CallContext, entries: readonly Entry[]): BarCell[] {
  const cells: BarCell[] = [];
  let from = 0;
  for (const { block, change } of entries) {
    if (!block) continue;
    const to = from + shareOf(block, context);
    cells.push({ block, op: change?.op ?? null, from, to });
    from = to;
  }
  return cells;
}

/** The block at a place; -1: there is none. */
export function cellAt(cells: readonly BarCell[], place: number): number {
  const found = cells.findIndex(({ to }) => place < to);
  return found >= 0 || cells.length === 0 ? found : cells.length - 1;
}

/** How the input was billed: what was read from the cache came first, what was written to it behind that. */
export function billedParts({ usage }: Pick<CallContext, 'usage'>): BilledPart[] {
  if (!usage || usage.input_tokens === 0) return [];
  const { input_tokens, cache_read_tokens: read } = usage;
  const written = usage.cache_write_5m_tokens + usage.cache_write_1h_tokens;
  const parts = [
    ['read', read],
    ['written', written],
    ['fresh', Math.max(0, input_tokens - read - written)],
  ] as const;
  let before = 0;
  return parts.flatMap(([as, tokens]): BilledPart[] => {
    const from = before / input_tokens;
    before += tokens;
    return tokens > 0 ? [{ as, tokens, from, to: Math.min(1, before / input_tokens) }] : [];
  });
}
