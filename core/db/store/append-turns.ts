/** Appends captured turns to the log: in batches, each in one transaction with all that follows from it. */

import type { Placement } from '../../call/placement.ts';
import type { CountedRequest, PreparedTurn } from '../../call/prepared-turn.ts';
import type { JournalPosition } from '../../capture/journal-format.ts';
import type { PackedSlice } from '../../capture/slice-codec.ts';
import type { Outcome } from '../../model/coverage.ts';
import { lockToMerge, mergeSessions } from '../edit/merge-sessions.ts';
import { pipelined } from '../pipelined.ts';
import type { Sql } from '../sql.ts';
import { useIndexes } from '../use-indexes.ts';
import { countCoverage } from './count-coverage.ts';
import { beyondStored, holdPositions, storePosition } from './journal-positions.ts';
import { logTurns } from './log-turns.ts';
import { markDirty, notifyDirty } from './mark-dirty.ts';
import { type NewNode, withNewNodes } from './new-nodes.ts';
import { unpark } from './parked-calls.ts';
import { placeTurns } from './place-turns.ts';
import { holdSlices } from './purge-count.ts';
import { writeNodes } from './put-nodes.ts';
import { recordForksBefore, recordNamedForks } from './record-forks.ts';
import { storedCalls } from './stored-calls.ts';

/** `slices` may omit those that were stored already at this count of purges. `counted` are requests that are no turns. */
export type TurnBatch = {
  turns: PreparedTurn[];
  slices: PackedSlice[];
  purges?: string | undefined; // undefined: none is omitted
  counted: (CountedRequest & { position: JournalPosition | null })[];
  positions: JournalPosition[]; // how far each journal is read with this batch
  committed?: readonly JournalPosition[]; // how far they were stored before, as far as the sender knows
  report_nodes?: boolean; // whether the turns are returned with their new nodes
  unparked?: string[]; // of these calls, which were set aside before
};

/** `new_nodes`: those that the turn is the first to hold, each after its parent; absent unless `report_nodes`. */
export type AppendedTurn = {
  raw_turn_id: number;
  call_id: string;
  session_id: string;
  outcome: Outcome;
  new_nodes?: NewNode[];
};

/**
 * Stores a batch, in the given order; the number of statements does not depend on its size. A turn whose request id is stored already is
 * skipped and not counted again, nor is a request that a journal's position has passed: a batch comes twice when its result was lost.
 * @returns the turns that were stored
 * @throws {DatabaseError} PURGED_MEANWHILE (purge-count.ts), JOURNAL_SET_BACK (journal-positions.ts)
 */
export const appendTurns = (db: Sql, batch: TurnBatch): Promise<AppendedTurn[]> =>
  db.transaction(async (tx) => {
    const [, , , uncounted, turns] = await pipelined([
      useIndexes(tx),
      batch.turns.length > 0 ? holdSlices(tx, batch.purges) : null,
      holdPositions(tx, batch.committed ?? []), // after the lock that a purge takes alone, for which a row may not wait
      beyondStored(tx, batch.counted),
      unstored(tx, batch.turns),
    ]);
    const stored = turns.length > 0 ? await storeTurns(tx, turns, batch) : [];
    const counted = turns.map(({ requested_at: at, provider, outcome }) => ({ at, provider, outcome }));
    await pipelined([
      countCoverage(tx, [...counted, ...uncounted]),
      ...batch.positions.map((position) => storePosition(tx, position)),
      stored.length > 0 ? notifyDirty(tx) : null,
      batch.unparked ? unpark(tx, batch.unparked) : null,
    ]);
    return stored;
  });

async function unstored(tx: Sql, turns: readonly PreparedTurn[]): Promise<PreparedTurn[]> {
  if (turns.length === 0) return [];
  const distinct = new Map([...turns].reverse().map((turn) => [turn.call_id, turn]));
  for (const { call_id } of await storedCalls(tx, { call_ids: [...distinct.keys()] })) distinct.delete(call_id);
  return [...distinct.values()].reverse();
}

async function storeTurns(
  tx: Sql,
  turns: readonly PreparedTurn[],
  { slices, report_nodes = false }: Pick<TurnBatch, 'slices' | 'report_nodes'>,
): Promise<AppendedTurn[]> {
  const placements = await placeTurns(tx, turns);
  const placed = turns.map((turn, index) => ({
    ...turn,
    source: 'wire' as const,
    place: placements[index] as Placement,
  }));
  const merges = placements.flatMap(({ merges, session_id: to }) => merges.map((from) => ({ from, to })));
  await lockToMerge(
    tx,
    merges,
    placements.map(({ session_id }) => session_id),
  );
  const { ids, opened } = await logTurns(tx, placed, slices);
  const stored = placed.map((turn) => {
    const { call_id, outcome, nodes, format, identity } = turn;
    const { session_id } = turn.place;
    return { raw_turn_id: ids.get(call_id) ?? 0, call_id, session_id, outcome, nodes, format, identity };
  });
  const fresh = await writeNodes(tx, stored, report_nodes);
  await recordNamedForks(tx, placed, opened);
  const awaited = new Set(placements.flatMap((place) => (place.awaited ? place.session_id : [])));
  await markDirty(tx, [...new Set(stored.map(({ session_id }) => session_id))], awaited);
  await mergeSessions(tx, merges);
  await recordForksBefore(tx, placed);
  const appended = stored.map(({ nodes: _, format: __, identity: ___, ...turn }) => turn);
  return report_nodes ? withNewNodes(appended, stored, fresh) : appended;
}
