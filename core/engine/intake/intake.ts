/** Intake: moves calls from the journal into the database in batches, in order, each once, whatever the database does meanwhile. */

import type { PreparedTurn } from '../../call/prepared-turn.ts';
import { builtIn, type Reader } from '../../call/reader.ts';
import type { JournalEntry } from '../../capture/journal-calls.ts';
import type { JournalReader } from '../../capture/journal-reader.ts';
import type { Database } from '../../db/database.ts';
import type { Logger } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import { openCallMemory } from '../call-memory.ts';
import type { EngineThrottle } from '../engine-throttle.ts';
import { openPrecedence, type Precedence } from '../precedence.ts';
import { openWakeUp } from '../wake-up.ts';
import { isSetBack, openDatabaseRetry } from './database-retry.ts';
import { openDeletion } from './delete-segments.ts';
import { openJournalRetry } from './journal-retry.ts';
import { openNewSlices } from './new-slices.ts';
import { type PreparedEntry, prepareEntries } from './prepare-entries.ts';
import { openParkedRetry } from './retry-parked.ts';
import { type StoreDeps, storeEntries } from './store-entries.ts';

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
  /** The installation's, with which clients are hashed. */
  identityKey: Uint8Array;
  reader?: Reader;
  log: Logger;
  metrics: Pick<Metrics, 'intakeTurn' | 'intakeBatch' | 'notCaptured'>;
  signal: AbortSignal;
  stored?: () => void; // turns have come in
  freed?: (bytes: number) => void; // of the journal, deleted
  journalFault?: (code: string | null) => void; // the journal cannot be read, or can be again
  publish?: StoreDeps['publish'];
  pause?: EngineThrottle['pause'];
  precedence?: Precedence;
};

/** Turns that are being stored while the next are read. */
type Earlier = { turns: PreparedTurn[]; stored: Promise<void> };
const nothingEarlier = (): Earlier => ({ turns: [], stored: Promise.resolve() });

const BATCH = { entries: 256, bytes: 8_388_608 };
const IDLE_MS = 1_000;

/** Runs until the signal; in a worker thread, since reading bodies takes its time. */
export function runIntake({ reader = builtIn, precedence, ...deps }: Deps): Intake {
  const { database, journal, identityKey, log, metrics, signal, stored, freed, pause, publish, journalFault } = deps;
  const order = precedence ?? openPrecedence(database);
  const withRetry = openDatabaseRetry(log, signal);
  const { memory, used } = openCallMemory(reader);
  const preparing = { database, identityKey, memory, withRetry, signal };
  const newSlices = openNewSlices(database);
  const storing = { database, journal, newSlices, withRetry, log, metrics, signal, stored, publish };
  const retryParked = openParkedRetry({ ...preparing, ...storing });
  const untilRead = openJournalRetry(log, signal, journalFault);
  const deleteSegments = openDeletion({ database, journal, withRetry, log, freed });
  const wakeUp = openWakeUp(signal);
  let drainers: (() => void)[] = [];

  // While the database stores a batch, the next one is read.
  let earlier = nothingEarlier();

  const store = (items: readonly PreparedEntry[], readMs: number): Earlier => {
    const from = performance.now();
    const batch = { turns: items.flatMap(({ turn }) => turn ?? []), stored: Promise.resolve() };
    batch.stored = order
      .storing(() => storeEntries(storing, items))
      .then(() => {
        metrics.intakeBatch((readMs + performance.now() - from) / 1e3);
        batch.turns = []; // the database has them now, until a purge
      });
    batch.stored.catch(() => {}); // thrown where it is waited for
    return batch;
  };

  const takeIn = async (entries: readonly JournalEntry[]) => {
    const from = performance.now();
    const items = await prepareEntries(preparing, entries, earlier.turns);
    used();
    const readMs = performance.now() - from;
    await earlier.stored;
    earlier = store(items, readMs);
    await pause?.(performance.now() - from);
  };

  /** Whether there may be more. */
  const takeBatch = async (): Promise<boolean> => {
    const entries = await untilRead(() => journal.read(BATCH));
    if (entries.length > 0) await takeIn(entries);
    else await earlier.stored;
    await deleteSegments(() => earlier.stored);
    return entries.length > 0 || order.storing(retryParked);
  };

  /** Where the database has lost commits: from where it is now. Turns that it has are skipped by their ids. */
  const readAgain = async (error: unknown): Promise<boolean> => {
    if (!isSetBack(error)) throw error;
    await earlier.stored.catch(() => {}); // refused as well, as long as the reader knows what was committed
    earlier = nothingEarlier();
    const runs = journal.reopen(await withRetry(() => database.execute('journalPositions', {})));
    const bytes = runs.reduce((sum, run) => sum + run.bytes, 0);
    log.warn(
      { bytes, runs },
      'the database has lost what was stored last, as a standby may that takes over: that much of the journal is read again',
    );
    return true;
  };

  const run = async () => {
    while (!signal.aborted) {
      const waiting = drainers;
      drainers = [];
      if (await takeBatch().catch(readAgain)) {
        drainers = [...waiting, ...drainers];
        continue;
      }
      for (const done of waiting) done();
      if (drainers.length === 0) await wakeUp.wait(IDLE_MS);
    }
  };

  const stopped = run()
    .finally(() => earlier.stored)
    .catch((error: unknown) => {
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
