/** What runs behind the listeners, in a thread of its own: intake from the journal, and derivation. */
import { parentPort, workerData } from 'node:worker_threads';
import { openJournalReader } from '../capture/journal-reader.ts';
import { connectDatabase } from '../db/connection.ts';
import { openLog } from '../log.ts';
import { openMetrics } from '../metrics.ts';
import { yieldToListeners } from '../yield-to-listeners.ts';
import { runDeriveWorker } from './derive-worker.ts';
import { runIntake } from './intake.ts';
import type { EngineData, FromEngine, ToEngine } from './messages.ts';
import { restoreNodes } from './restore-nodes.ts';
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

const reader = openJournalReader({
  folder: data.journalFolder,
  liveRunId: data.runId,
  positions: await database.ask('journalPositions', {}),
  log,
});
if (data.written) reader.written(data.written.segment, data.written.byteOffset);

const derive = runDeriveWorker({
  database,
  restoreNodes: (sessionId) => restoreNodes(database, sessionId),
  log,
  metrics,
  signal: stopping.signal,
});
const intake = runIntake({
  database,
  reader,
  log,
  metrics,
  signal: stopping.signal,
  stored: () => derive.poke(),
  freed: (bytes) => say({ kind: 'freed', bytes }),
});
runUpkeep({ database, log, signal: stopping.signal });

port.on('message', (message: ToEngine) => {
  void (async () => {
    switch (message.kind) {
      case 'written':
        reader.written(message.segment, message.byteOffset);
        intake.poke();
        break;
      case 'drain':
        await intake.drained();
        await derive.drained();
        say({ kind: 'drained', id: message.id });
        break;
      case 'metrics':
        say({ kind: 'metrics', id: message.id, metrics: await metrics.registry.getMetricsAsJSON() });
        break;
      case 'stop':
        stopping.abort();
        await Promise.allSettled([intake.stopped, derive.stopped]);
        await database.close();
        reader.close();
        process.exit(0);
    }
  })().catch((error: unknown) => {
    throw error; // a broken engine is started anew; the journal's positions make that safe
  });
});
say({ kind: 'ready' });
