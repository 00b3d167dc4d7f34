/** What do the main thread and the engine say to each other? */
import type { DatabaseConnection } from '../db/connection.ts';

export type EngineData = {
  connection: DatabaseConnection;
  journalFolder: string;
  runId: string;
  written: { segment: number; byteOffset: number } | null; // how far the live journal is, when the engine starts later
  logLevel: string;
};

export type ToEngine =
  | { kind: 'written'; segment: number; byteOffset: number }
  | { kind: 'drain'; id: number } // answer when all that was written is taken in and derived
  | { kind: 'metrics'; id: number }
  | { kind: 'stop' };

export type FromEngine =
  | { kind: 'ready' }
  | { kind: 'freed'; bytes: number } // of the journal, deleted
  | { kind: 'drained'; id: number }
  | { kind: 'metrics'; id: number; metrics: unknown };
