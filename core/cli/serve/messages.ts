/** The messages between the parent of `svc serve` and its two processes, over the channels that Node gives them. */
import type { LoadedConfig } from '../../config/load.ts';
import type { ListenAt } from '../../http/bind.ts';
import type { MetricsSnapshot } from '../../metrics.ts';
import type { ProcessState } from '../../model/status.ts';
import type { Io } from '../io.ts';

/** The first of the sockets that a process gets. The descriptors before it are stdin, stdout, stderr and the channel. */
export const FIRST_FD = 4;

export type ProcessName = ProcessState['name'];
export type ListenerName = 'proxy' | 'api' | 'ingest' | 'internal';

/** Where a listener is, as clients see it, and the bound sockets for the process that listens there; without them it binds its own. */
export type ListenerAddress = { urls: string[]; at?: ListenAt };

/** What a process needs to begin. */
export type Start = {
  loaded: LoadedConfig;
  io: Pick<Io, 'env' | 'cwd' | 'home'>;
  role: 'all' | 'proxy';
  version: string;
  startedAt: number; // the parent, in milliseconds since 1970
  addresses: Partial<Record<ListenerName, ListenerAddress>>;
};

export type ToChild =
  | { kind: 'start'; start: Start }
  | { kind: 'stop'; graceMs: number } // accept nothing new; what is under way may finish for so long
  | { kind: 'beat' } // is it responsive? It sends the same back
  | { kind: 'finish' } // the proxy has ended: nothing more comes into the journal
  // to the proxy
  | { kind: 'deleted' } // segments of the journal
  | { kind: 'count'; id: number } // its counters are wanted
  // to the service
  | { kind: 'run'; runId: string; maxBytes: number } // of the journal, which the proxy begins; that of an earlier proxy has ended
  | { kind: 'written'; segment: number; byteOffset: number; ended: boolean } // how far the journal is (core/engine/engine.ts)
  | { kind: 'busy'; listeners: boolean } // whether a flood of calls keeps the proxy busy
  | { kind: 'processes'; processes: ProcessState[] }
  | { kind: 'counted'; id: number; snapshots: MetricsSnapshot[] };

export type FromChild =
  | { kind: 'ready'; urls: Partial<Record<ListenerName, string[]>> } // it listens there
  | { kind: 'failed'; message: string; exitCode: 1 | 2; operator: boolean } // it cannot start; operator: somebody has to mend something
  | { kind: 'print'; text: string } // on stdout
  | { kind: 'beat' }
  // from the proxy
  | Extract<ToChild, { kind: 'run' | 'written' | 'busy' }>
  | { kind: 'counters'; id: number; snapshot: MetricsSnapshot }
  // from the service
  | Extract<ToChild, { kind: 'deleted' }>
  | { kind: 'count'; id: number } // the counters of all others are wanted
  | { kind: 'shown'; snapshots: MetricsSnapshot[] }; // its own counters, about to be shown to somebody
