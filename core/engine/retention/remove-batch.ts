/** Removes a few sessions, by short transactions: between two of them turns are stored. */

import type { Database } from '../../db/database.ts';
import type { DueSession } from '../../db/retention/due-sessions.ts';
import { DEADLOCK } from '../../db/sqlstates.ts';
import { DatabaseError } from '../../errors.ts';
import { withReasons } from './due-before.ts';

/** Rows that are deleted in one transaction: some tens of milliseconds. */
const ROWS = { embedded: { derived: 500, turns: 100 }, server: { derived: 2_000, turns: 500 } };

export type Removing = {
  database: Pick<Database, 'execute' | 'kind'>;
  /** Runs a transaction; on the embedded database turns are stored first. */
  committing<T>(work: () => Promise<T>): Promise<T>;
  pause(workedMs: number): Promise<void>;
  signal: AbortSignal;
};

export type BatchRemoved = { sessions: number; turns: number };

/** Called with what was removed, as soon as it is: a later step may fail. */
type Add = (removed: BatchRemoved) => void;

/** @returns what was removed, and which of the sessions were not: something came in, or a person starred them */
export async function removeBatch(
  removing: Removing,
  sessions: DueSession[],
  { reason, add }: { reason: string; add: Add },
): Promise<BatchRemoved & { passed: string[] }> {
  const { execute } = removing.database;
  const session_ids = await step(removing, () => execute('beginRemovals', { sessions: withReasons(sessions, reason) }));
  const begun = new Set(session_ids);
  const passed = sessions.flatMap(({ session_id }) => (begun.has(session_id) ? [] : session_id));
  return { ...(await completeRemovals(removing, session_ids, add)), passed };
}

/** Completes removals that were begun. At the signal the rest is left to the next sweep. */
export async function completeRemovals(removing: Removing, session_ids: string[], add: Add): Promise<BatchRemoved> {
  const removed = { sessions: 0, turns: 0 };
  if (session_ids.length === 0) return removed;
  const { database, signal } = removing;
  const { execute } = database;
  const { derived, turns } = ROWS[database.kind];
  await step(removing, () => execute('forgetRemoved', { session_ids }));
  for (let count = derived; count === derived; ) {
    if (signal.aborted) return removed;
    count = await step(removing, () => execute('removeDerived', { session_ids, limit: derived }));
  }
  await step(removing, () => execute('removeCells', { session_ids }));
  for (let count = turns; count === turns; ) {
    if (signal.aborted) return removed;
    count = await step(removing, () => execute('removeTurns', { session_ids, limit: turns }));
    removed.turns += count;
    add({ sessions: 0, turns: count });
  }
  await step(removing, () => execute('endRemovals', { session_ids }));
  add({ sessions: session_ids.length, turns: 0 });
  return { ...removed, sessions: session_ids.length };
}

const ATTEMPTS = 5;

/** One transaction, and the rest after it. */
export async function step<T>({ committing, pause }: Removing, work: () => Promise<T>): Promise<T> {
  const began = performance.now();
  for (let attempt = 1; ; attempt++) {
    try {
      const result = await committing(work);
      await pause(performance.now() - began);
      return result;
    } catch (error) {
      // The commit of a fold holds rows that the removal needs, and waits for some that the removal holds.
      if (!(error instanceof DatabaseError && error.sqlstate === DEADLOCK && attempt < ATTEMPTS)) throw error;
    }
  }
}
