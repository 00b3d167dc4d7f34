/** Garbage collection on request: removes slices that nothing refers to, then gives the space of deleted rows back. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../db/database.ts';
import { DatabaseError } from '../../errors.ts';
import type { GcReport } from '../../model/gc.ts';
import { openPendingBackup, type PendingBackup } from '../backup/pending-backup.ts';
import { exclusively } from '../exclusively.ts';
import { collectSlices } from './collect-slices.ts';

/** Of a table that is written afresh while a service goes on: until that is done, the embedded database runs nothing else. */
export const MOST_BYTES_IN_USE = 512 * 1024 * 1024;

type Options = {
  execute: Database['execute'];
  signal: AbortSignal;
  /** Whether a service goes on meanwhile in the same process: then it rests between two pages, and leaves large tables. */
  inUse: boolean;
};

/** @returns null: another process does it now, or a backup is under way or waits */
export const runGc = ({ execute, signal, inUse }: Options): Promise<GcReport | null> =>
  exclusively(execute, 'gc', signal, async (held, token) => {
    const backup = openPendingBackup(execute, held);
    const own = backup.signal;
    await backup.check();
    if (own.aborted && !held.aborted) return null;
    const began_at = new Date().toISOString();
    const { bytes: bytes_before } = await execute('tableSizes', {});
    const pause = async (workedMs: number) => {
      if (inUse) await sleep(Math.min(workedMs, 1_000));
      await backup.check();
    };
    const { slices, bytes: slice_bytes, complete } = await collectSlices(execute, { token, pause, signal: own });
    const rewritten = await rewriteTables(execute, backup, inUse ? MOST_BYTES_IN_USE : Number.POSITIVE_INFINITY);
    if (rewritten.all) await execute('dropLog', {});
    const { bytes: bytes_after, kind } = await execute('tableSizes', {});
    await execute('measureStored', { rewritten: kind === 'embedded' && rewritten.all });
    const freed_bytes = Math.max(0, bytes_before - bytes_after);
    const removed = { sessions: 0, raw_turns: 0, parked_turns: 0, slices, slice_bytes, freed_bytes };
    await execute('recordRemoval', { kind: 'gc', began_at, removed });
    const { tables, left } = rewritten;
    const sizes = { slices, slice_bytes, bytes_before, bytes_after };
    return { ...sizes, tables, left, complete: complete && !own.aborted };
  });

type Rewritten = Pick<GcReport, 'tables' | 'left'> & { all: boolean };

async function rewriteTables(
  execute: Database['execute'],
  backup: PendingBackup,
  mostBytes: number,
): Promise<Rewritten> {
  const { signal } = backup;
  const { tables: sizes, kind } = await execute('tableSizes', {});
  const tables: GcReport['tables'] = [];
  const left: GcReport['left'] = [];
  for (const { name, bytes } of sizes) {
    await backup.check();
    if (signal.aborted) break;
    if (kind === 'embedded' && bytes > mostBytes) {
      const reason = 'nothing else could be stored while so large a table is written afresh: stop svc, then run svc gc';
      left.push({ name, bytes, reason });
      continue;
    }
    try {
      const bytes_after = await execute('rewriteTable', { name });
      if (bytes_after !== bytes) tables.push({ name, bytes_before: bytes, bytes_after });
    } catch (error) {
      if (!(error instanceof DatabaseError) || error.transient) throw error;
      left.push({ name, bytes, reason: error.message }); // such as a full disk: two copies of the table are needed for a while
    }
  }
  return { tables, left, all: left.length === 0 && !signal.aborted };
}
