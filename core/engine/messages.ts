/** What do the main thread and the engine say to each other? */
import type { DatabaseConnection } from '../db/client/connection.ts';
import type { PriceTable } from '../derive/price-file.ts';
import type { IngestVerdict } from '../model/ingest.ts';
import type { TranscriptVerdict } from '../model/transcript-upload.ts';

export type EngineData = {
  connection: DatabaseConnection;
  reach: boolean; // whether the database may be away, or behind this version, when the engine starts
  journal: JournalToRead | null; // null: this process keeps none
  busy: boolean; // whether the listeners have their hands full by now
  ingest: boolean; // whether bodies are taken in here
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
  | { kind: 'busy'; listeners: boolean } // whether they have their hands full
  | { kind: 'ingest'; id: number; body: Uint8Array; subject: string | null }
  | { kind: 'transcript'; id: number; body: Uint8Array; subject: string | null }
  | { kind: 'drain'; id: number } // answer when all that was written is taken in and derived
  | { kind: 'metrics'; id: number }
  | { kind: 'stop' };

export type FromEngine =
  | { kind: 'ready' }
  | { kind: 'identity'; identity_key: string | null } // of this installation, hex; null: the database cannot be asked for now
  | { kind: 'freed'; bytes: number } // of the journal, deleted
  | { kind: 'stored'; segment: number; byteOffset: number; waiting: number | null } // of the live journal (journal-age.ts)
  | { kind: 'ingested'; id: number; verdict: IngestVerdict | null } // null: the database refuses the turn
  | { kind: 'taken'; id: number; verdict: TranscriptVerdict | null } // the same of a transcript
  | { kind: 'drained'; id: number }
  | { kind: 'metrics'; id: number; metrics: unknown };
