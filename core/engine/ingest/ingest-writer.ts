/** Stores turns that clients captured themselves: each is read, sliced and committed before its sender gets the verdict. */

import { completeTurn } from '../../call/complete-turn.ts';
import { type OpenedExchange, openExchange } from '../../call/open-exchange.ts';
import type { PreparedTurn } from '../../call/prepared-turn.ts';
import type { Continuation, PreviousCall } from '../../call/previous-call.ts';
import type { Reader } from '../../call/reader.ts';
import { instantNow } from '../../capture/clock.ts';
import { DatabaseError } from '../../errors.ts';
import type { IngestVerdict } from '../../model/ingest.ts';
import { openCallMemory } from '../call-memory.ts';
import { findPreviousCall } from '../intake/find-previous-call.ts';
import { ingestExchange } from './ingest-exchange.ts';
import { type IngestQueueDeps, openIngestQueue } from './ingest-queue.ts';

export type IngestWriter = {
  /** @param subject the sender, where a gateway is trusted to name it. @throws {DatabaseError} the database refuses the turn: a bug here */
  append(body: Uint8Array, subject: string | null): Promise<IngestVerdict>;
  /** Resolves when no turn is in flight. */
  idle(): Promise<void>;
};

type Deps = IngestQueueDeps & { reader: Reader; identityKey: Uint8Array; newId: () => string };

export function openIngest({ reader, identityKey, newId, ...queueDeps }: Deps): IngestWriter {
  const { database } = queueDeps;
  const { memory, used } = openCallMemory(reader);
  const queue = openIngestQueue(queueDeps);
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
    used();
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
    const continuation = { ...opened.continuation, client_key, identity: opened.identity };
    const find = () => findPreviousCall(database.execute, continuation, queue.uncommitted());
    let previous = await find();
    if (earlier.length > 0 && mayChange(continuation, previous)) {
      await Promise.allSettled(earlier);
      previous = await find();
    }
    const prepared = completeTurn(opened, previous, memory);
    if (prepared.kind === 'counted') throw new Error('Cannot keep an ingested turn: it is counted instead');
    return { turn: prepared.turn, stored: queue.write(prepared.turn, prepared.slices) };
  };

  return {
    append,
    idle: async () => {
      while (inFlight.size > 0) await Promise.allSettled(inFlight);
    },
  };
}

/** Whether another call may be the one that a request continues, once all that was sent before is known. */
function mayChange(
  { conversation, response_id, references: [last] }: Continuation,
  previous: PreviousCall | null,
): boolean {
  if (last !== undefined) return !previous?.answer?.item_ids.includes(last);
  return conversation !== null || (response_id !== '' && !previous);
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
