/** Which partitions retention drops, and when: those that are too old as a whole, and the oldest while the database is too large. */
import type { Partition } from '../../db/partition/partitions.ts';
import type { DueBefore } from '../../db/retention/due-sessions.ts';
import type { RetentionRules } from '../../model/retention.ts';
import { dropPartition, isWorthDropping } from './drop-partition.ts';
import { BY_DAYS, BY_SIZE, forSize, tooOld } from './due-before.ts';
import { excessTurns } from './excess-turns.ts';
import { type BatchRemoved, completeRemovals, type Removing } from './remove-batch.ts';
import { removeDue } from './remove-due.ts';

/** `now`: milliseconds since 1970. */
type Dropping = Removing & { rules: RetentionRules; now: number; add(removed: BatchRemoved): void };

const LISTED = 200;

/** Partitions of which a part is not due yet: their sessions wait for the rest. */
export const waitingPartitions = (partitions: readonly Partition[], { before }: DueBefore): number[] =>
  partitions.flatMap((partition) => (isOlder(partition, before) ? [] : partition.partition_no));

const isOlder = ({ ended_at }: Partition, before: string | null): boolean =>
  ended_at !== null && before !== null && Date.parse(ended_at) <= Date.parse(before);

/** Those whose last moment is too old, and those that an earlier sweep began to drop. */
export async function dropTooOld(dropping: Dropping): Promise<void> {
  const { database, rules, now, signal } = dropping;
  const old = tooOld(rules, now);
  for (const partition of await database.execute('partitions', {})) {
    if (signal.aborted) return;
    const due = partition.leaving === BY_SIZE ? endedIn(partition, forSize(rules, now)) : old;
    if (
      partition.leaving === null &&
      !(isOlder(partition, old.before) && (await isWorthDropping(dropping, partition, old)))
    )
      continue;
    await drop(dropping, partition, due, partition.leaving ?? BY_DAYS);
  }
}

/** The oldest first; of one that is not worth dropping the sessions go by their rows before a younger one goes. Never the one that is stored in now. */
export async function dropForSize(dropping: Dropping): Promise<void> {
  const { database, rules, now, signal } = dropping;
  if (rules.maxBytes === null) return;
  for (const partition of await database.execute('partitions', {})) {
    if (partition.ended_at === null || signal.aborted) return;
    if ((await excessNow(dropping)) === 0) return;
    const due = endedIn(partition, forSize(rules, now));
    if (await isWorthDropping(dropping, partition, due)) await drop(dropping, partition, due, BY_SIZE);
    else await removeForSize(dropping, due);
  }
}

/** By rows, until the size is reached or none is due: how much a removal frees is an estimate, so it is measured again. */
async function removeForSize(dropping: Dropping, due: DueBefore): Promise<void> {
  const { add, signal } = dropping;
  for (let most = await excessNow(dropping); most > 0 && !signal.aborted; most = await excessNow(dropping))
    if ((await removeDue(dropping, due, { most, reason: BY_SIZE, add })) > 0) return;
}

/** In turns. */
const excessNow = async ({ database, rules }: Dropping): Promise<number> =>
  excessTurns(await database.execute('measureStored', {}), rules.maxBytes).turns;

/** A session that went on after the partition is younger than others that stay. */
const endedIn = ({ ended_at }: Partition, due: DueBefore): DueBefore => ({
  ...due,
  before: ended_at !== null && due.before !== null && ended_at < due.before ? ended_at : due.before,
});

async function drop(dropping: Dropping, partition: Partition, due: DueBefore, reason: string): Promise<void> {
  const turns = await dropPartition({ ...dropping, due, reason }, partition);
  if (turns === null) return;
  dropping.add({ sessions: 0, turns }); // its sessions count when their removals are complete
  await completeOpen(dropping);
}

/**
 * Completes removals that were begun, here or by a sweep that was interrupted. Where a partition could not be dropped yet, they wait for it:
 * else its rows would be deleted one by one.
 */
export async function completeOpen(dropping: Dropping): Promise<void> {
  const { database, signal, add } = dropping;
  const partitions = await database.execute('partitions', {});
  if (partitions.some(({ leaving }) => leaving !== null)) return;
  for (let more = true; more && !signal.aborted; ) {
    const open = await database.execute('openRemovals', { limit: LISTED });
    if (open.length > 0) await completeRemovals(dropping, open, add);
    more = open.length > 0;
  }
}
