/** What do operators count? Names and closed label sets in one place; a registry for each process or thread, none for the world. */
import { AggregatorRegistry, Counter, Gauge, Histogram, Registry } from 'prom-client';

/** Whose registry it is: `engine` is merged into its process's own and therefore names no build. */
export type ProcessRole = 'all' | 'proxy' | 'api' | 'ingest' | 'derive' | 'engine';

/** What `registry.getMetricsAsJSON()` tells of one registry: plain values that pass between threads. */
export type MetricsSnapshot = readonly unknown[];

type CassetteFigures = {
  name: string;
  admitted: boolean;
  restarts: number;
  /** null: it tells none. */
  progress: { done: number; pending: number; failed: number } | null;
};

export type Metrics = {
  registry: Registry;
  /** A request that passed the proxy, by how it ended as far as the proxy can know. */
  proxyRequest(provider: string, outcome: string): void;
  /** A request that is no turn, by the reason; once, by whoever books it. */
  notCaptured(reason: string): void;
  addedTtfb(seconds: number): void;
  journal(state: { bytes: number; oldestSeconds: number }): void;
  intakeTurn(outcome: string): void;
  intakeBatch(seconds: number): void;
  derived(seconds: number): void;
  derivePending(state: { lagSeconds: number; queue: number; parked: number }): void;
  /** All cassettes of the list as they are now: names are the operator's, so they are few. */
  cassettes(all: readonly CassetteFigures[]): void;
  apiRequest(request: { route: string; method: string; status: number; seconds: number }): void;
  /** A body that came to be appended, by what became of it. */
  ingestWrite(provider: string, status: IngestStatus): void;
  /** The size of a body that was newly accepted. */
  ingestBody(provider: string, bytes: number): void;
  /** Time from a body that was read to the verdict on it. */
  ingestWait(seconds: number): void;
  /** The text exposition of this registry and the given ones, added up. */
  text(others?: readonly MetricsSnapshot[]): Promise<string>;
};

export const METRICS_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

