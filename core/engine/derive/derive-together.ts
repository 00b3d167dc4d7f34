/**
 * Derives sessions of which little is new with one read and one commit: after a flood of short conversations that is what most of the
 * backlog consists of, and statements and commits cost more than its folds.
 */
import type { DeriveCommit } from '../../db/derive/derive-commit.ts';
import type { Lease } from '../../db/derive/derive-queue.ts';
import { stateOf, stateRows } from '../../db/derive/derive-states.ts';
import { projectionRows } from '../../db/derive/projection-rows.ts';
import type { SimpleSession } from '../../db/derive/simple-sessions.ts';
import { type Checkpoint, retainedCheckpoints } from '../../derive/checkpoint.ts';
import { noEvidence } from '../../derive/evidence.ts';
import { fold } from '../../derive/fold.ts';
import { noChanges, summed } from '../../derive/merge-changes.ts';
import { emptyState } from '../../derive/state.ts';
import type { CallTurn } from '../../derive/turn.ts';
import { DERIVE_VERSION } from '../../derive/version.ts';
import { reasonOf } from '../../errors.ts';
import { openYielder } from '../yielder.ts';
import { interrupted, type LeasedDeps, renewing } from './derive-leased.ts';
import { loadTurns } from './load-turns.ts';
import { isTransient } from './query-retry.ts';

/** The most new turns of a session that is derived with others. */
const MAX_TURNS = 16;
/** Rows of the projection in one commit; a session that has more is derived by itself. */
const COMMIT_ROWS = 4_000;

/** Derives those of the leased sessions that can be. Never throws. @returns the leases of the others, which are still held */
export async function deriveTogether(deps: LeasedDeps, leases: readonly Lease[]): Promise<Lease[]> {
  const { database, log, metrics, signal, pause, outage } = deps;
  const began = performance.now();
  let left = leases;
  const stopRenewing = renewing(database, leases);
  try {
    for (;;) {
      if (signal.aborted) {
        await database.execute('returnLeases', { leases: left });
        return [];
      }
      const chunkBegan = performance.now();
      const derived = await deriveChunk(deps, left);
      if (derived.size === 0) return [...left];
      left = left.filter(({ session_id }) => !derived.has(session_id));
      const ms = performance.now() - chunkBegan;
      for (let n = 0; n < derived.size; n++) metrics.derived(ms / 1_000 / derived.size);
      log.debug({ sessions: derived.size, ms: Math.round(ms) }, 'derived together');
      outage.began = false;
      outage.backoff.reset();
      if (left.length === 0) return [];
    }
  } catch (error) {
    if (!isTransient(error)) return [...left]; // one by one, so that only the one that fails does
    await interrupted(deps, left, error).catch((releaseError: unknown) => {
      log.warn(
        { sessions: left.length, reason: reasonOf(releaseError) },
        'leases could not be given back; they will expire',
      );
    });
    return [];
  } finally {
    stopRenewing();
    await pause?.(performance.now() - began);
  }
}

/** Derives what one page of turns holds. @returns the sessions that are done with, also those whose lease was lost */
async function deriveChunk(
  { database, reader, precedence }: LeasedDeps,
  leases: readonly Lease[],
): Promise<ReadonlySet<string>> {
  const session_ids = leases.flatMap((lease) => (lease.from_scratch || lease.background ? [] : lease.session_id));
  if (session_ids.length === 0) return new Set();
  const found = await database.execute('simpleSessions', {
    session_ids,
    version: DERIVE_VERSION,
    max_turns: MAX_TURNS,
  });
  if (found.length === 0) return new Set();
  const unfolded = found.map(({ session_id, state, up_to_seq }) => ({
    session_id,
    up_to_seq,
    after: state?.state.last ?? null,
  }));
  const { turns, more } = await loadTurns(database, reader, unfolded, MAX_TURNS);
  const incomplete = new Set(more);
  const turnsBySession = bySession(turns);
  const leasesBySession = new Map(leases.map((lease) => [lease.session_id, lease]));
  const commits: DeriveCommit[] = [];
  let rows = 0;
  const yieldThread = openYielder();
  for (const session of found) {
    const lease = leasesBySession.get(session.session_id);
    if (!lease || incomplete.has(session.session_id)) continue;
    const commit = folded(lease, session, turnsBySession.get(session.session_id) ?? [], reader.priceOf);
    if (rowsOf(commit) > COMMIT_ROWS) continue;
    rows += rowsOf(commit);
    if (rows > COMMIT_ROWS) break;
    commits.push(commit);
    await yieldThread();
  }
  if (commits.length === 0) return new Set();
  const ended = await precedence.committing(() => database.execute('commitDerive', { commits }));
  return new Set(ended.map(({ session_id }) => session_id));
}

function bySession(turns: readonly CallTurn[]): ReadonlyMap<string, CallTurn[]> {
  const sessions = new Map<string, CallTurn[]>();
  for (const turn of turns) {
    const own = sessions.get(turn.session_id);
    if (own) own.push(turn);
    else sessions.set(turn.session_id, [turn]);
  }
  return sessions;
}

const rowsOf = ({ changes }: DeriveCommit): number =>
  changes ? changes.traces.length + changes.spans.length + changes.patches.length + changes.links.length : 0;

function folded(
  { session_id, lease_token, mark }: Lease,
  { state, up_to_seq }: SimpleSession,
  turns: readonly CallTurn[],
  priceOf: LeasedDeps['reader']['priceOf'],
): DeriveCommit {
  const sum = noChanges();
  const checkpoints: Checkpoint[] = [];
  const before = state ? stateOf(state) : emptyState(session_id);
  const after = fold(before, turns, { sum, checkpoints, priceOf, evidence: noEvidence });
  const changes = summed(sum);
  const kept_checkpoints = retainedCheckpoints(after.turns, 'wire');
  return {
    ...{ session_id, lease_token, mark, is_new: state === null, changes: changes && projectionRows(changes) },
    states: stateRows(session_id, {
      ...{ state: after.turns > 0 ? after : null, folded_seq: up_to_seq, checkpoints, kept_checkpoints },
      replacing: false,
    }),
    ...{ kept_checkpoints, replace: null, replacing: false, others: null, more: false, transcripts: null },
  };
}
