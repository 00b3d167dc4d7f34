/** How does the main thread drive the engine? It starts the thread, tells it how far the journal is, and starts it anew when it dies. */
import type { Worker } from 'node:worker_threads';
import type { DatabaseConnection } from '../db/client/connection.ts';
import type { PriceTable } from '../derive/price-file.ts';
import type { Logger } from '../log.ts';
import type { IngestVerdict } from '../model/ingest.ts';
import type { TranscriptVerdict } from '../model/transcript-upload.ts';
import { startWorker } from '../start-worker.ts';
import { openJournalAge } from './journal-age.ts';
import type { EngineData, FromEngine, JournalToRead, ToEngine } from './messages.ts';

export type Engine = {
  /** The live journal has reached this place; `ended`: what was written now holds the end of a call. */
  written(segment: number, byteOffset: number, ended: boolean): void;
  /** How long the oldest call has waited that is in the journal, has ended, and is not in the database; 0 when none waits. */
  oldestSeconds(): number;
  /** Whether the listeners have their hands full: then the engine mostly rests. */
  busy(listeners: boolean): void;
  /** Keeps a turn that a client captured itself. Takes the body over: its memory is gone here. @throws {Error} it cannot be kept */
  ingest(body: Uint8Array<ArrayBuffer>, subject: string | null): Promise<IngestVerdict>;
  /** The same for a file of a harness. */
  transcript(body: Uint8Array<ArrayBuffer>, subject: string | null): Promise<TranscriptVerdict>;
  /** Resolves when all that the journal held at this moment is stored and derived; false when that took longer than the deadline. */
  drain(deadlineMs: number): Promise<boolean>;
  /** prom-client's JSON of the engine's own metrics; empty while it restarts. */
  metrics(): Promise<unknown[]>;
  stop(): Promise<void>;
};

type Deps = {
  /** A fresh one for each start: ports cannot be handed over twice. */
  connection(): DatabaseConnection;
  /** null: this process keeps no journal. */
  journal: { folder: string; runId: string; freed(bytes: number): void } | null;
  /** Whether the database may be away when the engine starts, or behind this version: it is waited for, and migrated. */
  reach: boolean;
  /** Hears that the thread has begun, each time. */
  begun?(): void;
  /** Hears this installation's identity key, in hex, each time that the engine starts; null: the database cannot be asked for now. */
  identified?(identity_key: string | null): void;
  ingest: boolean;
  derive: boolean;
  prices: PriceTable | null;
  logLevel: string;
  log: Logger;
};

const TELL_MS = 20;
const INGEST_MS = 30_000; // then the sender is told to ask again, and finds the turn by its request id

type Asked =
  | { kind: 'drain' }
  | { kind: 'metrics' }
  | { kind: 'ingest' | 'transcript'; body: Uint8Array; subject: string | null };

/** Of an engine that only takes the journal in. What it keeps for long has no bound of its own: a body may be large. */
const INTAKE_LIMITS = { maxYoungGenerationSizeMb: 4 };

const restartMs = { first: 200, most: 10_000 };

