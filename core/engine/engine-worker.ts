/** What runs behind the listeners, in a thread of its own: intake from the journal, what is ingested, and derivation. */
import { parentPort, workerData } from 'node:worker_threads';
import { v7 } from 'uuid';
import { openJournalReader } from '../capture/journal-reader.ts';
import { connectDatabase } from '../db/client/connection.ts';
import { pricesWith } from '../derive/price-file.ts';
import { DatabaseError } from '../errors.ts';
import { openLog } from '../log.ts';
import { openMetrics } from '../metrics.ts';
import { yieldToListeners } from '../yield-to-listeners.ts';
import { runDeriveWorker } from './derive-worker.ts';
import { openIngest } from './ingest-writer.ts';
import { runIntake } from './intake.ts';
import type { EngineData, FromEngine, ToEngine } from './messages.ts';
import { builtIn, type Reader } from './reader.ts';
import { openTranscripts } from './transcript-writer.ts';
import { runUpkeep } from './upkeep.ts';

yieldToListeners(10);
const data = workerData as EngineData;
const port = parentPort;
if (!port) throw new Error('Cannot run the engine: it is a worker thread');
const say = (message: FromEngine) => port.postMessage(message);

const log = openLog(data.logLevel).child({ part: 'engine' });
const metrics = openMetrics('engine');
const database = connectDatabase(data.connection);
const stopping = new AbortController();
const { signal } = stopping;
const reader: Reader = data.prices ? { ...builtIn, priceOf: pricesWith(data.prices, builtIn.priceOf) } : builtIn;

const derive = data.derive ? runDeriveWorker({ database, reader, log, metrics, signal }) : null;
const stored = () => derive?.poke();

const journal =
  data.journal &&
  openJournalReader({
    folder: data.journal.folder,
    liveRunId: data.journal.runId,
    positions: await database.ask('journalPositions', {}),
    log,
  });
if (data.journal?.written) journal?.written(data.journal.written.segment, data.journal.written.byteOffset);
const freed = (bytes: number) => say({ kind: 'freed', bytes });
const intake = journal && runIntake({ database, journal, reader, log, metrics, signal, stored, freed });

const { identity_key } = await database.ask('installation', {});
const ingest = openIngest({
  database,
  reader,
  identityKey: Buffer.from(identity_key, 'hex'),
  newId: v7,
  metrics,
  committed: stored,
});
const transcripts = openTranscripts({ database, committed: stored });
runUpkeep({ database, log, signal });

port.on('message', (message: ToEngine) => {
  void (async () => {
    switch (message.kind) {
      case 'written':
        journal?.written(message.segment, message.byteOffset);
        intake?.poke();
        break;
      case 'ingest':
        say({ kind: 'ingested', id: message.id, verdict: await kept('an ingested turn', ingest, message) });
        break;
      case 'transcript':
        say({ kind: 'taken', id: message.id, verdict: await kept('a transcript', transcripts, message) });
        break;
      case 'drain':
        await intake?.drained();
        await Promise.all([ingest.idle(), transcripts.idle()]);
        await derive?.drained();
        say({ kind: 'drained', id: message.id });
        break;
      case 'metrics':
        say({ kind: 'metrics', id: message.id, metrics: await metrics.registry.getMetricsAsJSON() });
        break;
      case 'stop':
        stopping.abort();
        await Promise.allSettled([intake?.stopped, ingest.idle(), transcripts.idle(), derive?.stopped]);
        await database.close();
        journal?.close();
        process.exit(0);
    }
  })().catch((error: unknown) => {
    throw error; // a broken engine is started anew; the journal's positions make that safe
  });
});
say({ kind: 'ready' });

type Writer<Verdict> = { append(body: Uint8Array, subject: string | null): Promise<Verdict> };

/** One body that cannot be stored is its sender's loss alone, and is said so; the engine goes on. */
async function kept<Verdict>(
  what: string,
  { append }: Writer<Verdict>,
  { body, subject }: { body: Uint8Array; subject: string | null },
): Promise<Verdict | null> {
  try {
    return await append(body, subject);
  } catch (error) {
    const reason =
      error instanceof DatabaseError
        ? `${error.message} (${error.sqlstate})`
        : error instanceof Error
          ? error.name
          : 'unknown';
    const at = error instanceof Error ? error.stack?.split('\n').slice(1, 6).join('\n') : undefined; // places, no message
    log.error({ reason, at }, `Cannot keep ${what}`);
    return null;
  }
}
