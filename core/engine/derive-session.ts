/** How is one session brought up to its turns? Load, fold, commit, in pieces that memory can hold, under a lease. */
import type { Database } from '../db/database.ts';
import type { Lease } from '../db/derive/derive-queue.ts';
import { type Checkpoint, keptCheckpoints, restoredRows } from '../derive/checkpoint.ts';
import { fold } from '../derive/fold.ts';
import { addChanges, noChanges, summed } from '../derive/merge-changes.ts';
import { emptyState, type SessionState } from '../derive/state.ts';
import { DERIVE_VERSION } from '../derive/version.ts';
import { loadTurns } from './load-turns.ts';
import type { Reader } from './reader.ts';
import { rereadSession } from './reread-session.ts';

type Deps = {
  database: Database;
  reader: Reader;
  signal: AbortSignal;
};

/** What one commit holds at most; a longer history is committed in several. */
const COMMIT = { turns: 2_000, bytes: 32 * 1024 * 1024 };

/** `lost`: somebody else has the lease. `again`: turns came in meanwhile. `stopped`: at the signal, between two commits. */
export type DeriveEnd = { folded: number; end: 'done' | 'again' | 'lost' | 'stopped' };

/** Derives what is new of a session. A late call makes the calls after it be folded again. @throws {DatabaseError} */
export async function deriveSession({ database, reader, signal }: Deps, lease: Lease): Promise<DeriveEnd> {
  const { session_id, lease_token, mark } = lease;
  if (lease.from_scratch) await rereadSession(database, reader, session_id);
  const found = await database.ask('deriveState', { session_id, version: DERIVE_VERSION });
  const { up_to_seq } = found;
  let state: SessionState = found.state ?? emptyState(session_id);
  let replace = found.state === null ? ('all' as const) : found.replay_from;
  let folded = 0;

  for (;;) {
    if (signal.aborted) return { folded, end: 'stopped' };
    const sum = noChanges();
    const checkpoints: Checkpoint[] = [];
    if (replace !== null && replace !== 'all') addChanges(sum, restoredRows(state));
    const taken = { turns: 0, bytes: 0 };
    let more = true;
    while (more && taken.turns < COMMIT.turns && taken.bytes < COMMIT.bytes) {
      const page = await loadTurns(database, reader, { session_id, after: state.last, up_to_seq });
      state = fold(state, page.turns, { sum, checkpoints, priceOf: reader.priceOf });
      taken.turns += page.turns.length;
      taken.bytes += page.bytes;
      more = page.more;
    }
    folded += taken.turns;
    const { committed, again } = await database.ask('commitDerive', {
      session_id,
      lease_token,
      mark,
      changes: summed(sum),
      state: state.turns > 0 ? state : null,
      folded_seq: up_to_seq,
      checkpoints,
      kept_checkpoints: keptCheckpoints(state.turns),
      replace,
      more,
    });
    if (!committed) return { folded, end: 'lost' };
    if (!more) return { folded, end: again ? 'again' : 'done' };
    replace = null; // the first commit has cleared what it replaces
  }
}
