/** What the listeners of a process share: they are opened and closed together, and their metrics are shown as one. */
import type { Journal } from '../capture/journal.ts';
import type { Environment } from '../config/environment.ts';
import { parseListen } from '../config/listen.ts';
import type { Config } from '../config/schema.ts';
import type { DatabaseConnection } from '../db/client/connection.ts';
import type { Engine } from '../engine/engine.ts';
import type { Logger } from '../log.ts';
import type { Metrics, MetricsSnapshot } from '../metrics.ts';
import type { Cassettes } from './cassettes.ts';

/** The parts that every role has. */
export type Process = {
  config: Config;
  engine: Engine;
  metrics: Metrics;
  log: Logger;
  version: string;
  env: Environment;
  journal: Journal | null; // null: it has none
  cassettes?: Cassettes;
};

/** The parts of a role behind its listeners. */
export type Backing = {
  /** A new connection for each thread. */
  connection(): DatabaseConnection;
  /** Whether the database may be away, or behind this version. (core/engine/engine.ts) */
  reach: boolean;
  /** Called each time that the engine's thread has started. */
  begun?: () => void;
  /** Called with the installation's identity key, in hex; null: the database cannot be reached now. */
  identified?: (identity_key: string | null) => void;
  /** @throws {OperatorError} an address is taken or is not this machine's; then none of them listens */
  listen(parts: Process): Promise<Listeners>;
};

/** Addresses as `http://127.0.0.1:8080`, one for each host that is listened on; none for what does not run here. */
export type Listeners = {
  proxy: string[];
  api: string[];
  ingest: string[];
  internal: string[];
  close(graceMs: number): Promise<void>;
};

export type OpenListener = { addresses: string[]; close(graceMs: number): Promise<void> };
export type Keep = <T extends OpenListener>(listener: T) => T;

/** Opens listeners in turn and closes them together, also when a later one cannot be opened. */
export async function together(open: (register: Keep) => Promise<Omit<Listeners, 'close'>>): Promise<Listeners> {
  const opened: OpenListener[] = [];
  const close = async (graceMs: number) => {
    await Promise.all(opened.map((listener) => listener.close(graceMs)));
  };
  try {
    const addresses = await open((listener) => {
      opened.push(listener);
      return listener;
    });
    return { ...addresses, close };
  } catch (error) {
    await close(0);
    throw error;
  }
}

/** The allowed host names: those of all the sections' listeners are allowed at each of them. */
export const hostsOf = (config: Config, sections: ('proxy' | 'api' | 'ingest')[]): string[] => [
  ...config.allowed_hosts,
  ...sections.flatMap((section) => parseListen(config[section].listen).hosts),
];

/** The whole process's metrics: this thread's, and the engine's. */
export async function exposition({ metrics, journal, engine, cassettes }: Process): Promise<string> {
  if (journal) metrics.journal({ bytes: journal.bytes(), oldestSeconds: engine.oldestSeconds() });
  if (cassettes)
    metrics.cassettes(
      cassettes.host.installed().map(({ entry: { name }, state, liveness, progress }) => ({
        name,
        admitted: state === 'admitted',
        restarts: liveness?.restarts ?? 0,
        progress,
      })),
    );
  return metrics.text([(await engine.metrics()) as MetricsSnapshot]);
}
