/** The messages between the main thread and the engine. */
import type { DatabaseConnection } from '../db/client/connection.ts';
import type { MetricsSnapshot } from '../metrics.ts';
import type { Budgets } from '../model/budget-settings.ts';
import type { IngestVerdict } from '../model/ingest.ts';
import type { PublisherState } from '../model/publisher-state.ts';
import type { RetentionRules } from '../model/retention.ts';
import type { TranscriptVerdict } from '../model/transcript-upload.ts';
import type { PriceTable } from '../price/price-file.ts';
import type { BrokerSettings } from '../publish/broker-messages.ts';

export type EngineData = {
  connection: DatabaseConnection;
  reach: boolean; // whether the database may be unreachable, or of an older version, when the engine starts
  journal: JournalToRead | null; // null: none is read here
  busy: boolean; // whether the listeners are busy when the engine starts
  ingest: boolean; // whether bodies are stored here
  derive: boolean; // whether sessions are derived here
  yields: boolean; // whether a capture proxy beside it has priority
  prices: PriceTable | null; // the operator's own
  publish: BrokerSettings | null; // null: nothing is published
  budgets: Budgets | null; // null: none is watched by this process
  retention: RetentionRules | null; // null: nothing is removed by this process
  logLevel: string;
};

export type JournalToRead = {
  folder: string;
  live: LiveRun;
};

/** The run of the journal that a process is writing, and how far; null: nothing of it yet. */
export type LiveRun = { runId: string; written: { segment: number; byteOffset: number } | null };

export type ToEngine =
  | { kind: 'run'; runId: string } // is written from now on; the process that wrote the last one has ended
  | { kind: 'written'; segment: number; byteOffset: number }
  | { kind: 'busy'; listeners: boolean } // whether they are busy
  | { kind: 'ingest'; id: number; body: Uint8Array; subject: string | null }
  | { kind: 'transcript'; id: number; body: Uint8Array; subject: string | null }
  | { kind: 'decode'; id: number; body: Uint8Array; contentEncoding: string } // a body of which a reader wants the text
  | { kind: 'drain'; id: number } // to be answered when all that was written is stored
  | { kind: 'metrics'; id: number }
  | { kind: 'stop' };

export type FromEngine =
  | { kind: 'ready' }
  | { kind: 'reached' } // the database can be used
  | { kind: 'away'; why: string } // the database cannot be used yet (core/db/client/why-unavailable.ts)
  | { kind: 'freed'; bytes: number } // of the journal, deleted
  | { kind: 'journal'; fault: string | null } // the code of the error with which reads of the journal fail; null: they succeed again
  | { kind: 'stored'; segment: number; byteOffset: number; waiting: number | null } // of the live journal (journal-age.ts)
  | { kind: 'publisher'; state: PublisherState }
  | { kind: 'ingested'; id: number; verdict: IngestVerdict | null } // null: the database refuses the turn
  | { kind: 'taken'; id: number; verdict: TranscriptVerdict | null } // the same of a transcript
  | { kind: 'decoded'; id: number; body: Uint8Array | null; reason: string } // null: it cannot be decoded
  | { kind: 'drained'; id: number }
  | { kind: 'metrics'; id: number; metrics: MetricsSnapshot };
