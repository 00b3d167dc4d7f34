/** Deletes segments of the journal that nothing needs, once their turns would survive a power cut. */
import type { JournalReader } from '../../capture/journal-reader.ts';
import { positionsSetBack } from '../../capture/journal-set-back.ts';
import type { Database } from '../../db/database.ts';
import { journalSetBack } from '../../db/store/journal-positions.ts';
import { reasonOf } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { DatabaseRetry } from './database-retry.ts';
import { isSystemError } from './journal-retry.ts';

const DELETE_INTERVAL_MS = { embedded: 2_000, server: 0 }; // between two deletions of read segments: each costs the embedded database a checkpoint

type Deps = {
  database: Database;
  journal: JournalReader;
  withRetry: DatabaseRetry;
  log: Logger;
  freed?: ((bytes: number) => void) | undefined; // of the journal, deleted
};

/**
 * Returns the function to be called after each batch, which deletes now and then. Where open calls could be carried forward it waits
 * until the batch is stored (`stored`): under load a batch is always under way, and the journal would fill up behind such a call.
 * The function throws where a server has lost commits (isSetBack): what it lacks is still in the segments.
 */
export function openDeletion(deps: Deps): (stored: () => Promise<void>) => Promise<void> {
  const { database, journal, withRetry, log, freed } = deps;
  let deletedAt = Number.NEGATIVE_INFINITY;
  let refused = false;
  const assertStored = async () => {
    const committed = journal.committedPositions();
    const stored = await withRetry(() => database.execute('journalPositions', {}));
    if (positionsSetBack(committed, stored).length > 0) throw journalSetBack();
  };
  const deleteSegments = async (stored: () => Promise<void>) => {
    if (performance.now() - deletedAt < DELETE_INTERVAL_MS[database.kind]) return;
    if (journal.carriesOnceCommitted()) await stored();
    const segments = journal.removable();
    if (segments.length === 0) return;
    deletedAt = performance.now();
    try {
      await withRetry(() => database.execute('checkpoint', {}));
    } catch (error) {
      log.warn(
        { reason: reasonOf(error) },
        'Cannot delete journal segments: the database made no checkpoint; they stay',
      );
      return;
    }
    if (database.kind === 'server') await assertStored();
    const bytes = await journal.remove(segments);
    if (bytes > 0) freed?.(bytes);
  };
  return async (stored) => {
    try {
      await deleteSegments(stored);
      refused = false;
    } catch (error) {
      if (!isSystemError(error)) throw error;
      if (!refused) log.warn({ code: error.code }, 'Cannot delete journal segments: their folder cannot be read');
      refused = true;
    }
  };
}
