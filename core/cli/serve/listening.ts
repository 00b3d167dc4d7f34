/** What the listeners of a process share: they are opened and closed together, and their metrics are shown as one. */
import type { Environment } from '../../config/environment.ts';
import { parseListen } from '../../config/listen.ts';
import type { Config } from '../../config/schema.ts';
import type { DatabaseConnection } from '../../db/client/connection.ts';
import type { Engine } from '../../engine/engine.ts';
import type { ListenAt } from '../../http/bind.ts';
import type { Logger } from '../../log.ts';
import type { Metrics, MetricsSnapshot } from '../../metrics.ts';
import type { ProcessState } from '../../model/status.ts';
import type { PriceTable } from '../../price/price-file.ts';
import type { Cassettes } from './cassettes.ts';
import type { Start } from './messages.ts';
import type { SharedCounters } from './shared-counters.ts';

/** The parts that every role has. */
export type Process = {
  config: Config;
  engine: Engine;
  metrics: Metrics;
  log: Logger;
  version: string;
  env: Environment;
  /** Sockets that the parent has bound; a listener without one binds its configured address. */
  addresses: Start['addresses'];
  /** In bytes on disk; null: this service has none. */
  journal: { bytes(): number; maxBytes(): number } | null;
  /** The processes of this service, as the parent reports them; none where it is a process by itself. */
  processes: () => ProcessState[];
  counters: SharedCounters;
  cassettes?: Cassettes;
  /** The operator's own; null: none. */
  prices: PriceTable | null;
};

/** Where a listener of this process listens. */
export const listenAt = ({ addresses, config }: Process, name: 'api' | 'ingest'): ListenAt =>
  addresses[name]?.at ?? parseListen(config[name].listen);

/** The parts of a role behind its listeners. */
export type Backing = {
  /** A new connection for each thread. */
  connection(): DatabaseConnection;
  /** Whether the database may be away, or behind this version. (core/engine/engine.ts) */
  reach: boolean;
  /** What is to know whether the engine has reached the database. (core/engine/engine.ts) */
  reachable?(why: string | null): void;
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

/** The metrics of all processes of this service as one text. */
export const exposition = async (parts: Process): Promise<string> => parts.metrics.text(await otherMetrics(parts));

/** The same as prom-client's JSON. */
export const metricsOf = async (parts: Process): Promise<MetricsSnapshot> =>
  parts.metrics.snapshot(await otherMetrics(parts));

/** What this process's own metrics are shown with. It was reported to the parent before, so that none of it falls. */
async function otherMetrics(parts: Process): Promise<MetricsSnapshot[]> {
  const { metrics, journal, engine, cassettes, counters, processes } = parts;
  if (journal) metrics.journal({ bytes: journal.bytes(), oldestSeconds: engine.oldestSeconds() });
  metrics.processes(processes());
  if (cassettes)
    metrics.cassettes(
      cassettes.host.installed().map(({ entry: { name }, state, liveness, progress }) => ({
        name,
        admitted: state === 'admitted',
        restarts: liveness?.restarts ?? 0,
        progress,
      })),
    );
  const [others, ofEngine] = await Promise.all([counters.others(), engine.metrics()]);
  const own = await ownCounters(parts, ofEngine);
  await counters.shown(own);
  return [...ofEngine, ...others];
}

/** What this process and its engine have counted; not the restarts, which the parent counts and would else add up again. */
const ownCounters = async ({ metrics }: Process, ofEngine: MetricsSnapshot[]): Promise<MetricsSnapshot[]> => [
  (await metrics.registry.getMetricsAsJSON()).filter(({ name }) => name !== RESTARTS) as unknown as MetricsSnapshot,
  ...ofEngine,
];

const RESTARTS = 'svc_process_restarts_total';
