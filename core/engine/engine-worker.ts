/** The engine's thread, which runs behind the listeners: intake from the journal, what is ingested, and derivation. */
import { parentPort, workerData } from 'node:worker_threads';
import { answerCache } from '../call/read-answer.ts';
import { builtIn, type Reader } from '../call/reader.ts';
import { decodeBodySync, Undecodable } from '../capture/content-encoding.ts';
import { openJournalReader } from '../capture/journal-reader.ts';
import { collectWhenIdle } from '../collect-when-idle.ts';
import { connectDatabase } from '../db/client/connection.ts';
import { reasonOf } from '../errors.ts';
import { openLog } from '../log.ts';
import { openMetrics } from '../metrics.ts';
import type { PublisherState } from '../model/publisher-state.ts';
import { pricesWith } from '../price/price-file.ts';
import type { BrokerSettings } from '../publish/broker-messages.ts';
import type { Publisher } from '../publish/publisher.ts';
import { yieldToListeners } from '../yield-to-listeners.ts';
import { openEngineThrottle } from './engine-throttle.ts';
import { runIntake } from './intake/intake.ts';
import { reportingReader } from './intake/journal-age.ts';
import type { EngineData, FromEngine, ToEngine } from './messages.ts';
import { openPrecedence } from './precedence.ts';
import { reachDatabase } from './reach-database.ts';
import { runUpkeep } from './upkeep.ts';
import { openUploads } from './uploads.ts';

/** For what is queued to be published at a stop. */
const PUBLISH_MS = 3_000;

type Publish = Publisher['publish'] | undefined;

const data = workerData as EngineData;
if (data.yields) yieldToListeners(10);
collectWhenIdle();
const port = parentPort;
if (!port) throw new Error('Cannot run the engine: it is a worker thread');
const send = (message: FromEngine) => port.postMessage(message);

const log = openLog(data.logLevel).child({ part: 'engine' });
const metrics = openMetrics('engine');
const database = await connectDatabase(data.connection);
const stopping = new AbortController();
const { signal } = stopping;
const reader: Reader = {
  ...builtIn,
  ...(data.prices && { priceOf: pricesWith(data.prices, builtIn.priceOf) }),
  answers: answerCache(),
};

const { busy, pause } = openEngineThrottle(signal);
const precedence = openPrecedence(database);
const uploads = openUploads();
busy(data.busy);

let live = data.journal?.live ?? null;
let journalIntake: Awaited<ReturnType<typeof openIntake>> | null = null;

/** Loads only what the process runs: a proxy by itself is to be small. */
async function open() {
  const { connection } = data;
  const unavailable = (why: string) => send({ kind: 'away', why });
  if (data.reach && connection.kind === 'server') {
    const withoutIt = data.journal
      ? 'calls pass, and wait in the journal'
      : 'nothing is stored or read until it can be';
    await reachDatabase({ server: connection, unavailable, withoutIt, log, signal });
  }
  const { identity_key } = await database.execute('installation', {});
  send({ kind: 'reached' });
  const identityKey = Buffer.from(identity_key, 'hex');
  const derive = data.derive
    ? (await import('./derive/derive-worker.ts')).runDeriveWorker({
        database,
        reader,
        log,
        metrics,
        signal,
        pause,
        precedence,
        uploads,
      })
    : null;
  const indexing = data.derive
    ? (await import('./find/run-indexing.ts')).runIndexing({ database, precedence, pause, signal, log })
    : null;
  const stored = () => {
    derive?.poke();
    indexing?.poke();
  };
  const publisher = data.publish ? await openPublishing(data.publish) : null;
  const publish = publisher?.publish;
  if (data.journal) journalIntake = await openIntake(data.journal.folder, identityKey, stored, publish);
  const writers = data.ingest ? await openWriters(identityKey, stored, publish) : null;
  runUpkeep({ database, log, signal });
  const { retention: rules } = data;
  const retention = rules
    ? (await import('./retention/run-retention.ts')).runRetention({
        ...{ database, rules, precedence, pause, signal, log, metrics },
      })
    : null;
  const interval = connection.kind === 'server' && data.derive ? connection.partitioned : '';
  if (interval !== '') (await import('./run-partitions.ts')).runPartitions({ database, interval, log, signal });
  const reviews = data.derive
    ? (await import('./cache/run-reviews.ts')).runReviews({
        ...{ database, priceOf: reader.priceOf, precedence, pause, signal, log, metrics },
      })
    : null;
  const budgets = data.derive
    ? (await import('./budget/run-budgets.ts')).runBudgets({
        ...{ database, watched: data.budgets, signal, log, metrics },
      })
    : null;
  send({ kind: 'ready' });
  const idle = () => Promise.all([writers?.ingest.idle(), writers?.transcripts.idle()]);
  return { derive, indexing, writers, publisher, retention, reviews, budgets, idle };
}