/** Returns at once: the thread comes up beside the listeners, and what passes meanwhile waits in the journal. */
export function startEngine({ connection, journal, begun, identified, log, ...given }: Deps): Engine {
  let worker: Worker | null = null;
  let stopped = false;
  let lastWritten: JournalToRead['written'] = null;
  let busy = false; // the listeners, as last told
  let telling: NodeJS.Timeout | null = null;
  let delayMs = restartMs.first;
  let nextId = 1;
  const age = openJournalAge();
  const waiting = new Map<number, (message: FromEngine | null) => void>();

  const tell = (message: ToEngine, transfer: readonly ArrayBuffer[] = []) => worker?.postMessage(message, transfer);

  /** The journal is written every few milliseconds: a message for each write would cost more than the moment that it saves. */
  const tellWritten = () => {
    if (telling) clearTimeout(telling);
    telling = null;
    if (lastWritten) tell({ kind: 'written', ...lastWritten });
  };

  /** Asks and waits; null when the engine died meanwhile or the deadline passed. */
  const ask = (asked: Asked, deadlineMs: number, transfer: readonly ArrayBuffer[] = []) =>
    new Promise<FromEngine | null>((answered) => {
      if (!worker) return answered(null);
      const id = nextId++;
      const timer = setTimeout(() => settle(null), deadlineMs);
      const settle = (message: FromEngine | null) => {
        clearTimeout(timer);
        waiting.delete(id);
        answered(message);
      };
      waiting.set(id, settle);
      tell({ ...asked, id }, transfer);
    });

  const start = () => {
    const own = connection();
    const toRead = journal && { folder: journal.folder, runId: journal.runId, written: lastWritten };
    const { reach, ingest, derive, prices, logLevel } = given;
    const data: EngineData = { connection: own, journal: toRead, busy, reach, ingest, derive, prices, logLevel };
    const started = startWorker(
      'engine/engine-worker',
      data,
      own.kind === 'embedded' ? [own.control] : [],
      ingest || derive ? {} : INTAKE_LIMITS,
    );
    worker = started;
    started.on('online', () => begun?.());
    started.on('message', (message: FromEngine) => {
      if (message.kind === 'ready') delayMs = restartMs.first;
      else if (message.kind === 'freed') journal?.freed(message.bytes);
      else if (message.kind === 'identity') identified?.(message.identity_key);
      else if (message.kind === 'stored') age.stored(message.segment, message.byteOffset, message.waiting);
      else waiting.get(message.id)?.(message);
    });
    started.on('error', (error) => log.error({ reason: error.message, stack: error.stack }, 'the engine failed'));
    started.once('exit', (code) => {
      worker = null;
      for (const settle of waiting.values()) settle(null);
      if (stopped) return;
      log.error({ code, again_in_ms: delayMs }, 'the engine ended; it starts anew, and nothing in the journal is lost');
      setTimeout(() => {
        if (!stopped) start();
      }, delayMs);
      delayMs = Math.min(delayMs * 2, restartMs.most);
    });
  };

  start();
  return {
    written: (segment, byteOffset, ended) => {
      lastWritten = { segment, byteOffset };
      age.written(segment, byteOffset, ended, Date.now());
      telling ??= setTimeout(tellWritten, TELL_MS);
    },
    oldestSeconds: () => {
      const oldest = age.oldest();
      return oldest === null ? 0 : Math.max(0, Date.now() - oldest) / 1000;
    },
    busy: (listeners) => {
      busy = listeners;
      tell({ kind: 'busy', listeners });
    },
    ingest: async (body, subject) => {
      const message = await ask({ kind: 'ingest', body, subject }, INGEST_MS, [body.buffer]);
      if (message?.kind !== 'ingested')
        return { kind: 'unavailable', error: 'Cannot say whether the turn is kept: ask again' };
      if (!message.verdict) throw new Error('Cannot keep an ingested turn: the engine has logged why');
      return message.verdict;
    },
    transcript: async (body, subject) => {
      const message = await ask({ kind: 'transcript', body, subject }, INGEST_MS, [body.buffer]);
      if (message?.kind !== 'taken')
        return { kind: 'unavailable', error: 'Cannot say whether the transcript is kept: ask again' };
      if (!message.verdict) throw new Error('Cannot keep a transcript: the engine has logged why');
      return message.verdict;
    },
    drain: async (deadlineMs) => {
      tellWritten();
      return (await ask({ kind: 'drain' }, deadlineMs)) !== null;
    },
    metrics: async () => {
      const message = await ask({ kind: 'metrics' }, 2_000);
      return message?.kind === 'metrics' ? (message.metrics as unknown[]) : [];
    },
    stop: async () => {
      stopped = true;
      const ending = worker;
      if (!ending) return;
      const ended = new Promise<void>((done) => ending.once('exit', () => done()));
      tell({ kind: 'stop' });
      const patience = setTimeout(() => void ending.terminate(), 10_000);
      await ended;
      clearTimeout(patience);
    },
  };
}
