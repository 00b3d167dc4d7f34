/** Stores turns that clients captured themselves: each is read, sliced and committed before its sender gets the verdict. */

import { completeTurn, type LooseSlice } from '../../call/complete-turn.ts';
import { callMemory } from '../../call/memory.ts';
import { type OpenedExchange, openExchange } from '../../call/open-exchange.ts';
import type { PreparedTurn } from '../../call/prepared-turn.ts';
import type { Reader } from '../../call/reader.ts';
import { instantNow } from '../../capture/clock.ts';
import type { Database } from '../../db/database.ts';
import type { AppendedTurn, TurnBatch } from '../../db/store/append-turns.ts';
import { DatabaseError } from '../../errors.ts';
import type { Metrics } from '../../metrics.ts';
import type { AcceptedTurn, IngestVerdict } from '../../model/ingest.ts';
import { findPreviousCall } from '../intake/find-previous-call.ts';
import { openNewSlices } from '../intake/new-slices.ts';
import { ingestExchange } from './ingest-exchange.ts';

export type IngestWriter = {
  /** @param subject the sender, where a gateway is trusted to name it. @throws {DatabaseError} the database refuses the turn: a bug here */
  append(body: Uint8Array, subject: string | null): Promise<IngestVerdict>;
  /** Resolves when no turn is in flight. */
  idle(): Promise<void>;
};

type Deps = {
  database: Database;
  reader: Reader;
  identityKey: Uint8Array;
  newId: () => string;
  metrics: Pick<Metrics, 'intakeTurn' | 'notCaptured'>;
  committed?: () => void; // turns have come in
};

/** A turn that waits to be written, with the functions that settle its sender's promise. */
type Waiting = {
  turn: PreparedTurn;
  slices: LooseSlice[];
  resolve(stored: Omit<AcceptedTurn, 'request_id' | 'provider'>): void;
  reject(error: unknown): void;
};

const UNIQUE_VIOLATION = '23505';
const BATCH = { turns: 64, bytes: 16_777_216 };

