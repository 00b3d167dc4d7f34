/**
 * Drops partitions whose sessions are due, instead of deleting their rows. A partition's states are those of its row in svc.partitions:
 * closed; leaving, from when its sessions are hidden and moved out or entombed; gone. A sweep that is interrupted goes on where it was.
 */

import { batches } from '../../db/batches.ts';
import type { Entombed } from '../../db/partition/leave-partition.ts';
import type { Partition } from '../../db/partition/partitions.ts';
import type { DueBefore } from '../../db/retention/due-sessions.ts';
import { LOCK_TIMEOUT } from '../../db/sqlstates.ts';
import { DatabaseError } from '../../errors.ts';
import { retry } from '../../retry.ts';
import { exclusively } from '../exclusively.ts';
import { keepSlicesOf } from '../gc/keep-slices.ts';
import { withReasons } from './due-before.ts';
import { type Removing, step } from './remove-batch.ts';

/** Where more of a partition's turns than this share stay, to move them would cost more than to delete the others. */
const MOST_STAYING = 0.25;

const LISTED = { due: 1_000, staying: 1_000 };
const BATCH = { begun: 200, moved: 20, entombed: 100, corrected: 500 };

/** What came in or was starred meanwhile is looked at again so often. */
const ROUNDS = 5;
const LOCK_RETRY = { firstMs: 100, maxMs: 5_000 };
const LOCK_MS = 120_000; // then it is left to the next sweep

type Dropping = Removing & { due: DueBefore; reason: string };

/** Whether it is better dropped than emptied row by row. */
export async function isWorthDropping(
  { database: { execute } }: Pick<Removing, 'database'>,
  { partition_no, leaving }: Partition,
  due: DueBefore,
): Promise<boolean> {
  if (leaving !== null) return true;
  const { turns, staying } = await execute('turnsInPartition', { ...due, partition_no });
  return staying <= turns * MOST_STAYING;
}

/**
 * The sessions in it are hidden, and their removals are begun: the caller completes them.
 * @returns how many turns went with it; null: it is not dropped yet, since somebody reads for long, or sessions go on in it
 */
export async function dropPartition(dropping: Dropping, { partition_no }: Partition): Promise<number | null> {
  const { database, reason, signal } = dropping;
  const { execute } = database;
  let turns = 0;
  await execute('markLeaving', { partition_no, reason });
  for (let round = 1; round <= ROUNDS && !signal.aborted; round++) {
    const moved = await moveStaying(dropping, partition_no);
    const begun = await beginDue(dropping, partition_no);
    if (moved + begun === 0) break;
  }
  for (let after: string | null = null, more = true; more && !signal.aborted; ) {
    const place: string | null = after;
    const page: Entombed = await step(dropping, () =>
      execute('entombTurns', { partition_no, after: place, limit: BATCH.entombed }),
    );
    turns += page.turns;
    after = page.last;
    more = after !== null;
  }
  if (signal.aborted) return null;
  const isDropped = await exclusively(execute, 'gc', signal, (own, token) =>
    keepSlicesOf(execute, { token, partition_no, pause: dropping.pause, signal: own }, (seen) =>
      retry(() => execute('dropPartition', { token, partition_no, seen }), {
        ...LOCK_RETRY,
        signal: AbortSignal.any([own, AbortSignal.timeout(LOCK_MS)]),
        isRetryable: (error) => error instanceof DatabaseError && error.sqlstate === LOCK_TIMEOUT,
      }),
    ),
  );
  return isDropped === true ? turns : null;
}

/** @returns how many sessions and turns */
async function moveStaying(dropping: Dropping, partition_no: number): Promise<number> {
  const { database, due, signal } = dropping;
  const { execute } = database;
  let moved = 0;
  for (let count = BATCH.corrected; count === BATCH.corrected && !signal.aborted; moved += count)
    count = await step(dropping, () => execute('moveCorrected', { partition_no, limit: BATCH.corrected }));
  for (let more = true; more && !signal.aborted; ) {
    const staying = await execute('stayingInPartition', { ...due, partition_no, limit: LISTED.staying });
    for (const session_ids of batches(staying, BATCH.moved)) {
      if (signal.aborted) break;
      await step(dropping, () => execute('moveToKept', { partition_no, session_ids }));
    }
    moved += staying.length;
    more = staying.length === LISTED.staying;
  }
  return moved;
}

/** @returns how many sessions are to be removed from now on */
async function beginDue(dropping: Dropping, partition_no: number): Promise<number> {
  const { database, due, reason, signal } = dropping;
  const { execute } = database;
  let begun = 0;
  for (let more = true; more && !signal.aborted; ) {
    const listed = await execute('dueInPartition', { ...due, partition_no, limit: LISTED.due });
    let ofPage = 0;
    for (const sessions of batches(listed, BATCH.begun)) {
      if (signal.aborted) break;
      ofPage += (await step(dropping, () => execute('beginRemovals', { sessions: withReasons(sessions, reason) })))
        .length;
    }
    begun += ofPage;
    more = ofPage > 0 && listed.length === LISTED.due;
  }
  return begun;
}