export function openMetrics(role: ProcessRole, version = ''): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const counter = <Label extends string>(name: string, help: string, labelNames: readonly Label[] = []) =>
    new Counter({ name, help, labelNames: [...labelNames], registers });
  const gauge = (name: string, help: string) => new Gauge({ name, help, registers });
  const histogram = <Label extends string>(
    name: string,
    help: string,
    buckets: number[],
    labelNames: readonly Label[] = [],
  ) => new Histogram({ name, help, buckets, labelNames: [...labelNames], registers });

  if (role !== 'engine')
    new Gauge({
      name: 'svc_build_info',
      help: 'Always 1; the labels tell what runs',
      labelNames: ['version', 'role'],
      registers,
    }).set({ version, role }, 1);

  // What happens in every call that passes is noted, and counted when it is asked for: prom-client's own counting costs a call microseconds.
  const passed = new Map<string, number>(); // by provider, space, outcome
  const proxyRequests = new Counter({
    name: 'svc_proxy_requests_total',
    help: 'Requests that came to the proxy',
    labelNames: ['provider', 'outcome'],
    registers,
    collect() {
      for (const [what, times] of passed) {
        const [provider = '', outcome = ''] = what.split(' ');
        this.inc({ provider: known(provider, PROVIDERS, 'unknown'), outcome: known(outcome, OUTCOMES) }, times);
      }
      passed.clear();
    },
  });
  const notCaptured = counter('svc_capture_not_captured_total', 'Requests that are no turn', ['reason']);
  const added: number[] = [];
  const addedTtfb = new Histogram({
    name: 'svc_proxy_added_ttfb_seconds',
    help: 'Time to first byte that the proxy adds',
    buckets: FINE,
    registers,
    collect: () => observeAdded(),
  });
  const observeAdded = () => {
    for (const seconds of added.splice(0)) addedTtfb.observe(seconds);
  };
  const journalBytes = gauge('svc_journal_bytes', 'Journal on disk');
  const journalOldest = gauge(
    'svc_journal_oldest_seconds',
    'How long the oldest call has waited that ended and is not in the database',
  );
  const intakeTurns = counter('svc_intake_turns_total', 'Calls taken in from the journal', ['outcome']);
  const intakeBatch = histogram('svc_intake_batch_seconds', 'Time to store a batch of calls', COARSE);
  const derive = histogram('svc_derive_seconds', 'Time to derive what is new of one session', COARSE);
  const deriveLag = gauge('svc_derive_lag_seconds', 'How long the longest waiting session has waited');
  const deriveQueue = gauge('svc_derive_queue', 'Sessions whose projection is behind');
  const deriveParked = gauge('svc_derive_parked', 'Sessions that failed too often to be tried again');
  const cassetteAdmitted = new Gauge({
    name: 'svc_cassette_admitted',
    help: '1 while the cassette is in and its last look was good, else 0',
    labelNames: ['name'],
    registers,
  });
  const cassetteRestarts = new Gauge({
    name: 'svc_cassette_restarts',
    help: 'How often the process of the cassette was started again since it came in',
    labelNames: ['name'],
    registers,
  });
  const cassetteItems = new Gauge({
    name: 'svc_cassette_background_items',
    help: 'How far the background work of the cassette is, as it tells it',
    labelNames: ['name', 'state'],
    registers,
  });
  const apiRequests = counter('svc_api_requests_total', 'Requests of the read API', ['route', 'method', 'status']);
  const apiSeconds = histogram('svc_api_request_seconds', 'Time to the head of the answer', COARSE, ['route']);
  const ingestWrites = counter('svc_ingest_writes_total', 'Writes of the ingest API', ['provider', 'status']);
  const ingestBody = histogram('svc_ingest_body_bytes', 'Size of the bodies that were accepted', SIZES, ['provider']);
  const ingestWait = histogram('svc_ingest_write_seconds', 'Time from a body read to the verdict on it', COARSE);

  // Operators alert on a series that grows; one that begins with its first count has not grown.
  if (role === 'all' || role === 'proxy') {
    for (const outcome of OUTCOMES) for (const provider of CALLED) proxyRequests.inc({ provider, outcome }, 0);
    for (const reason of REASONS) notCaptured.inc({ reason }, 0);
  }

  return {
    registry,
    proxyRequest: (provider, outcome) => {
      const what = `${provider} ${outcome}`;
      passed.set(what, (passed.get(what) ?? 0) + 1);
    },
    notCaptured: (reason) => notCaptured.inc({ reason: known(reason, REASONS) }),
    addedTtfb: (seconds) => {
      if (added.push(seconds) >= MOST_NOTED) observeAdded();
    },
    journal: ({ bytes, oldestSeconds }) => {
      journalBytes.set(bytes);
      journalOldest.set(oldestSeconds);
    },
    intakeTurn: (outcome) => intakeTurns.inc({ outcome: known(outcome, OUTCOMES) }),
    intakeBatch: (seconds) => intakeBatch.observe(seconds),
    derived: (seconds) => derive.observe(seconds),
    derivePending: ({ lagSeconds, queue, parked }) => {
      deriveLag.set(lagSeconds);
      deriveQueue.set(queue);
      deriveParked.set(parked);
    },
    cassettes: (all) => {
      cassetteAdmitted.reset(); // who left the list is told no more
      cassetteRestarts.reset();
      cassetteItems.reset();
      for (const { name, admitted, restarts, progress } of all) {
        cassetteAdmitted.set({ name }, admitted ? 1 : 0);
        cassetteRestarts.set({ name }, restarts);
        for (const state of ['done', 'pending', 'failed'] as const)
          if (progress) cassetteItems.set({ name, state }, progress[state]);
      }
    },
    apiRequest: ({ route, method, status, seconds }) => {
      apiRequests.inc({ route, method: known(method, METHODS), status: String(status) });
      apiSeconds.observe({ route }, seconds);
    },
    ingestWrite: (provider, status) =>
      ingestWrites.inc({ provider: known(provider, SENT, 'unknown'), status: known(status, WRITES) }),
    ingestBody: (provider, bytes) => ingestBody.observe({ provider: known(provider, SENT, 'unknown') }, bytes),
    ingestWait: (seconds) => ingestWait.observe(seconds),
    text: async (others = []) =>
      others.length === 0
        ? registry.metrics()
        : AggregatorRegistry.aggregate([await registry.getMetricsAsJSON(), ...others] as object[]).metrics(),
  };
}

const MOST_NOTED = 1_000; // times, before they are counted unasked

const FINE = [0.00025, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1];
const COARSE = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const SIZES = [0, 1, 2, 3, 4, 5, 6, 7, 8].map((step) => 256 * 4 ** step); // 256 B to 16 MiB

/** Those whose upstreams the proxy knows. */
const CALLED: readonly string[] = ['anthropic', 'openai', 'ollama'];
const PROVIDERS: readonly string[] = [...CALLED, 'unknown'];
/** A transcript has no provider. */
const SENT: readonly string[] = [...PROVIDERS, 'transcript'];
const METHODS: readonly string[] = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const WRITES = [
  'accepted',
  'duplicate', // accepted before
  'unusable', // kept all the same
  'reject_envelope',
  'reject_media_type',
  'reject_oversize',
  'busy', // no room for one more body
  'unavailable', // nothing behind the listener to take it
  'failed',
] as const;
export type IngestStatus = (typeof WRITES)[number];

/** The reasons for which a request is no turn. This file imports no noun; a test holds it against `core/model/coverage.ts`. */
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

/** A value outside the list must not open a time series of its own. */
const known = (value: string, values: readonly string[], otherwise = 'other') =>
  values.includes(value) ? value : otherwise;
