/** Intake: moves calls from the journal into the database in batches, in order, each once, whatever the database does meanwhile. */

import { completeTurn, type LooseSlice } from '../../call/complete-turn.ts';
import { callMemory } from '../../call/memory.ts';
import type { CountedRequest, PreparedTurn } from '../../call/prepared-turn.ts';
import type { Continuation } from '../../call/previous-call.ts';
import { builtIn, type Reader } from '../../call/reader.ts';
import type { JournalCall, JournalPosition } from '../../capture/journal-format.ts';
import type { JournalEntry, JournalReader } from '../../capture/journal-reader.ts';
import type { Database } from '../../db/database.ts';
import type { TurnBatch } from '../../db/store/append-turns.ts';
import { DatabaseError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { EnginePace } from '../pace.ts';
import { openPrecedence, type Precedence } from '../precedence.ts';
import { openYielder } from '../yielder.ts';
import { findPreviousCall } from './find-previous-call.ts';
import { type FreshSlices, openNewSlices } from './new-slices.ts';
import { openCall } from './open-call.ts';

export type Intake = {
  /** Reports that there may be something to read. */
  poke(): void;
  /** Resolves when all that the journal held by now is in the database. */
  drained(): Promise<void>;
  /** Resolves after the signal, once no batch is being stored. */
  stopped: Promise<void>;
};

type Deps = {
  database: Database;
  journal: JournalReader;
  reader?: Reader;
  log: Logger;
  metrics: Pick<Metrics, 'intakeTurn' | 'intakeBatch' | 'notCaptured'>;
  signal: AbortSignal;
  stored?: () => void; // turns have come in
  freed?: (bytes: number) => void; // of the journal, deleted
  pause?: EnginePace['pause'];
  precedence?: Precedence;
};

const BATCH = { entries: 256, bytes: 8_388_608 };
const IDLE_MS = 1_000;
const DELETE_INTERVAL_MS = { embedded: 2_000, server: 0 }; // between two deletions of read segments: each costs the embedded database a checkpoint
const RETRY_MS = { first: 100, max: 5_000 };

/** An entry of the journal, ready to be stored. `turn`, `counted` or neither; `broken` says why a call cannot be prepared. */
type PreparedEntry = {
  position: JournalPosition;
  call: JournalCall | null;
  turn: PreparedTurn | null;
  slices: LooseSlice[];
  counted: CountedRequest | null;
  broken: string | null;
};

/** Runs until the signal; in a worker thread, since reading bodies takes its time. */
export function runIntake({
  database,
  journal,
  reader = builtIn,
  log,
  metrics,
  signal,
  stored,
  freed,
  pause,
  precedence = openPrecedence(database),
}: Deps): Intake {
  const memory = callMemory(reader);
  const newSlices = openNewSlices(database);
  const wakeUp = openWakeUp(signal);
  let drainers: (() => void)[] = [];
  let deletedAt = Number.NEGATIVE_INFINITY;
  let failing = false;

  /** Retries for as long as that may help: the journal holds the calls meanwhile. @throws an error that a retry cannot help */
  const withRetry = async <T>(
    work: () => Promise<T>,
    isRetryable: (error: unknown) => boolean = isTransient,
  ): Promise<T> => {
    for (let wait = RETRY_MS.first; ; wait = Math.min(wait * 2, RETRY_MS.max)) {
      try {
        const result = await work();
        if (failing) log.info('The database answers again: the journal is being taken in');
        failing = false;
        return result;
      } catch (error) {
        if (signal.aborted || !isRetryable(error)) throw error;
        if (!failing)
          log.warn(
            { reason: reasonOf(error) },
            'Cannot store turns: the database does not take them; they wait in the journal',
          );
        failing = true;
        await wakeUp.wait(wait, 'signal only');
      }
    }
  };

  const prepared = async (entries: readonly JournalEntry[]): Promise<PreparedEntry[]> => {
    const preparedEntries: PreparedEntry[] = [];
    const yieldThread = openYielder();
    for (const entry of entries) {
      preparedEntries.push(await preparedEntry(entry, preparedEntries));
      await yieldThread();
    }
    return preparedEntries;
  };

  const preparedEntry = async (entry: JournalEntry, earlier: readonly PreparedEntry[]): Promise<PreparedEntry> => {
    const item: PreparedEntry = {
      position: entry.position,
      call: null,
      turn: null,
      slices: [],
      counted: null,
      broken: null,
    };
    if (entry.kind === 'finished') return item;
    if (entry.kind === 'counted') return { ...item, counted: entry.counted };
    const { client_key } = entry.call.opened;
    try {
      const opened = openCall(entry.call, memory);
      const previous = await previousOf({ ...opened.continuation, client_key }, earlier);
      const result = completeTurn(opened, previous, memory);
      if (result.kind === 'counted') return { ...item, counted: result.counted };
      return { ...item, call: entry.call, turn: result.turn, slices: result.slices };
    } catch (error) {
      if (signal.aborted) throw error;
      return { ...item, call: entry.call, broken: reasonOf(error) }; // a bug here: the bytes stay stored until it is fixed
    }
  };

  const previousOf = (continuation: Continuation & { client_key: string }, earlier: readonly PreparedEntry[]) =>
    withRetry(() =>
      findPreviousCall(
        database.execute,
        continuation,
        earlier.flatMap(({ turn }) => turn ?? []),
      ),
    );

  const batchOf = (items: readonly PreparedEntry[], fresh: FreshSlices): TurnBatch => ({
    ...fresh,
    turns: items.flatMap(({ turn }) => turn ?? []),
    counted: items.flatMap(({ counted, position }) => (counted ? { ...counted, position } : [])),
    positions: [...new Map(items.map(({ position }) => [position.run_id, position])).values()],
  });

  const append = async (items: readonly PreparedEntry[]) => {
    const slices = items.flatMap((item) => item.slices);
    const { batch, turns } = await newSlices.storing(slices, async (fresh) => {
      const batch = batchOf(items, fresh);
      return { batch, turns: await database.execute('appendTurns', batch) };
    });
    newSlices.stored(slices);
    for (const position of batch.positions) journal.committed(position);
    for (const { outcome } of turns) {
      metrics.intakeTurn(outcome);
      if (outcome === 'undecodable') metrics.notCaptured(outcome);
    }
    for (const { outcome } of batch.counted)
      if (outcome === 'over_limit' || outcome === 'crashed') metrics.notCaptured(outcome);
    if (turns.length > 0) stored?.();
  };

  /** Parks a turn that the database refuses, with its bytes. This is retried for ever: if it fails, the turn is not the cause. */
  const park = async ({ call, position }: PreparedEntry, reason: string) => {
    if (!call) throw new Error(`Cannot book a request: ${reason}`);
    const { opened, request, response } = call;
    await withRetry(
      () => database.execute('parkTurn', { opened, request, response, reason, position }),
      () => true,
    );
    journal.committed(position);
    metrics.intakeTurn('poison');
    metrics.notCaptured('poison');
    const { svc_proxy_request_id } = opened;
    log.error(
      { svc_proxy_request_id, reason },
      'Cannot store a turn: it is refused; it is kept aside in svc.parked_turns',
    );
  };

  /** Stores in order, so that no position runs ahead of what is stored. A batch that is refused is halved until the culprit is alone. */
  const store = async (items: readonly PreparedEntry[]): Promise<void> => {
    const [first] = items;
    if (!first) return;
    const broken = items.findIndex((item) => item.broken !== null);
    const culprit = items[broken];
    if (culprit) {
      await store(items.slice(0, broken));
      await park(culprit, culprit.broken ?? '');
      return store(items.slice(broken + 1));
    }
    try {
      // An entry without a call holds nothing that could be refused: the cause lies elsewhere and may go away.
      await withRetry(
        () => append(items),
        (error) => isTransient(error) || (items.length === 1 && !first.call),
      );
    } catch (error) {
      if (signal.aborted) throw error;
      if (items.length === 1) return park(first, reasonOf(error));
      const half = items.length >> 1;
      await store(items.slice(0, half));
      await store(items.slice(half));
    }
  };

  /** Deletes segments that nothing needs, once their turns would survive a power cut. */
  const deleteSegments = async () => {
    if (performance.now() - deletedAt < DELETE_INTERVAL_MS[database.kind]) return;
    const segments = journal.removable();
    if (segments.length === 0) return;
    deletedAt = performance.now();
    try {
      await withRetry(() => database.execute('checkpoint', {}));
    } catch (error) {
      log.warn(
        { reason: reasonOf(error) },
        'Cannot delete journal segments: the database made no checkpoint; they stay',
      );
      return;
    }
    const bytes = await journal.remove(segments);
    if (bytes > 0) freed?.(bytes);
  };

  const run = async () => {
    while (!signal.aborted) {
      const waiting = drainers;
      drainers = [];
      const entries = await journal.read(BATCH);
      if (entries.length > 0) {
        drainers = [...waiting, ...drainers];
        const from = performance.now();
        await precedence.storing(async () => store(await prepared(entries)));
        const workedMs = performance.now() - from;
        metrics.intakeBatch(workedMs / 1e3);
        await pause?.(workedMs);
      }
      await deleteSegments();
      if (entries.length > 0) continue;
      for (const done of waiting) done();
      if (drainers.length === 0) await wakeUp.wait(IDLE_MS);
    }
  };

  const stopped = run().catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  return {
    poke: wakeUp.notify,
    drained: () =>
      new Promise((done) => {
        drainers.push(done);
        wakeUp.notify();
      }),
    stopped,
  };
}

const isTransient = (error: unknown) => error instanceof DatabaseError && error.transient;

/** What may be logged of an error: messages of libraries may quote the value that they failed at. */
const reasonOf = (error: unknown): string =>
  error instanceof DatabaseError ? error.message : error instanceof Error ? error.name : 'unknown';

/** A wait that ends early at the signal, or at a notification, including one from before it began. */
function openWakeUp(signal: AbortSignal) {
  let notified = false;
  let wake = () => {};
  signal.addEventListener('abort', () => wake(), { once: true });
  return {
    notify: () => {
      notified = true;
      wake();
    },
    wait: (ms: number, until: 'notified' | 'signal only' = 'notified') =>
      new Promise<void>((done) => {
        const timer = setTimeout(() => finish(), ms);
        const finish = () => {
          clearTimeout(timer);
          wake = () => {};
          if (until === 'notified') notified = false;
          done();
        };
        wake = () => {
          if (signal.aborted || (until === 'notified' && notified)) finish();
        };
        wake();
      }),
  };
}
