/** The queue of ingested turns that are ready to be stored: those that come at the same time share a transaction. */

import type { LooseSlice } from '../../call/complete-turn.ts';
import type { PreparedTurn } from '../../call/prepared-turn.ts';
import type { Database } from '../../db/database.ts';
import type { AppendedTurn } from '../../db/store/append-turns.ts';
import type { StoredCall } from '../../db/store/stored-calls.ts';
import type { Metrics } from '../../metrics.ts';
import type { AcceptedTurn } from '../../model/ingest.ts';
import { commitTogether, type Waiting, withSecondAttempt } from '../intake/commit-together.ts';
import { type NewSlices, openNewSlices } from '../intake/new-slices.ts';
import type { StoreDeps } from '../intake/store-entries.ts';

export type IngestedTurn = Omit<AcceptedTurn, 'request_id' | 'provider'>;

export type IngestQueue = {
  /** @throws {DatabaseError} the database does not take the turn */
  write(turn: PreparedTurn, slices: LooseSlice[]): Promise<IngestedTurn>;
  /** The turns that are not committed yet, in the order in which they will be. */
  uncommitted(): PreparedTurn[];
};

export type IngestQueueDeps = {
  database: Database;
  metrics: Pick<Metrics, 'intakeTurn' | 'notCaptured'>;
  committed?: (() => void) | undefined; // turns have come in
  publish?: StoreDeps['publish'];
};

type Item = { turn: PreparedTurn; slices: LooseSlice[] };

const BATCH = { turns: 64, bytes: 16_777_216 };

export function openIngestQueue(deps: IngestQueueDeps): IngestQueue {
  const newSlices = openNewSlices(deps.database);
  let waiting: Waiting<Item, IngestedTurn>[] = [];
  let underway: typeof waiting = [];
  let writing = false;

  const writeAll = async () => {
    writing = true;
    while (waiting.length > 0) {
      const batch = nextBatch(waiting);
      waiting = waiting.slice(batch.length);
      underway = batch;
      await commitTogether(batch, (items) => commit(deps, newSlices, items));
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

async function commit(
  deps: IngestQueueDeps,
  newSlices: NewSlices,
  batch: readonly Item[],
): Promise<(IngestedTurn | Error)[]> {
  const { database, metrics, committed, publish } = deps;
  const slices = batch.flatMap((one) => one.slices);
  const turns = batch.map(({ turn }) => turn);
  const fresh = await newSlices.storing(
    slices,
    (packed) =>
      withSecondAttempt(() =>
        database.execute('appendTurns', {
          ...{ ...packed, turns, counted: [], positions: [] },
          report_nodes: publish !== undefined,
        }),
      ),
    (stored) => stored.length > 0,
  );
  for (const { outcome } of fresh) {
    metrics.intakeTurn(outcome);
    if (outcome === 'undecodable') metrics.notCaptured(outcome);
  }
  if (fresh.length > 0) committed?.();
  publish?.(fresh.flatMap(({ new_nodes }) => new_nodes ?? []));
  // The database may be gone by now: what is committed is so all the same, and only the others cannot be answered.
  const before = await storedBefore(database, turns, fresh).catch((error: Error) => error);
  return storedTurns(turns, fresh, before);
}

const storedBefore = async (database: Database, turns: readonly PreparedTurn[], fresh: readonly AppendedTurn[]) => {
  const known = new Set(fresh.map(({ call_id }) => call_id));
  const call_ids = turns.map(({ call_id }) => call_id).filter((call_id) => !known.has(call_id));
  return call_ids.length > 0 ? database.execute('storedCalls', { call_ids }) : [];
};

/** Each turn as it is stored now, or as it was known before. @param before an error: that could not be looked up */
function storedTurns(
  turns: readonly PreparedTurn[],
  fresh: readonly AppendedTurn[],
  before: readonly StoredCall[] | Error,
): (IngestedTurn | Error)[] {
  const known = new Map(fresh.map((one) => [one.call_id, { ...one, deduped: false }]));
  const earlier = before instanceof Error ? [] : before;
  const found = new Map(earlier.map((one) => [one.call_id, { ...one, deduped: true }]));
  const missing =
    before instanceof Error ? before : new Error('Cannot find an ingested turn: it was neither stored nor known');
  const reported = new Set<string>();
  return turns.map(({ call_id }) => {
    const one = known.get(call_id) ?? found.get(call_id);
    if (!one) return missing;
    const deduped = one.deduped || reported.has(call_id);
    reported.add(call_id);
    return { raw_turn_id: one.raw_turn_id, session_id: one.session_id, deduped };
  });
}

function nextBatch<One extends Item>(waiting: readonly One[]): One[] {
  let bytes = 0;
  const past = waiting.findIndex(({ turn }, index) => {
    bytes += turn.request.bytes + turn.response.bytes;
    return index >= BATCH.turns || (index > 0 && bytes > BATCH.bytes);
  });
  return waiting.slice(0, past === -1 ? waiting.length : past);
}
