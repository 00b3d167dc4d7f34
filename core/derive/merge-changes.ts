/** Merges the changes of several calls: each row once, as it is after the last of them. */
import {
  type DroppedLinks,
  type LinkRow,
  type ProjectionChanges,
  patched,
  type RollupRow,
  type SpanPatch,
  type SpanRow,
  type TraceRow,
} from './changes.ts';

/** Collects the changes of calls one after the other. */
export type ChangeSum = {
  traces: Map<string, TraceRow>;
  spans: Map<string, SpanRow>; // without `late`
  late: Map<string, SpanPatch>; // of these spans: a row so wide is copied once, however often it changes
  patches: Map<string, SpanPatch>;
  links: Map<string, LinkRow>;
  dropped: DroppedLinks[];
  rollup: RollupRow | null;
};

export const noChanges = (): ChangeSum => ({
  traces: new Map(),
  spans: new Map(),
  late: new Map(),
  patches: new Map(),
  links: new Map(),
  dropped: [],
  rollup: null,
});

/** Adds to the sum in place: copying it at every call would cost as much as there are rows. */
export function addChanges(
  sum: ChangeSum,
  { traces, spans, patches, links, dropped, rollup }: ProjectionChanges,
): void {
  for (const row of traces) sum.traces.set(row.trace_id, row);
  for (const row of spans) {
    const key = spanKey(row);
    sum.spans.set(key, row);
    sum.late.delete(key);
    sum.patches.delete(key);
  }
  for (const patch of patches) {
    const key = spanKey(patch);
    const patches = sum.spans.has(key) ? sum.late : sum.patches;
    const before = patches.get(key);
    patches.set(key, before ? { ...before, ...patch } : patch);
  }
  sum.dropped.push(...dropped);
  for (const row of links) sum.links.set(linkKey(row), row);
  sum.rollup = rollup;
}

/** How many rows the sum would write. */
export const rowsIn = ({ traces, spans, patches, links }: ChangeSum): number =>
  traces.size + spans.size + patches.size + links.size;

/** The sum as rows; null when nothing was added. */
export const summed = ({ rollup, ...rows }: ChangeSum): ProjectionChanges | null =>
  rollup && {
    traces: [...rows.traces.values()],
    spans: [...rows.spans].map(([key, span]) => {
      const late = rows.late.get(key);
      return late ? patched(span, late) : span;
    }),
    patches: [...rows.patches.values()],
    links: [...rows.links.values()],
    dropped: rows.dropped,
    rollup,
  };

export const spanKey = ({ trace_id, span_id }: { trace_id: string; span_id: string }) => `${trace_id} ${span_id}`;
export const linkKey = (row: LinkRow) =>
  `${row.from_trace_id} ${row.from_span_id} ${row.to_trace_id} ${row.to_span_id} ${row.kind}`;
