/**
 * One sweep of retention: removes sessions that are too old, then the oldest while the database is too large, then their slices. Where the
 * tables are partitioned, it drops whole partitions first.
 */
import type { Removed } from '../../db/retention/removals.ts';
import type { RetentionRules } from '../../model/retention.ts';
import { exclusively } from '../exclusively.ts';
import { collectSlices } from '../gc/collect-slices.ts';
import { completeOpen, dropForSize, dropTooOld, waitingPartitions } from './drop-due.ts';
import { BY_DAYS, BY_SIZE, forSize, parkedTooOld, tooOld } from './due-before.ts';
import { excessTurns } from './excess-turns.ts';
import type { BatchRemoved, Removing } from './remove-batch.ts';
import { removeDue } from './remove-due.ts';

type Sweep = Removing & {
  rules: RetentionRules;
  /** Milliseconds since 1970. */
  now: number;
  /** False: what was removed leaves its slices to a later sweep. */
  mayCollect?: boolean;
  /** Called with how long it took to collect them. */
  collected?(tookMs: number): void;
};

/** `unreachable`: the size cannot be reached, since what is left is starred, kept for ever or goes on. */
export type Swept = Removed & { unreachable: boolean };

const PARKED = 100;

/** Nothing is removed by a dry run. @returns what was removed; null: nothing was to be */
export async function sweepRetention(sweep: Sweep): Promise<Swept | null> {
  const { database, rules, now, signal } = sweep;
  if (rules.dryRun) return null;
  const began_at = new Date(now).toISOString();
  const { execute } = database;
  const removed = { sessions: 0, raw_turns: 0, parked_turns: 0, slices: 0, slice_bytes: 0, freed_bytes: 0 };
  const add = ({ sessions, turns }: BatchRemoved) => {
    removed.sessions += sessions;
    removed.raw_turns += turns;
  };
  const before = await execute('measureStored', {});

  const partitions = { ...sweep, add };
  await dropTooOld(partitions);
  await completeOpen(partitions);
  const old = tooOld(rules, now);
  const waiting = waitingPartitions(await execute('partitions', {}), old);
  await removeDue(sweep, { ...old, waiting }, { most: Number.POSITIVE_INFINITY, reason: BY_DAYS, add });
  await dropForSize(partitions);
  const excess = excessTurns(await execute('measureStored', {}), rules.maxBytes);
  const options = { most: excess.turns, reason: BY_SIZE, add };
  const left = excess.turns === 0 ? 0 : await removeDue(sweep, forSize(rules, now), options);
  removed.parked_turns = await removeParked(sweep);

  const { mayCollect = true } = sweep;
  if (mayCollect && (await execute('collectionDue', {}))) {
    const began = performance.now();
    const collected = await exclusively(execute, 'gc', signal, (own) =>
      collectSlices(execute, { ...sweep, signal: own }),
    );
    sweep.collected?.(performance.now() - began);
    Object.assign(removed, { slices: collected?.slices ?? 0, slice_bytes: collected?.bytes ?? 0 });
  }
  if (removed.raw_turns + removed.parked_turns + removed.slices === 0 && left <= 0) return null;
  const after = await execute('measureStored', {});
  removed.freed_bytes = Math.max(0, before.bytes - after.bytes);
  if (removed.raw_turns + removed.parked_turns + removed.slices > 0)
    await execute('recordRemoval', { kind: 'retention', began_at, removed });
  return { ...removed, unreachable: left > 0 };
}

/** Turns that were set aside unread name no session: they go by their own age. */
async function removeParked({ database, rules, now, signal, committing }: Sweep): Promise<number> {
  const before = parkedTooOld(rules, now);
  if (before === null) return 0;
  let removed = 0;
  for (let count = PARKED; count === PARKED && !signal.aborted; removed += count)
    count = await committing(() => database.execute('removeParkedTurns', { before, limit: PARKED }));
  return removed;
}
