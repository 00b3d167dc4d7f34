/** How the publisher fares, as operators see it: in the metrics, in the state of the service, and in the log, which an outage does not fill. */
import type { Logger } from '../log.ts';
import type { Metrics, PublishResult } from '../metrics.ts';
import type { PublisherState } from '../model/publisher-state.ts';

export type PublisherReport = {
  state(): PublisherState;
  /** Whether no broker took anything the last time. */
  isDown(): boolean;
  count(result: PublishResult, nodes: number): void;
  down(reason: string): void;
  up(): void;
  /** Logs what is a fault of ours or of the database, not of a broker. */
  fault(error: unknown): void;
  /** Reports the state within half a second, along with what changes until then. */
  soon(): void;
  now(): void;
};

export type ReportDeps = {
  log: Pick<Logger, 'warn' | 'info'>;
  metrics: Pick<Metrics, 'published' | 'publisher'>;
  /** Called when the state has changed. */
  changed?: ((state: PublisherState) => void) | undefined;
};

const LOG_EVERY_MS = 60_000; // an outage is logged, but not each time that brokers come and go
const REPORT_EVERY_MS = 500;

/** @param queued how many nodes wait */
export function openPublisherReport({ log, metrics, changed }: ReportDeps, queued: () => number): PublisherReport {
  const totals = { published: 0, failed: 0, dropped: 0 };
  let reason: string | null = null; // of the outage; null: there is none
  let isLogged = false;
  let mayLogAt = 0;
  let timer: NodeJS.Timeout | null = null;

  const state = (): PublisherState => ({ queued: queued(), ...totals, reason });
  const now = () => {
    if (timer) clearTimeout(timer);
    timer = null;
    metrics.publisher({ queued: queued(), isUp: reason === null });
    changed?.(state());
  };
  const soon = () => {
    timer ??= setTimeout(now, REPORT_EVERY_MS).unref();
  };
  const mayLog = (): boolean => {
    if (Date.now() < mayLogAt) return false;
    mayLogAt = Date.now() + LOG_EVERY_MS;
    return true;
  };

  for (const result of ['published', 'failed', 'dropped'] as const) metrics.published(result, 0);
  now();
  return {
    state,
    isDown: () => reason !== null,
    count(result, nodes) {
      if (nodes === 0) return;
      totals[result] += nodes;
      metrics.published(result, nodes);
      soon();
    },
    down(why) {
      reason = why;
      if (!isLogged && mayLog()) {
        isLogged = true;
        log.warn({ reason }, 'Cannot publish nodes: no broker takes them; the newest wait in a queue, and are counted');
      }
      now();
    },
    up() {
      const wasDown = reason !== null;
      reason = null;
      if (isLogged) log.info('nodes are published again');
      isLogged = false;
      if (wasDown) now();
    },
    fault(error) {
      if (!mayLog()) return;
      const reason = error instanceof Error ? error.name : 'unknown';
      const at = error instanceof Error ? error.stack?.split('\n').slice(1, 6).join('\n') : undefined; // stack frames, no message
      log.warn({ reason, at }, 'Cannot make the events of some nodes: they are not published');
    },
    soon,
    now,
  };
}