/** Turns that come at the same time share a transaction. */
export function openIngest({ database, reader, identityKey, newId, metrics, committed }: Deps): IngestWriter {
  const memory = callMemory(reader);
  const newSlices = openNewSlices(database);
  let waiting: Waiting[] = [];
  let underway: readonly Waiting[] = [];
  let writing = false;
  const inFlight = new Set<Promise<unknown>>();
  const notYetQueued = new Set<Promise<unknown>>(); // those of `inFlight` that are not queued for writing yet

  const append = (body: Uint8Array, subject: string | null): Promise<IngestVerdict> => {
    const verdict = appended(body, subject);
    inFlight.add(verdict);
    return verdict.finally(() => inFlight.delete(verdict));
  };

  const appended = async (body: Uint8Array, subject: string | null): Promise<IngestVerdict> => {
    const ingested = ingestExchange(body, { identityKey, newId, now: instantNow, subject });
    if (ingested.kind === 'malformed') return ingested;
    const { exchange, identityOf, unusable } = ingested;
    const opened = openExchange(exchange, identityOf, memory);
    try {
      const enqueuing = enqueue(opened, exchange.client_key, [...notYetQueued]);
      notYetQueued.add(enqueuing);
      const queued = await enqueuing.finally(() => notYetQueued.delete(enqueuing));
      const { raw_turn_id, session_id, deduped } = await queued.stored;
      const { call_id: request_id, provider } = queued.turn;
      const result = { raw_turn_id, session_id, request_id, deduped, provider };
      const reason = unusable ?? unreadable(queued.turn);
      return reason === null ? { kind: 'accepted', ...result } : { kind: 'unusable', error: reason, ...result };
    } catch (error) {
      if (!(error instanceof DatabaseError && error.transient)) throw error;
      return { kind: 'unavailable', error: 'Cannot keep the turn: the database is not available' };
    }
  };

  /**
   * One of several turns that come at once may continue another. So the turns that came before are waited for until they are queued too,
   * where the named call is not found, and always where the last call of a conversation is looked for.
   */
  const enqueue = async (opened: OpenedExchange, client_key: string, earlier: readonly Promise<unknown>[]) => {
    const continuation = { ...opened.continuation, client_key };
    const find = () =>
      findPreviousCall(
        database.execute,
        continuation,
        [...underway, ...waiting].map(({ turn }) => turn),
      );
    let previous = await find();
    if (earlier.length > 0 && (continuation.conversation || (continuation.response_id !== '' && !previous))) {
      await Promise.allSettled(earlier);
      previous = await find();
    }
    const prepared = completeTurn(opened, previous, memory);
    if (prepared.kind === 'counted') throw new Error('Cannot keep an ingested turn: it is counted instead');
    return { turn: prepared.turn, stored: write(prepared.turn, prepared.slices) };
  };

  const write = (turn: PreparedTurn, slices: LooseSlice[]) =>
    new Promise<Omit<AcceptedTurn, 'request_id' | 'provider'>>((resolve, reject) => {
      waiting.push({ turn, slices, resolve, reject });
      if (!writing) void writeAll();
    });

  const writeAll = async () => {
    writing = true;
    while (waiting.length > 0) {
      const batch = nextBatch(waiting);
      waiting = waiting.slice(batch.length);
      underway = batch;
      await settle(batch);
      underway = [];
    }
    writing = false;
  };

  /** A turn that the database refuses must not fail the others. */
  const settle = async (batch: readonly Waiting[]): Promise<void> => {
    try {
      await commit(batch);
    } catch (error) {
      const alone = batch.length === 1 || (error instanceof DatabaseError && error.transient);
      if (!alone) for (const one of batch) await settle([one]);
      else for (const { reject } of batch) reject(error);
    }
  };

  const commit = async (batch: readonly Waiting[]): Promise<void> => {
    const slices = batch.flatMap((one) => one.slices);
    const turns = batch.map(({ turn }) => turn);
    const fresh = await newSlices.storing(slices, (packed) => stored({ ...packed, turns, counted: [], positions: [] }));
    if (fresh.length > 0) newSlices.stored(slices); // where no turn was new, no slice was stored
    const known = new Map(fresh.map((one) => [one.call_id, { ...one, deduped: false }]));
    const others = turns.map(({ call_id }) => call_id).filter((call_id) => !known.has(call_id));
    const before = others.length > 0 ? await database.execute('storedCalls', { call_ids: others }) : [];
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
    for (const { outcome } of fresh) {
      metrics.intakeTurn(outcome);
      if (outcome === 'undecodable') metrics.notCaptured(outcome);
    }
    if (fresh.length > 0) committed?.();
  };

  /** Appends a batch. Where another process has stored the same request meanwhile, the second attempt finds it. */
  const stored = async (batch: TurnBatch): Promise<AppendedTurn[]> => {
    try {
      return await database.execute('appendTurns', batch);
    } catch (error) {
      if (!(error instanceof DatabaseError && error.sqlstate === UNIQUE_VIOLATION)) throw error;
      return database.execute('appendTurns', batch);
    }
  };

  return {
    append,
    idle: async () => {
      while (inFlight.size > 0) await Promise.allSettled(inFlight);
    },
  };
}

function nextBatch(waiting: readonly Waiting[]): Waiting[] {
  let bytes = 0;
  const past = waiting.findIndex(({ turn }, index) => {
    bytes += turn.request.bytes + turn.response.bytes;
    return index >= BATCH.turns || (index > 0 && bytes > BATCH.bytes);
  });
  return waiting.slice(0, past === -1 ? waiting.length : past);
}

/** Why the turn cannot be used as it is; null when it can. A failed call needs no answer that can be read. */
function unreadable({ meta, nodes, status, outcome }: PreparedTurn): string | null {
  if (nodes.call.unreadable !== '') return nodes.call.unreadable;
  if (outcome !== 'captured' && status !== null && status < 300 && nodes.call.leaf_hash === null)
    return typeof meta.answer_unreadable === 'string'
      ? meta.answer_unreadable
      : 'Cannot read the answer: it says nothing';
  return null;
}
