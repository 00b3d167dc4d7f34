/**
 * Collects slices that nothing refers to: what turns and nodes refer to is read page by page while writers go on, and the others are deleted
 * in batches. A slice that a turn being stored refers to is never lost: before each batch all that was written meanwhile is looked at, the
 * last of it under the lock that stops writers; and a writer that knew a deleted slice as stored sends it again. (core/db/store/purge-count.ts)
 */
import type { Database } from '../../db/database.ts';
import { markNodes, markRewritten, markTurns, openFilter, throttled } from './mark-references.ts';

const PAGE = 10_000; // slices
const BATCH = 1_000; // slices that are deleted under the lock: some tens of milliseconds

export type Collected = { slices: number; bytes: number; complete: boolean };

type Options = {
  /** Of the lease of collections, which the caller holds. */
  token: string;
  /** Called between two pages, with how long the last one took. */
  pause(workedMs: number): Promise<void>;
  signal: AbortSignal;
  /** Runs what holds the lock; on the embedded database turns are stored first. */
  committing?<T>(work: () => Promise<T>): Promise<T>;
  /** Called with what is deleted, as it is: the rest may fail. */
  deleted?(gone: { slices: number; bytes: number }): void;
};

/** Where it is stopped, fails or loses its lease, nothing is lost: the rest is deleted by the next one. */
export async function collectSlices(
  execute: Database['execute'],
  { token, pause, signal, committing = (work) => work(), deleted }: Options,
): Promise<Collected> {
  const collected: Collected = { slices: 0, bytes: 0, complete: false };
  if (!(await committing(() => execute('openCollection', { token })))) return collected;
  try {
    const timed = throttled(pause);
    const filter = await openFilter(execute);
    let seen = await committing(() => execute('settledTurn', {}));
    await markTurns(execute, filter, { after: 0, up_to: seen }, timed, signal);
    await markNodes(execute, filter, timed, signal);
    let batch: string[] = [];
    for (let after: string | null = null, more = true; more && !signal.aborted; ) {
      const page = await timed(() => execute('slicePage', { after, limit: PAGE }));
      batch.push(...filter.others(page.ids));
      after = page.last;
      more = after !== null;
      while (batch.length >= BATCH || (!more && batch.length > 0)) {
        const up_to = await committing(() => execute('settledTurn', {}));
        await markTurns(execute, filter, { after: seen, up_to }, timed, signal);
        filter.add((await execute('slicesOfNodesByTurn', { after: seen, up_to })).ids);
        await markRewritten(execute, filter, timed, token);
        if (signal.aborted) return collected; // what was written meanwhile may not be in the filter
        seen = up_to;
        const candidates = filter.others(Buffer.from(batch.slice(0, BATCH).join(''), 'hex'));
        batch = batch.slice(BATCH);
        const gone = await timed(() => committing(() => execute('deleteSlices', { token, candidates, seen })));
        if (gone === null) return collected;
        collected.slices += gone.slices;
        collected.bytes += gone.bytes;
        deleted?.(gone);
      }
    }
    collected.complete = !signal.aborted;
    return collected;
  } finally {
    await execute('closeCollection', { token, complete: collected.complete });
  }
}
