/** The blocks of a call with those of the other call that are gone, in one order, and what became of each. */
import type { CallContext, ContextBlock, ContextChange } from '../../../../../model/call-context.ts';

export type OtherBlock = NonNullable<CallContext['against']>['blocks'][number];

/** A block of this call, or one of the other call that this one did not send. */
export type Entry =
  | { block: ContextBlock; gone: null; change: ContextChange | null }
  | { block: null; gone: OtherBlock; change: ContextChange };

/** In cache order; what is gone stands where it stood. */
export function entriesOf({ blocks, against }: Pick<CallContext, 'blocks' | 'against'>): Entry[] {
  const changes = against?.changes ?? [];
  const changeOf = new Map(changes.flatMap((change) => (change.after === undefined ? [] : [[change.after, change]])));
  const goneAfter = goneBlocks(blocks, against);
  const goneAt = (n: number): Entry[] =>
    (goneAfter.get(n) ?? []).map(([gone, change]) => ({ block: null, gone, change }));
  return [
    ...goneAt(-1),
    ...blocks.flatMap((block, n): Entry[] => [{ block, gone: null, change: changeOf.get(n) ?? null }, ...goneAt(n)]),
  ];
}

/** By the block of this call behind which they stood; -1: before the first. */
function goneBlocks(
  blocks: readonly ContextBlock[],
  against: CallContext['against'],
): Map<number, [OtherBlock, ContextChange][]> {
  const found = new Map<number, [OtherBlock, ContextChange][]>();
  if (!against) return found;
  const byBefore = new Map(
    against.changes.flatMap((change) => (change.before === undefined ? [] : [[change.before, change]])),
  );
  const placed = new Set(against.changes.flatMap(({ after }) => (after === undefined ? [] : [after])));
  const same = blocks.map((_, n) => n).filter((n) => !placed.has(n));
  let [at, next] = [-1, 0];
  for (const [before, other] of against.blocks.entries()) {
    const change = byBefore.get(before);
    if (!change) at = same[next++] ?? at;
    else if (change.op === 'remove') found.set(at, [...(found.get(at) ?? []), [other, change]]);
    else if (change.op === 'change') at = change.after ?? at;
  }
  return found;
}
