/** The counters of processes and threads that have ended: what they counted is still shown, so that no counter falls when one starts again. */
import type { MetricsSnapshot } from './metrics.ts';

type Value = { value: number; labels: Record<string, unknown>; metricName?: string };
type Metric = { name: string; type: string; values: Value[] };

/** Gauges say how things are now: that of an ended process says nothing. */
const ADDS_UP = ['counter', 'histogram'];

/** The sum of the counters and histograms of both. Each is what prom-client's `getMetricsAsJSON` returns. */
export function counterSum(a: MetricsSnapshot, b: MetricsSnapshot): MetricsSnapshot {
  const sums = new Map<string, Metric>();
  for (const metric of [...a, ...b] as Metric[]) {
    if (!ADDS_UP.includes(metric.type)) continue;
    const before = sums.get(metric.name);
    sums.set(metric.name, before ? { ...before, values: valueSums(before.values, metric.values) } : metric);
  }
  return [...sums.values()];
}

function valueSums(a: readonly Value[], b: readonly Value[]): Value[] {
  const sums = new Map<string, Value>();
  for (const value of [...a, ...b]) {
    const key = `${value.metricName ?? ''} ${JSON.stringify(Object.entries(value.labels).sort())}`;
    sums.set(key, { ...value, value: value.value + (sums.get(key)?.value ?? 0) });
  }
  return [...sums.values()];
}
