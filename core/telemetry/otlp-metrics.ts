/**
 * Our metrics as the body of an OTLP export, in OTLP's JSON encoding. They are counted by prom-client, whose snapshot has all that
 * OTLP wants to know; OpenTelemetry's own exporter would count a second time, in an SDK of 28 packages and 49 MB.
 */
import type { MetricsSnapshot } from '../metrics.ts';

/** A metric of a snapshot. Of a histogram, `metricName` ends in `_bucket` (with the label `le`), `_sum` or `_count`. */
type Metric = { name: string; help: string; type: string; values: Value[] };
type Value = { value: number; labels: Labels; metricName?: string };
type Labels = Record<string, string | number>;

/** What the figures are of. `startedAt`: since when counters count, in milliseconds since 1970. */
export type Resource = { version: string; role: string; instance: string; startedAt: number };

type Attribute = { key: string; value: { stringValue: string } };
/** OTLP's JSON has integers of 64 bits as strings. */
type Times = { startTimeUnixNano: string; timeUnixNano: string };

const CUMULATIVE = 2;

/** @param now milliseconds since 1970 */
export const otlpMetrics = (snapshot: MetricsSnapshot, resource: Resource, now: number): object => {
  const times = { startTimeUnixNano: nanoseconds(resource.startedAt), timeUnixNano: nanoseconds(now) };
  return {
    resourceMetrics: [
      {
        resource: {
          attributes: attributes({
            'service.name': 'svc',
            'service.version': resource.version,
            'service.instance.id': resource.instance,
            'svc.role': resource.role,
          }),
        },
        scopeMetrics: [
          {
            scope: { name: 'svc', version: resource.version },
            metrics: (snapshot as readonly Metric[]).flatMap((metric) => otlpMetric(metric, times) ?? []),
          },
        ],
      },
    ],
  };
};

const nanoseconds = (ms: number) => `${Math.round(ms)}000000`;

const attributes = (labels: Labels): Attribute[] =>
  Object.entries(labels).map(([key, value]) => ({ key, value: { stringValue: String(value) } }));

/** null: it has no value, or is of a type that OTLP has otherwise. */
function otlpMetric({ name, help, type, values }: Metric, times: Times): object | null {
  const described = { name, description: help, unit: unitOf(name) };
  const finite = values.filter(({ value }) => Number.isFinite(value));
  if (finite.length === 0) return null;
  switch (type) {
    case 'counter': {
      const dataPoints = finite.map(({ labels, value }) => ({
        attributes: attributes(labels),
        ...times,
        asDouble: value,
      }));
      return { ...described, sum: { aggregationTemporality: CUMULATIVE, isMonotonic: true, dataPoints } };
    }
    case 'gauge': {
      const { timeUnixNano } = times;
      const dataPoints = finite.map(({ labels, value }) => ({
        attributes: attributes(labels),
        timeUnixNano,
        asDouble: value,
      }));
      return { ...described, gauge: { dataPoints } };
    }
    case 'histogram':
      return {
        ...described,
        histogram: { aggregationTemporality: CUMULATIVE, dataPoints: histogramPoints(name, finite, times) },
      };
    default:
      return null;
  }
}

/** As UCUM has them. */
const unitOf = (name: string): string =>
  /_seconds(_total)?$/.test(name) ? 's' : /_bytes(_total)?$/.test(name) ? 'By' : '';

type Series = { labels: Labels; buckets: { bound: number; upTo: number }[]; sum: number; count: number };

/** Buckets of prom-client count all that is below their bound; those of OTLP what is between it and the bound before. */
function histogramPoints(name: string, values: readonly Value[], times: Times): object[] {
  const all = new Map<string, Series>();
  for (const { value, labels, metricName } of values) {
    const { le, ...own } = labels;
    const key = JSON.stringify(Object.entries(own).sort());
    const series = all.get(key) ?? { labels: own, buckets: [], sum: 0, count: 0 };
    all.set(key, series);
    if (metricName === `${name}_sum`) series.sum = value;
    else if (metricName === `${name}_count`) series.count = value;
    else if (le !== undefined && le !== '+Inf') series.buckets.push({ bound: Number(le), upTo: value });
  }
  return [...all.values()].map(({ labels, buckets, sum, count }) => {
    const sorted = buckets.sort((a, b) => a.bound - b.bound);
    const counts = [...sorted.map(({ upTo }) => upTo), count].map((upTo, i) => upTo - (sorted[i - 1]?.upTo ?? 0));
    return {
      attributes: attributes(labels),
      ...times,
      count: String(count),
      sum,
      bucketCounts: counts.map(String),
      explicitBounds: sorted.map(({ bound }) => bound),
    };
  });
}
