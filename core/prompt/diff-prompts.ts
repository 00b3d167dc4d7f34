/**
 * The difference of two prompts, block by block: what was added, removed, changed or moved. What is in none of the changes is the same
 * block, in the same order. Takes n log n steps.
 */
import { firstDifference } from './first-difference.ts';
import type { PromptBlock, PromptChange, PromptDiff } from './prompt.ts';

/** Whether two blocks are the same for a model and its cache: the same content, in the same role and section. */
export const sameBlock = (one: PromptBlock, other: PromptBlock): boolean =>
  one === other || (one.id === other.id && one.role === other.role && one.section === other.section);

/** How many blocks both lists begin with. */
export function commonBeginning(before: readonly PromptBlock[], after: readonly PromptBlock[]): number {
  const most = Math.min(before.length, after.length);
  for (let n = 0; n < most; n++) if (!sameBlock(before[n] as PromptBlock, after[n] as PromptBlock)) return n;
  return most;
}

export function diffPrompts(before: readonly PromptBlock[], after: readonly PromptBlock[]): PromptDiff {
  const common = commonBeginning(before, after);
  const [endBefore, endAfter] = withoutCommonEnd(before, after, common);
  const { kept, moved } = matched(before, after, { from: common, endBefore, endAfter });
  const movedBefore = new Set(moved.map((pair) => pair.before));
  const movedAfter = new Set(moved.map((pair) => pair.after));

  const changes: PromptChange[] = [];
  let at = { before: common, after: common };
  for (const anchor of [...kept, { before: endBefore, after: endAfter }]) {
    const gone = range(at.before, anchor.before).filter((n) => !movedBefore.has(n));
    const come = range(at.after, anchor.after).filter((n) => !movedAfter.has(n));
    changes.push(...changesIn(before, after, gone, come));
    at = { before: anchor.before + 1, after: anchor.after + 1 };
  }
  changes.push(...moved.map(({ before: from, after: to }): PromptChange => ({ op: 'move', before: from, after: to })));
  return { common, changes: changes.sort(byPlace) };
}

/** Where the lists end that differ: what stands behind is the same in both. */
function withoutCommonEnd(before: readonly PromptBlock[], after: readonly PromptBlock[], from: number) {
  let [endBefore, endAfter] = [before.length, after.length];
  while (
    endBefore > from &&
    endAfter > from &&
    sameBlock(before[endBefore - 1] as PromptBlock, after[endAfter - 1] as PromptBlock)
  ) {
    endBefore--;
    endAfter--;
  }
  return [endBefore, endAfter] as const;
}

type Pair = { before: number; after: number };
type Bounds = { from: number; endBefore: number; endAfter: number };

/** Pairs of the same block: the longest run that stands in one order in both is kept, the others have moved. */
function matched(before: readonly PromptBlock[], after: readonly PromptBlock[], { from, endBefore, endAfter }: Bounds) {
  const places = new Map<string, number[]>();
  for (let n = endBefore - 1; n >= from; n--) {
    const key = keyOf(before[n] as PromptBlock);
    const known = places.get(key);
    if (known) known.push(n);
    else places.set(key, [n]);
  }
  const pairs: Pair[] = [];
  for (let n = from; n < endAfter; n++) {
    const place = places.get(keyOf(after[n] as PromptBlock))?.pop();
    if (place !== undefined) pairs.push({ before: place, after: n });
  }
  const kept = longestRising(pairs);
  const stays = new Set(kept);
  return { kept, moved: pairs.filter((pair) => !stays.has(pair)) };
}

const keyOf = ({ id, role, section }: PromptBlock): string => `${id} ${section} ${role}`;

/** The longest subsequence in which `before` rises, by patience sorting; `after` rises anyway. */
function longestRising(pairs: readonly Pair[]): Pair[] {
  const tops: number[] = []; // of each pile: the index of its latest pair
  const previous: number[] = [];
  pairs.forEach(({ before }, index) => {
    let [low, high] = [0, tops.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((pairs[tops[middle] as number] as Pair).before < before) low = middle + 1;
      else high = middle;
    }
    previous[index] = low > 0 ? (tops[low - 1] as number) : -1;
    tops[low] = index;
  });
  const rising: Pair[] = [];
  for (let index = tops.at(-1) ?? -1; index !== -1; index = previous[index] as number)
    rising.push(pairs[index] as Pair);
  return rising.reverse();
}

/** Of what went and what came between two blocks that stayed: a block that took another's place has changed. */
function changesIn(
  before: readonly PromptBlock[],
  after: readonly PromptBlock[],
  gone: readonly number[],
  come: readonly number[],
): PromptChange[] {
  const changes: PromptChange[] = [];
  const left = new Set(gone);
  const unpaired = new Set(come);
  for (const likeness of LIKENESSES) {
    const waiting = new Map<string, number[]>();
    for (const n of [...left].reverse()) {
      const key = likeness(before[n] as PromptBlock);
      if (key === null) continue;
      const known = waiting.get(key);
      if (known) known.push(n);
      else waiting.set(key, [n]);
    }
    for (const n of unpaired) {
      const key = likeness(after[n] as PromptBlock);
      const place = key === null ? undefined : waiting.get(key)?.pop();
      if (place === undefined) continue;
      left.delete(place);
      unpaired.delete(n);
      const { path, at } = firstDifference(before[place] as PromptBlock, after[n] as PromptBlock);
      changes.push({ op: 'change', before: place, after: n, path, at });
    }
  }
  for (const n of left) changes.push({ op: 'remove', before: n });
  for (const n of unpaired) changes.push({ op: 'add', after: n });
  return changes;
}

/** What makes a block the successor of another: a tool its name, other blocks their place in the request, or at last their kind. */
const LIKENESSES: readonly ((block: PromptBlock) => string | null)[] = [
  ({ section, kind, label }) => (kind === 'tool-definition' ? `${section} ${label}` : null),
  ({ section, kind, role, path }) =>
    kind === 'tool-definition' || path === '' ? null : `${section} ${kind} ${role} ${path}`,
  ({ section, kind, role }) => (kind === 'tool-definition' ? null : `${section} ${kind} ${role}`),
];

const range = (from: number, end: number): number[] =>
  Array.from({ length: Math.max(0, end - from) }, (_, i) => from + i);

/** In the order of the later prompt; what was removed stands where it stood. */
const byPlace = (one: PromptChange, other: PromptChange): number => placeOf(one) - placeOf(other);

const placeOf = (change: PromptChange): number => (change.op === 'remove' ? change.before : change.after);
