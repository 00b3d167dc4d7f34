/** Exports the metrics of all processes of a service to `telemetry.endpoint`. Loaded only where that is set. */
import { hostname } from 'node:os';
import { parseHeaderList } from '../../config/header-list.ts';
import { startTelemetry } from '../../telemetry/telemetry.ts';
import { metricsOf, type Process } from './listening.ts';
import type { ServiceParts } from './service-parts.ts';

type Parts = Pick<ServiceParts, 'loaded' | 'role' | 'version' | 'log' | 'pid' | 'startedAt'>;

/** @returns what ends it, before what it reports of is closed */
export function exportMetrics({ loaded, role, version, log, pid, startedAt }: Parts, shared: Process) {
  const { endpoint, headers } = loaded.config.telemetry;
  const telemetry = startTelemetry({
    endpoint,
    headers: parseHeaderList(headers) ?? {}, // it was checked with the settings
    resource: { version, role, startedAt, instance: `${hostname()}:${pid}:${startedAt}` },
    snapshot: () => metricsOf(shared),
    metrics: shared.metrics,
    log,
  });
  return telemetry.close;
}
