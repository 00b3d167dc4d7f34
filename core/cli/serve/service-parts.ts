/** What a service is opened with, behind a proxy or as the ingest API alone. */
import type { LoadedConfig } from '../../config/load.ts';
import type { StartThread } from '../../db/client/embedded-host.ts';
import type { Logger } from '../../log.ts';
import type { ProcessState } from '../../model/status.ts';
import type { Io } from '../io.ts';
import type { LiveJournal } from './live-journal.ts';
import type { Start } from './messages.ts';
import type { ServeRole } from './role.ts';
import type { SharedCounters } from './shared-counters.ts';

export type ServiceParts = {
  loaded: LoadedConfig;
  io: Io;
  role: ServeRole;
  version: string;
  log: Logger;
  /** When all of it was started, in milliseconds since 1970: counters count from then on. */
  startedAt: number;
  /** The pid to signal for a stop. */
  pid: number;
  addresses: Start['addresses'];
  /** Starts the embedded database's thread. */
  startThread?: StartThread;
  counters: SharedCounters;
  processes: () => ProcessState[];
  /** The journal that a proxy writes; `deleted` is called after segments were. null: there is none. */
  journal: { live: LiveJournal; deleted(): void } | null;
};

/** Registers what is to be closed. */
export type Closing = (close: () => Promise<unknown>) => void;
