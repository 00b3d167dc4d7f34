/** Reads what turns and nodes refer to, page by page, while writers go on. */
import type { Database } from '../../db/database.ts';
import type { SlicePage } from '../../db/gc/collect-slices.ts';
import { openSliceFilter, type SliceFilter } from './slice-filter.ts';

const PAGE = { turns: 200, sessions: 200, rewritten: 100 };

/** What a slice takes on disk with its index, at the least. */
const SLICE_BYTES = 256;

/** Large enough for all slices that are stored, in however many partitions. */
export async function openFilter(execute: Database['execute']): Promise<SliceFilter> {
  const { tables } = await execute('tableSizes', {});
  const bytes = tables.reduce((sum, { name, bytes }) => sum + (/^svc\.slices(?:_|$)/.test(name) ? bytes : 0), 0);
  return openSliceFilter(bytes / SLICE_BYTES);
}

/** What takes the ids: a filter, or whoever does something for each page. */
type References = { add(ids: Uint8Array): void | Promise<void> };

/** A partition that is left out; none: all are read. */
type But = { partition_no?: number };

export type Timed = <T>(work: () => Promise<T>) => Promise<T>;

/** Pauses after each step. */
export const throttled =
  (pause: (workedMs: number) => Promise<void>): Timed =>
  async (work) => {
    const began = performance.now();
    const result = await work();
    await pause(performance.now() - began);
    return result;
  };

export async function markTurns(
  execute: Database['execute'],
  references: References,
  { after, up_to, ...but }: { after: number; up_to: number } & But,
  timed: Timed,
  signal: AbortSignal,
): Promise<void> {
  for (let from: number | null = after; from !== null && from < up_to && !signal.aborted; ) {
    const place: number = from;
    const page: SlicePage<number> = await timed(() =>
      execute('slicesOfTurns', { after: place, up_to, limit: PAGE.turns, ...but }),
    );
    await references.add(page.ids);
    from = page.last;
  }
}

export async function markNodes(
  execute: Database['execute'],
  references: References,
  timed: Timed,
  signal: AbortSignal,
  but: But = {},
): Promise<void> {
  for (let after: string | null = null, more = true; more && !signal.aborted; ) {
    const place: string | null = after;
    const page: SlicePage<string> = await timed(() =>
      execute('slicesOfNodesBySession', { after: place, limit: PAGE.sessions, ...but }),
    );
    await references.add(page.ids);
    after = page.last;
    more = after !== null;
  }
}

/** @param token of the lease of collections */
export async function markRewritten(
  execute: Database['execute'],
  references: References,
  timed: Timed,
  token: string,
): Promise<void> {
  for (let sessions = PAGE.rewritten; sessions === PAGE.rewritten; ) {
    const page = await timed(() => execute('slicesOfRewritten', { token, limit: PAGE.rewritten }));
    await references.add(page.ids);
    ({ sessions } = page);
  }
}
