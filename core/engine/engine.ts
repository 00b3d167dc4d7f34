/** The main thread's side of the engine: starts its thread, and sends it which journal is written, and how far. */
import { Undecodable } from '../capture/content-encoding.ts';
import type { DatabaseConnection } from '../db/client/connection.ts';
import { Refusal } from '../errors.ts';
import type { Logger } from '../log.ts';
import type { MetricsSnapshot } from '../metrics.ts';
import type { Budgets } from '../model/budget-settings.ts';
import type { IngestVerdict } from '../model/ingest.ts';
import type { PublisherState } from '../model/publisher-state.ts';
import type { RetentionRules } from '../model/retention.ts';
import type { TranscriptVerdict } from '../model/transcript-upload.ts';
import type { PriceTable } from '../price/price-file.ts';
import type { BrokerSettings } from '../publish/broker-messages.ts';
import { startWorker } from '../start-worker.ts';
import { openEngineCounters } from './engine-counters.ts';
import { openEngineRequests } from './engine-requests.ts';
import { openEngineThread } from './engine-thread.ts';
import { openJournalAge } from './intake/journal-age.ts';
import type { EngineData, FromEngine, LiveRun } from './messages.ts';

export type Engine = {
  /** A process has begun this run of the journal; that of the run before has ended. */
  run(runId: string): void;
  /** The live journal is written up to here; `ended`: what was written now holds the end of a call. */
  written(segment: number, byteOffset: number, ended: boolean): void;
  /** The age in seconds of the oldest call that has ended, is in the journal and is not in the database; 0 when none waits. */
  oldestSeconds(): number;
  /** The code of the error with which reads of the journal fail now, such as EACCES; null: they do not. */
  journalFault(): string | null;
  /** Whether the listeners are busy: then the engine mostly pauses. */
  busy(listeners: boolean): void;
  /** Stores a turn that a client captured itself. The body is transferred: its memory is gone here. @throws {Error} it cannot be stored */
  ingest(body: Uint8Array<ArrayBuffer>, subject: string | null): Promise<IngestVerdict>;
  /** The same for a transcript. */
  transcript(body: Uint8Array<ArrayBuffer>, subject: string | null): Promise<TranscriptVerdict>;
  /** A stored body without its content coding. @throws {Undecodable | Refusal} decoder-unavailable, while the engine restarts */
  decode(body: Uint8Array, contentEncoding: string): Promise<Uint8Array>;
  /** Resolves when all that the journal held at this moment is stored; false when that took longer than the deadline. */
  drain(deadlineMs: number): Promise<boolean>;
  /** The engine's own metrics, as snapshots to be added up. (engine-counters.ts) */
  metrics(): Promise<MetricsSnapshot[]>;
  /** What has been published since the engine started; null: nothing is to be. */
  publisher(): PublisherState | null;
  stop(): Promise<void>;
};

type Deps = {
  /** A new connection for each start: ports cannot be transferred twice. */
  connection(): DatabaseConnection;
  /** The journal to be read, with the run that is written now; `freed` is called after segments were deleted. null: none is read. */
  journal: { folder: string; live: LiveRun; freed(): void } | null;
  /** Whether the database may be unreachable when the engine starts, or of an older version: then it is waited for, and migrated. */
  reach: boolean;
  /** Called each time that the engine starts: null when the database can be used, else why not yet. */
  reachable?(why: string | null): void;
  ingest: boolean;
  derive: boolean;
  /** Whether its thread has a lower priority than others: where a capture proxy runs beside it, whose calls it must not delay. */
  yields: boolean;
  prices: PriceTable | null;
  publish: BrokerSettings | null;
  /** Null: nothing is removed by this process. */
  retention?: RetentionRules | null;
  /** Null: none is watched by this process. */
  budgets?: Budgets | null;
  logLevel: string;
  log: Logger;
};

const NOTIFY_MS = 20;
const METRICS_MS = 2_000;
const DECODE_MS = 20_000; // as long as a reader waits
const INGEST_MS = 30_000; // then the sender is told to try again, and the turn is recognised by its request id

/** For an engine that only takes the journal in. The old generation has no bound: a body may be large. */
const INTAKE_LIMITS = { maxYoungGenerationSizeMb: 4 };

