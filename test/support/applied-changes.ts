/** Applies the changes between two prompts to the blocks of the first, as a reader of the API would. */
import type { ContextChange } from '../../core/model/call-context.ts';

/** Where a block of the second is new or changed it is taken from there; all others come from the first, in their order. */
export function appliedChanges<Block>(
  before: readonly Block[],
  after: readonly Block[],
  changes: readonly Pick<ContextChange, 'op' | 'before' | 'after'>[],
): Block[] {
  const gone = new Set(changes.flatMap((change) => change.before ?? []));
  const kept = before.filter((_, n) => !gone.has(n));
  const added = changes.filter(({ op }) => op === 'add').length;
  const removed = changes.filter(({ op }) => op === 'remove').length;
  const placed = new Map(
    changes.flatMap(({ op, before: from, after: to }): [number, Block][] => {
      if (to === undefined) return [];
      return [[to, (op === 'move' ? before[from ?? -1] : after[to]) as Block]];
    }),
  );
  return Array.from({ length: before.length + added - removed }, (_, n) =>
    placed.has(n) ? (placed.get(n) as Block) : (kept.shift() as Block),
  );
}
