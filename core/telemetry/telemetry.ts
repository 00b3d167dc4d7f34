/**
 * Sends our metrics to an endpoint that the operator names, every minute and at the stop. An export that fails is not repeated, since the
 * next one has the same counters, further on; so nothing waits, and nothing is collected meanwhile.
 */
import type { Logger } from '../log.ts';
import type { Metrics, MetricsSnapshot } from '../metrics.ts';
import { otlpMetrics, type Resource } from './otlp-metrics.ts';

export type Telemetry = {
  /** Sends the last figures, for at most a few seconds. */
  close(): Promise<void>;
};

type Deps = {
  /** `<endpoint>/v1/metrics` receives them. */
  endpoint: string;
  headers: Readonly<Record<string, string>>;
  resource: Resource;
  /** The metrics as they are now, of all processes. */
  snapshot(): Promise<MetricsSnapshot>;
  metrics: Pick<Metrics, 'telemetryExport'>;
  log: Pick<Logger, 'warn' | 'info'>;
  everyMs?: number;
  timeoutMs?: number;
};

const EVERY_MS = 60_000;
const TIMEOUT_MS = 10_000;
const CLOSE_MS = 3_000;

export function startTelemetry({ everyMs = EVERY_MS, timeoutMs = TIMEOUT_MS, ...deps }: Deps): Telemetry {
  const { resource, snapshot, metrics, log } = deps;
  const url = `${deps.endpoint.replace(/\/+$/, '')}/v1/metrics`;
  const headers = { ...deps.headers, 'content-type': 'application/json' };
  let underway: Promise<void> | null = null;
  let isLogged = false;

  const exportNow = async (deadlineMs: number) => {
    const reason = await failureOf(async () => {
      const body = JSON.stringify(otlpMetrics(await snapshot(), resource, Date.now()));
      const signal = AbortSignal.timeout(deadlineMs);
      const response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'error' });
      return rejectionOf(response.status, (await response.text()).slice(0, MAX_RESPONSE));
    });
    metrics.telemetryExport(reason === null ? 'exported' : 'failed');
    if (reason !== null && !isLogged)
      log.warn({ endpoint: deps.endpoint, reason }, 'Cannot export metrics: the next ones are tried, and counted');
    if (reason === null && isLogged) log.info('metrics are exported again');
    isLogged = reason !== null;
  };

  const exportOnce = (deadlineMs: number): Promise<void> => {
    underway ??= exportNow(deadlineMs).finally(() => {
      underway = null;
    });
    return underway;
  };

  const timer = setInterval(() => void exportOnce(timeoutMs), everyMs).unref();
  return {
    close: async () => {
      clearInterval(timer);
      let late: NodeJS.Timeout | undefined;
      const deadline = new Promise<void>((done) => {
        late = setTimeout(done, CLOSE_MS);
      });
      const last = async () => {
        await underway; // it has older figures
        await exportOnce(CLOSE_MS);
      };
      await Promise.race([last(), deadline]);
      clearTimeout(late);
    },
  };
}

const MAX_RESPONSE = 10_000; // characters

/** Why nothing was exported; null: it was. Whatever fails here must fail nothing else. */
async function failureOf(work: () => Promise<string | null>): Promise<string | null> {
  try {
    return await work();
  } catch (error) {
    const cause = error instanceof Error ? (error.cause as NodeJS.ErrnoException | undefined) : undefined;
    return cause?.code ?? (error instanceof Error ? error.name : 'unknown');
  }
}

/** A response may accept a part: it then has the number of figures that were not. */
function rejectionOf(status: number, body: string): string | null {
  if (status < 200 || status > 299) return `the endpoint responds ${status}`;
  const [, rejected = '0'] = /"rejectedDataPoints"\s*:\s*"?(\d+)/.exec(body) ?? [];
  return Number(rejected) > 0 ? `the endpoint rejects ${rejected} figures` : null;
}
