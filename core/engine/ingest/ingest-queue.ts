/** The queue of ingested turns that are ready to be stored: those that come at the same time share a transaction. */

import type { LooseSlice } from '../../call/complete-turn.ts';
import type { PreparedTurn } from '../../call/prepared-turn.ts';
import type { Database } from '../../db/database.ts';
import type { AppendedTurn, TurnBatch } from '../../db/store/append-turns.ts';
import type { StoredCall } from '../../db/store/stored-calls.ts';
import { DatabaseError } from '../../errors.ts';
import type { Metrics } from '../../metrics.ts';
import type { AcceptedTurn } from '../../model/ingest.ts';
import { type NewSlices, openNewSlices } from '../intake/new-slices.ts';
import type { StoreDeps } from '../intake/store-entries.ts';

export type StoredTurn = Omit<AcceptedTurn, 'request_id' | 'provider'>;

export type IngestQueue = {
  /** @throws {DatabaseError} the database does not take the turn */
  write(turn: PreparedTurn, slices: LooseSlice[]): Promise<StoredTurn>;
  /** The turns that are not committed yet, in the order in which they will be. */
  uncommitted(): PreparedTurn[];
};

export type IngestQueueDeps = {
  database: Database;
  metrics: Pick<Metrics, 'intakeTurn' | 'notCaptured'>;
  committed?: (() => void) | undefined; // turns have come in
  publish?: StoreDeps['publish'];
};

/** A turn that waits to be written, with the functions that settle its sender's promise. */
type Waiting = {
  turn: PreparedTurn;
  slices: LooseSlice[];
  resolve(stored: StoredTurn): void;
  reject(error: unknown): void;
};

const UNIQUE_VIOLATION = '23505';
const BATCH = { turns: 64, bytes: 16_777_216 };

export function openIngestQueue(deps: IngestQueueDeps): IngestQueue {
  const newSlices = openNewSlices(deps.database);
  let waiting: Waiting[] = [];
  let underway: readonly Waiting[] = [];
  let writing = false;

  const writeAll = async () => {
    writing = true;
    while (waiting.length > 0) {
      const batch = nextBatch(waiting);
      waiting = waiting.slice(batch.length);
      underway = batch;
      await settle(deps, newSlices, batch);
      underway = [];
    }
    writing = false;
  };

  return {
    write: (turn, slices) =>
      new Promise((resolve, reject) => {
        waiting.push({ turn, slices, resolve, reject });
        if (!writing) void writeAll();
      }),
    uncommitted: () => [...underway, ...waiting].map(({ turn }) => turn),
  };
}

/** A turn that the database refuses must not fail the others. */
async function settle(deps: IngestQueueDeps, newSlices: NewSlices, batch: readonly Waiting[]): Promise<void> {
  try {
    await commit(deps, newSlices, batch);
  } catch (error) {
    const alone = batch.length === 1 || (error instanceof DatabaseError && error.transient);
    if (!alone) for (const one of batch) await settle(deps, newSlices, [one]);
    else for (const { reject } of batch) reject(error);
  }
}

async function commit(deps: IngestQueueDeps, newSlices: NewSlices, batch: readonly Waiting[]): Promise<void> {
  const { database, metrics, committed, publish } = deps;
  const slices = batch.flatMap((one) => one.slices);
  const turns = batch.map(({ turn }) => turn);
  const fresh = await newSlices.storing(
    slices,
    (packed) =>
      appended(database, { ...packed, turns, counted: [], positions: [], report_nodes: publish !== undefined }),
    (stored) => stored.length > 0,
  );
  answer(batch, fresh, await storedBefore(database, turns, fresh));
  for (const { outcome } of fresh) {
    metrics.intakeTurn(outcome);
    if (outcome === 'undecodable') metrics.notCaptured(outcome);
  }
  if (fresh.length > 0) committed?.();
  publish?.(fresh.flatMap(({ new_nodes }) => new_nodes ?? []));
}

const storedBefore = async (database: Database, turns: readonly PreparedTurn[], fresh: readonly AppendedTurn[]) => {
  const known = new Set(fresh.map(({ call_id }) => call_id));
  const call_ids = turns.map(({ call_id }) => call_id).filter((call_id) => !known.has(call_id));
  return call_ids.length > 0 ? database.execute('storedCalls', { call_ids }) : [];
};

/** Resolves each sender's promise: with the turn as it is stored now, or as it was known before. */
function answer(batch: readonly Waiting[], fresh: readonly AppendedTurn[], before: readonly StoredCall[]): void {
  const known = new Map(fresh.map((one) => [one.call_id, { ...one, deduped: false }]));
  const found = new Map(before.map((one) => [one.call_id, { ...one, deduped: true }]));
  const reported = new Set<string>();
  for (const { turn, resolve, reject } of batch) {
    const one = known.get(turn.call_id) ?? found.get(turn.call_id);
    if (!one) reject(new Error('Cannot find an ingested turn: it was neither stored nor known'));
    else
      resolve({
        raw_turn_id: one.raw_turn_id,
        session_id: one.session_id,
        deduped: one.deduped || reported.has(turn.call_id),
      });
    reported.add(turn.call_id);
  }
}

/** Appends a batch. Where another process has stored the same request meanwhile, the second attempt finds it. */
async function appended(database: Database, batch: TurnBatch): Promise<AppendedTurn[]> {
  try {
    return await database.execute('appendTurns', batch);
  } catch (error) {
    if (!(error instanceof DatabaseError && error.sqlstate === UNIQUE_VIOLATION)) throw error;
    return database.execute('appendTurns', batch);
  }
}

function nextBatch(waiting: readonly Waiting[]): Waiting[] {
  let bytes = 0;
  const past = waiting.findIndex(({ turn }, index) => {
    bytes += turn.request.bytes + turn.response.bytes;
    return index >= BATCH.turns || (index > 0 && bytes > BATCH.bytes);
  });
  return waiting.slice(0, past === -1 ? waiting.length : past);
}
