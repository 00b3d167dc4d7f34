/** Keeps the slices of a partition that is to be dropped which turns and nodes of others refer to. */
import { batches } from '../../db/batches.ts';
import type { Database } from '../../db/database.ts';
import type { SlicePage } from '../../db/gc/collect-slices.ts';
import { markNodes, markRewritten, markTurns, openFilter, throttled } from './mark-references.ts';

const PAGE = 2_000; // slices

type Options = {
  /** Of the lease of collections, which the caller holds. */
  token: string;
  partition_no: number;
  /** Called between two pages, with how long the last one took. */
  pause(workedMs: number): Promise<void>;
  signal: AbortSignal;
};

/**
 * Copies them to the partition that is kept, and calls `drop`: until that ends, sessions whose nodes are rewritten are recorded.
 * @param drop `seen`: what turns up to this one refer to is kept
 * @returns null: it was stopped, or the lease is lost
 */
export async function keepSlicesOf<T>(
  execute: Database['execute'],
  { token, partition_no, pause, signal }: Options,
  drop: (seen: number) => Promise<T>,
): Promise<T | null> {
  const isDue = await execute('collectionDue', {});
  if (!(await execute('openCollection', { token }))) return null;
  try {
    const timed = throttled(pause);
    const keep = async (ids: readonly string[]) => {
      for (const batch of batches(ids, PAGE)) await timed(() => execute('keepSlices', { partition_no, ids: batch }));
    };
    const kept = { add: (ids: Uint8Array) => keep(idsOf(ids)) };
    const filter = await openFilter(execute);
    const seen = await execute('settledTurn', {});
    await markTurns(execute, filter, { after: 0, up_to: seen, partition_no }, timed, signal);
    await markNodes(execute, filter, timed, signal, { partition_no });
    for (let after: string | null = null, more = true; more && !signal.aborted; ) {
      const place: string | null = after;
      const page: SlicePage<string> = await timed(() =>
        execute('slicePage', { after: place, limit: PAGE, partition_no }),
      );
      const others = new Set(filter.others(page.ids));
      await keep(idsOf(page.ids).filter((id) => !others.has(id)));
      after = page.last;
      more = after !== null;
    }
    const up_to = await execute('settledTurn', {}); // what was written meanwhile is kept page by page
    await markTurns(execute, kept, { after: seen, up_to, partition_no }, timed, signal);
    await kept.add((await timed(() => execute('slicesOfNodesByTurn', { after: seen, up_to }))).ids);
    await markRewritten(execute, kept, timed, token);
    if (signal.aborted) return null;
    return await drop(up_to);
  } finally {
    await execute('closeCollection', { token, complete: !isDue }); // nothing was collected: it is due as before
  }
}

/** Of 32 bytes in hex. */
const ID_PATTERN = /.{64}/g;

const idsOf = (ids: Uint8Array): string[] => Buffer.from(ids).toString('hex').match(ID_PATTERN) ?? [];
