/** The Prometheus metrics: names and closed label sets in one place; a registry for each process or thread, no global one. */
import { AggregatorRegistry, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { ProviderId } from './provider/provider-ids.ts';

/** The owner of a registry. `engine`, a thread, and `forwarding`, a process, are merged into that of the service and name no build. */
export type ProcessRole = 'all' | 'proxy' | 'api' | 'ingest' | 'derive' | 'engine' | 'forwarding';

/** The result of `registry.getMetricsAsJSON()`: plain values that pass between threads. */
export type MetricsSnapshot = readonly unknown[];

type CassetteMetrics = {
  name: string;
  admitted: boolean;
  restarts: number;
  /** null: it reports none. */
  progress: { done: number; pending: number; failed: number } | null;
};

export type Metrics = {
  registry: Registry;
  /** A request that passed the proxy, by its outcome as far as the proxy knows it. */
  proxyRequest(provider: string, outcome: string): void;
  /** A request that is no turn, by the reason; once, by whoever counts it in the coverage. */
  notCaptured(reason: string): void;
  addedTtfb(seconds: number): void;
  journal(state: { bytes: number; oldestSeconds: number }): void;
  intakeTurn(outcome: string): void;
  intakeBatch(seconds: number): void;
  derived(seconds: number): void;
  derivePending(state: { lagSeconds: number; queue: number; parked: number }): void;
  /** Nodes that were to be published, by what became of them. */
  published(result: PublishResult, nodes: number): void;
  /** The publisher as it is now. */
  publisher(state: { queued: number; isUp: boolean }): void;
  /** An export of metrics to the operator's endpoint. */
  telemetryExport(result: 'exported' | 'failed'): void;
  /** What a sweep of retention removed, also one that failed afterwards. */
  retentionRemoved(removed: { sessions: number; raw_turns: number; slice_bytes: number }): void;
  /** A sweep of retention has ended, well or not. */
  retentionSwept(): void;
  /** A session was looked at for breaks of the prompt cache. `contradictions`: of its verdicts, those that more was read than they allow. */
  cacheReviewed(found: { contradictions: number }): void;
  /** A budget was crossed, and this process was the first to notice. */
  budgetCrossed(period: 'day' | 'month'): void;
  /** The processes of the service as they are now. */
  processes(all: readonly { name: string; state: string; restarts: number }[]): void;
  /** All cassettes of the list as they are now. Names come from the operator, so they are few. */
  cassettes(all: readonly CassetteMetrics[]): void;
  apiRequest(request: { route: string; method: string; status: number; seconds: number }): void;
  /** A body that was sent to be appended, by its result. */
  ingestWrite(provider: string, status: IngestStatus): void;
  /** The size of a body that was newly accepted. */
  ingestBody(provider: string, bytes: number): void;
  /** Seconds from the end of a body to the verdict on it. */
  ingestWait(seconds: number): void;
  /** This registry and `others`, added up, as prom-client's JSON. */
  snapshot(others?: readonly MetricsSnapshot[]): Promise<MetricsSnapshot>;
  /** The same as text. */
  text(others?: readonly MetricsSnapshot[]): Promise<string>;
};

export const METRICS_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

export function openMetrics(role: ProcessRole, version = ''): Metrics {
  const registry = new Registry();
  const make = makersFor(registry);
  if (role !== 'engine' && role !== 'forwarding')
    make.gauge('svc_build_info', 'Always 1; the labels tell what runs', ['version', 'role']).set({ version, role }, 1);
  return {
    registry,
    ...proxyMetrics(make, role === 'all' || role === 'proxy'),
    ...intakeMetrics(make),
    ...deriveMetrics(make),
    ...publishMetrics(make),
    ...upkeepMetrics(make),
    ...cassetteMetrics(make),
    ...processMetrics(make),
    ...apiMetrics(make),
    ...ingestMetrics(make),
    snapshot: async (others = []) => (await registryOf(registry, others)).getMetricsAsJSON(),
    text: async (others = []) => (await registryOf(registry, others)).metrics(),
  };
}

type Makers = ReturnType<typeof makersFor>;

function makersFor(registry: Registry) {
  const registers = [registry];
  return {
    registers,
    counter: <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
      new Counter({ name, help, labelNames: [...labelNames], registers }),
    gauge: <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
      new Gauge({ name, help, labelNames: [...labelNames], registers }),
    histogram: <Label extends string>(
      name: string,
      help: string,
      buckets: number[],
      labelNames: readonly Label[] = [],
    ) => new Histogram({ name, help, buckets, labelNames: [...labelNames], registers }),
  };
}

/**
 * What happens in every call is buffered and counted at the scrape: prom-client's own counting costs a call microseconds.
 * @param fromZero whether each series begins at 0: operators alert on one that grows, and one that begins with its first count has not grown
 */
function proxyMetrics(
  { registers, counter }: Makers,
  fromZero: boolean,
): Pick<Metrics, 'proxyRequest' | 'notCaptured' | 'addedTtfb'> {
  const requestCounts = new Map<string, number>(); // by `<provider> <outcome>`
  const requests = new Counter({
    name: 'svc_proxy_requests_total',
    help: 'Requests that came to the proxy',
    labelNames: ['provider', 'outcome'],
    registers,
    collect() {
      for (const [labels, count] of requestCounts) {
        const [provider = '', outcome = ''] = labels.split(' ');
        this.inc({ provider: known(provider, PROVIDERS, 'unknown'), outcome: known(outcome, OUTCOMES) }, count);
      }
      requestCounts.clear();
    },
  });
  const notCaptured = counter('svc_capture_not_captured_total', 'Requests that are no turn', ['reason']);
  const bufferedTtfb: number[] = [];
  const addedTtfb = new Histogram({
    name: 'svc_proxy_added_ttfb_seconds',
    help: 'Time to first byte that the proxy adds',
    buckets: FINE,
    registers,
    collect: () => flushTtfb(),
  });
  const flushTtfb = () => {
    for (const seconds of bufferedTtfb.splice(0)) addedTtfb.observe(seconds);
  };
  if (fromZero) {
    for (const outcome of OUTCOMES) for (const provider of ProviderId.options) requests.inc({ provider, outcome }, 0);
    for (const reason of REASONS) notCaptured.inc({ reason }, 0);
  }
  return {
    proxyRequest: (provider, outcome) => {
      const labels = `${provider} ${outcome}`;
      requestCounts.set(labels, (requestCounts.get(labels) ?? 0) + 1);
    },
    notCaptured: (reason) => notCaptured.inc({ reason: known(reason, REASONS) }),
    addedTtfb: (seconds) => {
      if (bufferedTtfb.push(seconds) >= MOST_BUFFERED) flushTtfb();
    },
  };
}

function intakeMetrics({ counter, gauge, histogram }: Makers): Pick<Metrics, 'journal' | 'intakeTurn' | 'intakeBatch'> {
  const journalBytes = gauge('svc_journal_bytes', 'Journal on disk');
  const journalOldest = gauge(
    'svc_journal_oldest_seconds',
    'How long the oldest call has waited that ended and is not in the database',
  );
  const turns = counter('svc_intake_turns_total', 'Calls taken in from the journal', ['outcome']);
  const batch = histogram('svc_intake_batch_seconds', 'Time to store a batch of calls', COARSE);
  return {
    journal: ({ bytes, oldestSeconds }) => {
      journalBytes.set(bytes);
      journalOldest.set(oldestSeconds);
    },
    intakeTurn: (outcome) => turns.inc({ outcome: known(outcome, OUTCOMES) }),
    intakeBatch: (seconds) => batch.observe(seconds),
  };
}

function deriveMetrics({ gauge, histogram }: Makers): Pick<Metrics, 'derived' | 'derivePending'> {
  const derive = histogram('svc_derive_seconds', 'Time to derive what is new of one session', COARSE);
  const lag = gauge('svc_derive_lag_seconds', 'How long the longest waiting session has waited');
  const queued = gauge('svc_derive_queue', 'Sessions whose projection is behind');
  const parkedSessions = gauge('svc_derive_parked', 'Sessions that failed too often to be tried again');
  return {
    derived: (seconds) => derive.observe(seconds),
    derivePending: ({ lagSeconds, queue, parked }) => {
      lag.set(lagSeconds);
      queued.set(queue);
      parkedSessions.set(parked);
    },
  };
}

function publishMetrics({ counter, gauge }: Makers): Pick<Metrics, 'published' | 'publisher' | 'telemetryExport'> {
  const nodesTotal = counter('svc_publish_nodes_total', 'New nodes, by what became of their event', ['result']);
  // Without labels they would be 0 where nothing is to be published, and that would read as an outage.
  const queue = gauge('svc_publish_queue', 'Nodes that wait to be published', ['to']);
  const up = gauge('svc_publish_broker_up', '1 while a broker can be reached, else 0', ['to']);
  const exports = counter('svc_telemetry_exports_total', 'Exports of these metrics to telemetry.endpoint', ['result']);
  return {
    published: (result, nodes) => nodesTotal.inc({ result }, nodes),
    publisher: ({ queued, isUp }) => {
      queue.set({ to: 'kafka' }, queued);
      up.set({ to: 'kafka' }, isUp ? 1 : 0);
    },
    telemetryExport: (result) => exports.inc({ result }),
  };
}

function upkeepMetrics({
  counter,
}: Makers): Pick<Metrics, 'retentionRemoved' | 'retentionSwept' | 'cacheReviewed' | 'budgetCrossed'> {
  const sessionsTotal = counter('svc_retention_removed_sessions_total', 'Sessions that retention removed');
  const turnsTotal = counter('svc_retention_removed_turns_total', 'Turns of these sessions');
  const bytesTotal = counter('svc_retention_removed_bytes_total', 'Bytes of slices that were removed with them');
  const sweeps = counter('svc_retention_sweeps_total', 'Sweeps of retention that ended');
  const reviews = counter('svc_cache_reviews_total', 'Sessions that were looked at for breaks of the prompt cache');
  const contradictionsTotal = counter(
    'svc_cache_contradictions_total',
    'Breaks whose call read more than its prompt has in common with the one before: the two were compared wrongly',
  );
  const crossings = counter('svc_budget_crossings_total', 'Budgets that were exceeded, once for each period', [
    'period',
  ]);
  return {
    retentionRemoved: ({ sessions, raw_turns, slice_bytes }) => {
      sessionsTotal.inc(sessions);
      turnsTotal.inc(raw_turns);
      bytesTotal.inc(slice_bytes);
    },
    retentionSwept: () => sweeps.inc(),
    cacheReviewed: ({ contradictions }) => {
      reviews.inc();
      contradictionsTotal.inc(contradictions);
    },
    budgetCrossed: (period) => crossings.inc({ period }),
  };
}

function cassetteMetrics({ gauge }: Makers): Pick<Metrics, 'cassettes'> {
  const admittedGauge = gauge(
    'svc_cassette_admitted',
    '1 while the cassette is in and its last look was good, else 0',
    ['name'],
  );
  const restartsGauge = gauge(
    'svc_cassette_restarts',
    'How often the process of the cassette was started again since it came in',
    ['name'],
  );
  const items = gauge(
    'svc_cassette_background_items',
    'How far the background work of the cassette is, as it tells it',
    ['name', 'state'],
  );
  return {
    cassettes: (all) => {
      for (const one of [admittedGauge, restartsGauge, items]) one.reset(); // a cassette that left the list is no longer reported
      for (const { name, admitted, restarts, progress } of all) {
        admittedGauge.set({ name }, admitted ? 1 : 0);
        restartsGauge.set({ name }, restarts);
        for (const state of ['done', 'pending', 'failed'] as const)
          if (progress) items.set({ name, state }, progress[state]);
      }
    },
  };
}

function processMetrics({ counter, gauge }: Makers): Pick<Metrics, 'processes'> {
  const up = gauge('svc_process_up', '1 while that part of the service runs, else 0', ['name']);
  const restartsTotal = counter('svc_process_restarts_total', 'How often that process was started again', ['name']);
  return {
    processes: (all) => {
      restartsTotal.reset(); // the parent counts
      for (const { state, restarts, ...process } of all) {
        const name = known(process.name, PROCESSES);
        up.set({ name }, state === 'up' ? 1 : 0);
        restartsTotal.inc({ name }, restarts);
      }
    },
  };
}

function apiMetrics({ counter, histogram }: Makers): Pick<Metrics, 'apiRequest'> {
  const requests = counter('svc_api_requests_total', 'Requests of the read API', ['route', 'method', 'status']);
  const latency = histogram('svc_api_request_seconds', 'Time to the head of the answer', COARSE, ['route']);
  return {
    apiRequest: ({ route, method, status, seconds }) => {
      requests.inc({ route, method: known(method, METHODS), status: String(status) });
      latency.observe({ route }, seconds);
    },
  };
}

function ingestMetrics({ counter, histogram }: Makers): Pick<Metrics, 'ingestWrite' | 'ingestBody' | 'ingestWait'> {
  const writes = counter('svc_ingest_writes_total', 'Writes of the ingest API', ['provider', 'status']);
  const body = histogram('svc_ingest_body_bytes', 'Size of the bodies that were accepted', SIZES, ['provider']);
  const wait = histogram('svc_ingest_write_seconds', 'Time from a body read to the verdict on it', COARSE);
  return {
    ingestWrite: (provider, status) =>
      writes.inc({ provider: known(provider, INGEST_PROVIDERS, 'unknown'), status: known(status, INGEST_STATUSES) }),
    ingestBody: (provider, bytes) => body.observe({ provider: known(provider, INGEST_PROVIDERS, 'unknown') }, bytes),
    ingestWait: (seconds) => wait.observe(seconds),
  };
}

const registryOf = async (own: Registry, others: readonly MetricsSnapshot[]): Promise<Registry> =>
  others.length === 0 ? own : AggregatorRegistry.aggregate([await own.getMetricsAsJSON(), ...others] as object[]);

const MOST_BUFFERED = 1_000; // observations, before they are counted without a scrape

const FINE = [0.00025, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1];
const COARSE = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const SIZES = [0, 1, 2, 3, 4, 5, 6, 7, 8].map((step) => 256 * 4 ** step); // 256 B to 16 MiB

const PROVIDERS: readonly string[] = [...ProviderId.options, 'unknown'];
/** A transcript has no provider. */
const INGEST_PROVIDERS: readonly string[] = [...PROVIDERS, 'transcript'];
const PROCESSES: readonly string[] = ['proxy', 'service'];
const METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const INGEST_STATUSES = [
  'accepted',
  'duplicate', // accepted before
  'unusable', // stored all the same
  'reject_envelope',
  'reject_media_type',
  'reject_oversize',
  'reject_incomplete', // of a file of which parts before it are missing
  'reject_purged', // of a purged session
  'busy', // no room for one more body
  'unavailable', // the engine behind the listener does not take it
  'failed',
] as const;
export type IngestStatus = (typeof INGEST_STATUSES)[number];

/**
 * `failed`: it was sent, and no broker has confirmed it. `dropped`: it was not sent, since the queue was full, the service stopped, or its
 * turn was purged.
 */
export type PublishResult = 'published' | 'failed' | 'dropped';

/** The reasons for which a request is no turn. A test compares them with `core/model/coverage.ts`. */
export const REASONS: readonly string[] = [
  'not_a_turn',
  'unsupported_format',
  'undecodable',
  'over_limit',
  'journal_full',
  'poison',
  'crashed',
  'disabled',
];
const OUTCOMES: readonly string[] = ['captured', 'partial', ...REASONS];

/** A value outside the list must not create a time series of its own. */
const known = (value: string, values: readonly string[], fallback = 'other') =>
  values.includes(value) ? value : fallback;
