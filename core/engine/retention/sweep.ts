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
import { type BatchRemoved, type Removing, step } from './remove-batch.ts';
import { removeDue } from './remove-due.ts';

type Sweep = Removing & {
  rules: RetentionRules;
  /** Milliseconds since 1970. */
  now: number;
  /** False: what was removed leaves its slices to a later sweep. */
  mayCollect?: boolean;
  /** Called with how long it took to collect them. */
  collected?(tookMs: number): void;
  /** Called once with all that was removed, where something was; also by a sweep that fails afterwards. */
  report?(removed: Removed): void;
};

/** `unreachable`: the size cannot be reached, since what is left is starred, kept for ever or goes on. */
export type Swept = Removed & { unreachable: boolean };

const PARKED = 100;

/** Nothing is removed by a dry run. @returns what was removed; null: nothing was to be */
export async function sweepRetention(sweep: Sweep): Promise<Swept | null> {
  const { database, rules, now } = sweep;
  if (rules.dryRun) return null;
  const { execute } = database;
  const removed = { sessions: 0, raw_turns: 0, parked_turns: 0, slices: 0, slice_bytes: 0, freed_bytes: 0 };
  const before = await execute('measureStored', {});
  const record = async () => {
    if (isNothing(removed)) return;
    try {
      const after = await execute('measureStored', {});
      removed.freed_bytes = Math.max(0, before.bytes - after.bytes);
      await execute('recordRemoval', { kind: 'retention', began_at: new Date(now).toISOString(), removed });
    } finally {
      sweep.report?.(removed);
    }
  };
  const left = await removeAll(sweep, removed).catch(async (error: unknown) => {
    await record().catch(() => undefined); // it may be the database that is away
    throw error;
  });
  await record();
  return isNothing(removed) && left === 0 ? null : { ...removed, unreachable: left > 0 };
}

const isNothing = ({ sessions, raw_turns, parked_turns, slices }: Removed): boolean =>
  sessions + raw_turns + parked_turns + slices === 0;

/** Adds to `removed` what goes, as it does. @returns how many turns are too many for the size and could not be removed */
async function removeAll(sweep: Sweep, removed: Removed): Promise<number> {
  const { database, rules, now } = sweep;
  const { execute } = database;
  const add = ({ sessions, turns }: BatchRemoved) => {
    removed.sessions += sessions;
    removed.raw_turns += turns;
  };
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
  await removeParked(sweep, removed);
  await collect(sweep, removed);
  return Math.max(0, left);
}

/** Turns that were set aside unread name no session: they go by their own age. */
async function removeParked(sweep: Sweep, removed: Removed): Promise<void> {
  const { database, rules, now, signal } = sweep;
  const before = parkedTooOld(rules, now);
  if (before === null) return;
  for (let count = PARKED; count === PARKED && !signal.aborted; removed.parked_turns += count)
    count = await step(sweep, () => database.execute('removeParkedTurns', { before, limit: PARKED }));
}

async function collect(sweep: Sweep, removed: Removed): Promise<void> {
  const { mayCollect = true, database, signal } = sweep;
  const { execute } = database;
  if (!mayCollect || !(await execute('collectionDue', {}))) return;
  const deleted = ({ slices, bytes }: { slices: number; bytes: number }) => {
    removed.slices += slices;
    removed.slice_bytes += bytes;
  };
  const began = performance.now();
  const collected = await exclusively(execute, 'gc', signal, (own, token) =>
    collectSlices(execute, { ...sweep, token, signal: own, deleted }),
  );
  if (collected?.complete) sweep.collected?.(performance.now() - began); // one that was cut, as for a backup, is due at once
}