async function openPublishing(settings: BrokerSettings): Promise<Publisher> {
  const [{ openPublisher }, { openBroker }] = await Promise.all([
    import('../publish/publisher.ts'),
    import('../publish/broker.ts'),
  ]);
  const changed = (state: PublisherState) => send({ kind: 'publisher', state });
  return openPublisher({ database, reader, broker: openBroker(settings), log, metrics, changed, pause });
}

async function openIntake(folder: string, identityKey: Uint8Array, stored: () => void, publish: Publish) {
  const positions = await database.execute('journalPositions', {});
  const { runId = '', written } = live ?? {}; // as of now: another run may have begun meanwhile
  const journal = reportingReader(
    openJournalReader({ folder, liveRunId: runId, positions, log }),
    runId,
    ({ segment, byteOffset }, waiting) => send({ kind: 'stored', segment, byteOffset, waiting }),
  );
  if (written) journal.written(written.segment, written.byteOffset);
  const freed = (bytes: number) => send({ kind: 'freed', bytes });
  const journalFault = (fault: string | null) => send({ kind: 'journal', fault });
  const intake = runIntake({
    ...{ database, journal, identityKey, reader, log, metrics, signal, stored, freed, pause, precedence, publish },
    journalFault,
  });
  return { journal, intake };
}

async function openWriters(identityKey: Uint8Array, committed: () => void, publish: Publish) {
  const [{ openIngest }, { openTranscripts }, { v7 }] = await Promise.all([
    import('./ingest/ingest-writer.ts'),
    import('./transcript/transcript-writer.ts'),
    import('uuid'),
  ]);
  return {
    ingest: openIngest({ database, reader, identityKey, newId: v7, metrics, committed, publish }),
    transcripts: openTranscripts({ database, committed }),
  };
}

const opened = open();
opened.catch((error: unknown) => {
  if (!signal.aborted) throw error; // the main thread restarts an engine that failed
});

port.on('message', (message: ToEngine) => {
  void (async () => {
    switch (message.kind) {
      case 'run':
        live = { runId: message.runId, written: null };
        journalIntake?.journal.nextRun(message.runId);
        journalIntake?.intake.poke();
        break;
      case 'written':
        if (live) live = { ...live, written: { segment: message.segment, byteOffset: message.byteOffset } };
        journalIntake?.journal.written(message.segment, message.byteOffset);
        journalIntake?.intake.poke();
        break;
      case 'busy':
        busy(message.listeners);
        break;
      case 'ingest':
        {
          const { writers } = await opened;
          const verdict = await appendSafely('an ingested turn', writers?.ingest, message);
          send({ kind: 'ingested', id: message.id, verdict });
        }
        break;
      case 'transcript':
        {
          const { writers } = await opened;
          send({
            kind: 'taken',
            id: message.id,
            verdict: await uploads.storing(() => appendSafely('a transcript', writers?.transcripts, message)),
          });
        }
        break;
      case 'decode':
        send({ kind: 'decoded', id: message.id, ...decodedBody(message) });
        break;
      case 'drain':
        await drained();
        send({ kind: 'drained', id: message.id });
        break;
      case 'metrics':
        send({ kind: 'metrics', id: message.id, metrics: await metrics.snapshot() });
        break;
      case 'stop':
        stopping.abort();
        await stopped();
        await database.close();
        journalIntake?.journal.close();
        process.exit(0);
    }
  })().catch((error: unknown) => {
    throw error; // the main thread restarts an engine that failed; the journal's positions make that safe
  });
});

function decodedBody({ body, contentEncoding }: { body: Uint8Array; contentEncoding: string }) {
  try {
    return { body: decodeBodySync(body, contentEncoding).bytes, reason: '' };
  } catch (error) {
    if (error instanceof Undecodable) return { body: null, reason: error.message };
    throw error;
  }
}

async function drained(): Promise<void> {
  const { idle } = await opened;
  await journalIntake?.intake.drained();
  await idle(); // what is not derived yet waits in its queue
}

async function stopped(): Promise<void> {
  const parts = await opened.catch(() => null); // the database had not been reached yet
  await Promise.allSettled([
    ...[journalIntake?.intake.stopped, parts?.idle(), parts?.derive?.stopped],
    ...[parts?.indexing?.stopped, parts?.retention, parts?.reviews, parts?.budgets],
  ]);
  await parts?.publisher?.close(PUBLISH_MS);
}

type Writer<Verdict> = { append(body: Uint8Array, subject: string | null): Promise<Verdict> };

/** Stores one body. When that fails, only its sender is affected: the error is logged, the sender gets null, and the engine goes on. */
async function appendSafely<Verdict>(
  what: string,
  writer: Writer<Verdict> | undefined, // undefined: none runs here, and nothing should have been sent
  { body, subject }: { body: Uint8Array; subject: string | null },
): Promise<Verdict | null> {
  try {
    if (!writer) throw new Error('Cannot keep anything: no writer runs here');
    return await precedence.storing(() => writer.append(body, subject));
  } catch (error) {
    const at = error instanceof Error ? error.stack?.split('\n').slice(1, 6).join('\n') : undefined; // stack frames, no message
    log.error({ reason: reasonOf(error), at }, `Cannot keep ${what}`);
    return null;
  }
}