/** Returns at once: the thread starts beside the listeners, and what passes meanwhile waits in the journal. */
export function startEngine({
  connection,
  journal,
  reachable,
  log,
  retention = null,
  budgets = null,
  ...settings
}: Deps): Engine {
  let live = journal?.live ?? null;
  let busy = false; // the listeners, as last reported
  let notifyTimer: NodeJS.Timeout | null = null;
  let publisher: PublisherState | null = null;
  let journalFault: string | null = null;
  const age = openJournalAge();

  /** The journal is written every few milliseconds: a message for each write would cost more than the time that it saves. */
  const sendWritten = () => {
    if (notifyTimer) clearTimeout(notifyTimer);
    notifyTimer = null;
    if (live?.written) thread.send({ kind: 'written', ...live.written });
  };

  const received = (message: FromEngine) => {
    if (message.kind === 'freed') journal?.freed();
    else if (message.kind === 'reached') reachable?.(null);
    else if (message.kind === 'away') reachable?.(message.why);
    else if (message.kind === 'stored') age.stored(message.segment, message.byteOffset, message.waiting);
    else if (message.kind === 'journal') journalFault = message.fault;
    else if (message.kind === 'publisher') publisher = message.state;
    else if (message.kind !== 'ready') requests.settle(message.id, message);
  };

  const start = () => {
    journalFault = null; // a new thread finds out by itself
    const ownConnection = connection();
    const toRead = journal && live && { folder: journal.folder, live };
    const data: EngineData = { connection: ownConnection, journal: toRead, busy, retention, budgets, ...settings };
    const started = startWorker(
      'engine/engine-worker',
      data,
      ownConnection.kind === 'embedded' ? [ownConnection.control] : [],
      settings.ingest || settings.derive ? {} : INTAKE_LIMITS,
    );
    return started;
  };

  const requests = openEngineRequests((message, transfer) => thread.send(message, transfer));
  const counters = openEngineCounters(async () => {
    const message = await requests.request({ kind: 'metrics' }, METRICS_MS);
    return message?.kind === 'metrics' ? message.metrics : null;
  });
  const died = () => {
    requests.abandon();
    counters.died();
  };
  const thread = openEngineThread({ start, received, died, log });
  return {
    run: (runId) => {
      live = { runId, written: null };
      age.nextRun();
      thread.send({ kind: 'run', runId });
    },
    written: (segment, byteOffset, ended) => {
      if (live) live = { ...live, written: { segment, byteOffset } };
      age.written(segment, byteOffset, ended, Date.now());
      notifyTimer ??= setTimeout(sendWritten, NOTIFY_MS);
    },
    oldestSeconds: () => {
      const oldest = age.oldest();
      return oldest === null ? 0 : Math.max(0, Date.now() - oldest) / 1000;
    },
    journalFault: () => journalFault,
    busy: (listeners) => {
      busy = listeners;
      thread.send({ kind: 'busy', listeners });
    },
    ingest: async (body, subject) => {
      const message = await requests.request({ kind: 'ingest', body, subject }, INGEST_MS, [body.buffer]);
      if (message?.kind !== 'ingested')
        return { kind: 'unavailable', error: 'Cannot say whether the turn is kept: ask again' };
      if (!message.verdict) throw new Error('Cannot keep an ingested turn: the engine has logged why');
      return message.verdict;
    },
    transcript: async (body, subject) => {
      const message = await requests.request({ kind: 'transcript', body, subject }, INGEST_MS, [body.buffer]);
      if (message?.kind !== 'taken')
        return { kind: 'unavailable', error: 'Cannot say whether the transcript is kept: ask again' };
      if (!message.verdict) throw new Error('Cannot keep a transcript: the engine has logged why');
      return message.verdict;
    },
    decode: async (body, contentEncoding) => {
      const message = await requests.request({ kind: 'decode', body, contentEncoding }, DECODE_MS);
      if (message?.kind !== 'decoded')
        throw new Refusal('decoder-unavailable', 'Cannot decode the body now: ask again');
      if (!message.body) throw new Undecodable('undecodable', message.reason);
      return message.body;
    },
    drain: async (deadlineMs) => {
      sendWritten();
      return (await requests.request({ kind: 'drain' }, deadlineMs)) !== null;
    },
    metrics: counters.snapshots,
    publisher: () => publisher,
    stop: thread.stop,
  };
}
