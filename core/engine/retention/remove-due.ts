/** Removes sessions that are due by their rows, in batches, the oldest first. */
import type { DueBefore } from '../../db/retention/due-sessions.ts';
import { type BatchRemoved, type Removing, removeBatch } from './remove-batch.ts';

const LISTED = { sessions: 200, turns: 500 }; // at most so many turns together in a batch, or one session

/** `most`: turns; Infinity for all that are due. `reason`: the setting that the tombstones name. `add` is called with what is removed, as it is. */
type RemoveOptions = { most: number; reason: string; add(removed: BatchRemoved): void };

/**
 * Removes sessions until as many turns are gone.
 * @returns how many turns could not be removed, since no more sessions are due; 0 at the signal too
 */
export async function removeDue(
  removing: Removing,
  due: DueBefore,
  { most, reason, add }: RemoveOptions,
): Promise<number> {
  const { database, signal } = removing;
  const except = new Set<string>();
  let wanted = most;
  while (wanted > 0 && !signal.aborted) {
    const listed = await database.execute('dueSessions', { ...due, except: [...except], limit: LISTED.sessions });
    if (listed.length === 0) return Number.isFinite(wanted) ? wanted : 0;
    let turns = 0;
    const batch = listed.filter(({ turns: own }, i) => {
      const fits = i === 0 || (turns + own <= LISTED.turns && turns < wanted);
      turns = fits ? turns + own : Number.POSITIVE_INFINITY; // the others are listed again, in their order
      return fits;
    });
    const removed = await removeBatch(removing, batch, { reason, add });
    wanted -= removed.turns;
    for (const session_id of removed.passed) except.add(session_id);
  }
  return 0;
}
