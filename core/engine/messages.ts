/** What do the main thread and the engine say to each other? */
import type { DatabaseConnection } from '../db/client/connection.ts';
import type { PriceTable } from '../derive/price-file.ts';
import type { IngestVerdict } from '../model/ingest.ts';
import type { TranscriptVerdict } from '../model/transcript-upload.ts';

export type EngineData = {
  connection: DatabaseConnection;
  journal: JournalToRead | null; // null: this process keeps none
  derive: boolean; // whether sessions are derived here
  prices: PriceTable | null; // the operator's own
  logLevel: string;
};

export type JournalToRead = {
  folder: string;
  runId: string;
  written: { segment: number; byteOffset: number } | null; // how far the live journal is, when the engine starts later
};

export type ToEngine =
  | { kind: 'written'; segment: number; byteOffset: number }
  | { kind: 'ingest'; id: number; body: Uint8Array; subject: string | null }
  | { kind: 'transcript'; id: number; body: Uint8Array; subject: string | null }
  | { kind: 'drain'; id: number } // answer when all that was written is taken in and derived
  | { kind: 'metrics'; id: number }
  | { kind: 'stop' };

export type FromEngine =
  | { kind: 'ready' }
  | { kind: 'freed'; bytes: number } // of the journal, deleted
  | { kind: 'ingested'; id: number; verdict: IngestVerdict | null } // null: the database refuses the turn
  | { kind: 'taken'; id: number; verdict: TranscriptVerdict | null } // the same of a transcript
  | { kind: 'drained'; id: number }
  | { kind: 'metrics'; id: number; metrics: unknown };
