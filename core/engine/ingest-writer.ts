/** How does a turn that a client captured itself get into the log? Read, sliced and committed before its sender hears of it. */
import { instantNow } from '../capture/clock.ts';
import type { Database } from '../db/database.ts';
import type { AppendedTurn, PreparedTurn, TurnBatch } from '../db/store/append-turns.ts';
import { DatabaseError } from '../errors.ts';
import type { Metrics } from '../metrics.ts';
import type { AcceptedTurn, IngestVerdict } from '../model/ingest.ts';
import { ingestExchange } from './ingest-exchange.ts';
import { openNewSlices } from './new-slices.ts';
import { type LooseSlice, type OpenedExchange, openExchange, prepareMemory } from './prepare-exchange.ts';
import { previousCall } from './previous-call.ts';
import type { Reader } from './reader.ts';

export type IngestWriter = {
  /** @param subject who sends, where that is believed. @throws {DatabaseError} the database refuses the turn: a fault of ours */
  append(body: Uint8Array, subject: string | null): Promise<IngestVerdict>;
  /** Resolves when nothing is on its way. */
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

/** A turn on its way, with what its sender is waiting for. */
type Waiting = {
  turn: PreparedTurn;
  slices: LooseSlice[];
  kept(stored: Omit<AcceptedTurn, 'request_id' | 'provider'>): void;
  failed(error: unknown): void;
};

const UNIQUE_VIOLATION = '23505';
const BATCH = { turns: 64, bytes: 16_777_216 };

/** Turns that come at the same time share a transaction. */
export function openIngest({ database, reader, identityKey, newId, metrics, committed }: Deps): IngestWriter {
  const memory = prepareMemory(reader);
  const newSlices = openNewSlices(database);
  let waiting: Waiting[] = [];
  let underway: readonly Waiting[] = [];
  let writing = false;
  const onTheWay = new Set<Promise<unknown>>();
  const liningUp = new Set<Promise<unknown>>(); // of these, what is not in line to be written yet

  const append = (body: Uint8Array, subject: string | null): Promise<IngestVerdict> => {
    const verdict = appended(body, subject);
    onTheWay.add(verdict);
    return verdict.finally(() => onTheWay.delete(verdict));
  };

  const appended = async (body: Uint8Array, subject: string | null): Promise<IngestVerdict> => {
    const ingested = ingestExchange(body, { identityKey, newId, now: instantNow, subject });
    if (ingested.kind === 'malformed') return ingested;
    const { exchange, identityOf, unusable } = ingested;
    const opened = openExchange(exchange, identityOf, memory);
    try {
      const lining = linedUp(opened, exchange.client_key, [...liningUp]);
      liningUp.add(lining);
      const made = await lining.finally(() => liningUp.delete(lining));
      const { raw_turn_id, session_id, deduped } = await made.stored;
      const { call_id: request_id, provider } = made.turn;
      const kept = { raw_turn_id, session_id, request_id, deduped, provider };
      const why = unusable ?? unreadable(made.turn);
      return why === null ? { kind: 'accepted', ...kept } : { kind: 'unusable', error: why, ...kept };
    } catch (error) {
      if (!(error instanceof DatabaseError && error.transient)) throw error;
      return { kind: 'unavailable', error: 'Cannot keep the turn: the database is not available' };
    }
  };

  /**
   * Of several that come at once one may go on from the other. So where the call that is named is not found, and for the last one
   * of a conversation always, those that came before are waited for, until they are in line too.
   */
  const linedUp = async (opened: OpenedExchange, client_key: string, earlier: readonly Promise<unknown>[]) => {
    const named = { ...opened.goesOn, client_key };
    const find = () =>
      previousCall(
        database.execute,
        named,
        [...underway, ...waiting].map(({ turn }) => turn),
      );
    let previous = await find();
    if (earlier.length > 0 && (named.conversation || (named.response_id !== '' && !previous))) {
      await Promise.allSettled(earlier);
      previous = await find();
    }
    const made = opened.prepared(previous);
    if (made.kind === 'booked') throw new Error('Cannot keep an ingested turn: it is booked instead');
    return { turn: made.turn, stored: write(made.turn, made.slices) };
  };

  const write = (turn: PreparedTurn, slices: LooseSlice[]) =>
    new Promise<Omit<AcceptedTurn, 'request_id' | 'provider'>>((kept, failed) => {
      waiting.push({ turn, slices, kept, failed });
      if (!writing) void writeAll();
    });

  const writeAll = async () => {
    writing = true;
    while (waiting.length > 0) {
      const batch = taken(waiting);
      waiting = waiting.slice(batch.length);
      underway = batch;
      await settle(batch);
      underway = [];
    }
    writing = false;
  };

  /** One that the database refuses must not cost the others their answer. */
  const settle = async (batch: readonly Waiting[]): Promise<void> => {
    try {
      await commit(batch);
    } catch (error) {
      const alone = batch.length === 1 || (error instanceof DatabaseError && error.transient);
      if (!alone) for (const one of batch) await settle([one]);
      else for (const { failed } of batch) failed(error);
    }
  };

  const commit = async (batch: readonly Waiting[]): Promise<void> => {
    const slices = batch.flatMap((one) => one.slices);
    const turns = batch.map(({ turn }) => turn);
    const fresh = await newSlices.storing(slices, (packed) => stored({ ...packed, turns, booked: [], positions: [] }));
    if (fresh.length > 0) newSlices.stored(slices); // where nothing was new, none of them was put
    const known = new Map(fresh.map((one) => [one.call_id, { ...one, deduped: false }]));
    const others = turns.map(({ call_id }) => call_id).filter((call_id) => !known.has(call_id));
    const before = others.length > 0 ? await database.execute('storedCalls', { call_ids: others }) : [];
    const found = new Map(before.map((one) => [one.call_id, { ...one, deduped: true }]));
    const told = new Set<string>();
    for (const { turn, kept, failed } of batch) {
      const one = known.get(turn.call_id) ?? found.get(turn.call_id);
      if (!one) failed(new Error('Cannot find an ingested turn: it was neither stored nor known'));
      else
        kept({
          raw_turn_id: one.raw_turn_id,
          session_id: one.session_id,
          deduped: one.deduped || told.has(turn.call_id),
        });
      told.add(turn.call_id);
    }
    for (const { outcome } of fresh) {
      metrics.intakeTurn(outcome);
      if (outcome === 'undecodable') metrics.notCaptured(outcome);
    }
    if (fresh.length > 0) committed?.();
  };

  /** Where another process has stored the same request meanwhile, the database finds it when it is asked once more. */
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
      while (onTheWay.size > 0) await Promise.allSettled(onTheWay);
    },
  };
}

function taken(waiting: readonly Waiting[]): Waiting[] {
  let bytes = 0;
  const past = waiting.findIndex(({ turn }, index) => {
    bytes += turn.request.bytes + turn.response.bytes;
    return index >= BATCH.turns || (index > 0 && bytes > BATCH.bytes);
  });
  return waiting.slice(0, past === -1 ? waiting.length : past);
}

/** Why nobody can use the turn as it is; null when somebody can. A failed call needs no answer that can be read. */
function unreadable({ meta, nodes, status, outcome }: PreparedTurn): string | null {
  if (nodes.call.unreadable !== '') return nodes.call.unreadable;
  if (outcome !== 'captured' && status !== null && status < 300 && nodes.call.leaf_hash === null)
    return typeof meta.answer_unreadable === 'string'
      ? meta.answer_unreadable
      : 'Cannot read the answer: it says nothing';
  return null;
}
