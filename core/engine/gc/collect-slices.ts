/**
 * Collects slices that nothing refers to: what turns and nodes refer to is read page by page while writers go on, and the others are deleted
 * in batches. A slice that a turn being stored refers to is never lost: before each batch all that was written meanwhile is looked at, the
 * last of it under the lock that stops writers; and a writer that knew a deleted slice as stored sends it again. (core/db/store/purge-count.ts)
 */
import type { Database } from '../../db/database.ts';
import type { SlicePage } from '../../db/gc/collect-slices.ts';
import { openSliceFilter, type SliceFilter } from './slice-filter.ts';

const PAGE = { turns: 200, sessions: 200, slices: 10_000, rewritten: 100 };
const SLICE_BYTES = 256; // on disk with its index, at the least
const BATCH = 1_000; // slices that are deleted under the lock: some tens of milliseconds

export type Collected = { slices: number; bytes: number; complete: boolean };

type Options = {
  /** Called between two pages, with how long the last one took. */
  pause(workedMs: number): Promise<void>;
  signal: AbortSignal;
  /** Runs what holds the lock; on the embedded database turns are stored first. */
  committing?<T>(work: () => Promise<T>): Promise<T>;
};

/** Where it is stopped, or fails, nothing is lost: the rest is deleted by the next one. One at a time: the caller holds the lease. */
export async function collectSlices(
  execute: Database['execute'],
  { pause, signal, committing = (work) => work() }: Options,
): Promise<Collected> {
  const collected: Collected = { slices: 0, bytes: 0, complete: false };
  await committing(() => execute('openCollection', {}));
  try {
    const timed = paced(pause);
    const { tables } = await execute('tableSizes', {});
    const filter = openSliceFilter((tables.find(({ name }) => name === 'svc.slices')?.bytes ?? 0) / SLICE_BYTES);
    let seen = await committing(() => execute('settledTurn', {}));
    await markTurns(execute, filter, { after: 0, up_to: seen }, timed, signal);
    await markNodes(execute, filter, timed, signal);
    let batch: string[] = [];
    for (let after: string | null = null, more = true; more && !signal.aborted; ) {
      const page = await timed(() => execute('slicePage', { after, limit: PAGE.slices }));
      batch.push(...filter.others(page.ids));
      after = page.last;
      more = after !== null;
      while (batch.length >= BATCH || (!more && batch.length > 0)) {
        const up_to = await committing(() => execute('settledTurn', {}));
        await markTurns(execute, filter, { after: seen, up_to }, timed, signal);
        filter.add((await execute('slicesOfNodesByTurn', { after: seen, up_to })).ids);
        await markRewritten(execute, filter, timed);
        if (signal.aborted) return collected; // what was written meanwhile may not be in the filter
        seen = up_to;
        const candidates = filter.others(Buffer.from(batch.slice(0, BATCH).join(''), 'hex'));
        batch = batch.slice(BATCH);
        const gone = await timed(() => committing(() => execute('deleteSlices', { candidates, seen })));
        collected.slices += gone.slices;
        collected.bytes += gone.bytes;
      }
    }
    collected.complete = !signal.aborted;
    return collected;
  } finally {
    await execute('closeCollection', { complete: collected.complete });
  }
}

type Timed = <T>(work: () => Promise<T>) => Promise<T>;

const paced =
  (pause: Options['pause']): Timed =>
  async (work) => {
    const began = performance.now();
    const result = await work();
    await pause(performance.now() - began);
    return result;
  };

async function markTurns(
  execute: Database['execute'],
  filter: SliceFilter,
  { after, up_to }: { after: number; up_to: number },
  timed: Timed,
  signal: AbortSignal,
): Promise<void> {
  for (let from: number | null = after; from !== null && from < up_to && !signal.aborted; ) {
    const place: number = from;
    const page: SlicePage<number> = await timed(() =>
      execute('slicesOfTurns', { after: place, up_to, limit: PAGE.turns }),
    );
    filter.add(page.ids);
    from = page.last;
  }
}

async function markNodes(
  execute: Database['execute'],
  filter: SliceFilter,
  timed: Timed,
  signal: AbortSignal,
): Promise<void> {
  for (let after: string | null = null, more = true; more && !signal.aborted; ) {
    const place: string | null = after;
    const page: SlicePage<string> = await timed(() =>
      execute('slicesOfNodesBySession', { after: place, limit: PAGE.sessions }),
    );
    filter.add(page.ids);
    after = page.last;
    more = after !== null;
  }
}

async function markRewritten(execute: Database['execute'], filter: SliceFilter, timed: Timed): Promise<void> {
  for (let sessions = PAGE.rewritten; sessions === PAGE.rewritten; ) {
    const page = await timed(() => execute('slicesOfRewritten', { limit: PAGE.rewritten }));
    filter.add(page.ids);
    ({ sessions } = page);
  }
}
