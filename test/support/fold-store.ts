/** What the database would hold of a session, in memory: folded in passes as the worker does it, written through JSON, row over row. */
import { type ProjectionChanges, patched } from '../../core/derive/changes.ts';
import { type Checkpoint, restoredRows, retainedCheckpoints } from '../../core/derive/checkpoint.ts';
import { noEvidence, type TranscriptEvidence } from '../../core/derive/evidence.ts';
import { fold } from '../../core/derive/fold.ts';
import { addChanges, noChanges, summed } from '../../core/derive/merge-changes.ts';
import { compareKeys, keyOf } from '../../core/derive/order.ts';
import { emptyState, type SessionState } from '../../core/derive/state.ts';
import { restoredState, storedState } from '../../core/derive/stored-state.ts';
import type { CallTurn } from '../../core/derive/turn.ts';
import { type Call, callTurns, SESSION } from './call-turn.ts';

export type Stored = {
  traces: Map<string, ProjectionChanges['traces'][0]>;
  spans: Map<string, ProjectionChanges['spans'][0]>;
  links: Map<string, ProjectionChanges['links'][0]>;
  rollup: ProjectionChanges['rollup'] | null;
  state: SessionState | null;
  checkpoints: Checkpoint[];
};
export const nothing = (): Stored => ({
  traces: new Map(),
  spans: new Map(),
  links: new Map(),
  rollup: null,
  state: null,
  checkpoints: [],
});
const stored = <T>(value: T): T =>
  JSON.parse(
    JSON.stringify(value, (_key, member) => (typeof member === 'string' ? member.replaceAll('\0', '\uFFFD') : member)),
  );

const spanKey = ({ trace_id, span_id }: { trace_id: string; span_id: string }) => `${trace_id} ${span_id}`;

function write(store: Stored, changes: ProjectionChanges): void {
  for (const row of changes.traces) store.traces.set(row.trace_id, stored(row));
  for (const row of changes.spans) store.spans.set(spanKey(row), stored(row));
  for (const patch of changes.patches) {
    const span = store.spans.get(spanKey(patch));
    if (!span) throw new Error('Cannot patch: the span is not stored');
    store.spans.set(spanKey(patch), patched(span, stored(patch)));
  }
  for (const { kind, from_trace_id, from_span_id } of changes.dropped)
    for (const [id, row] of store.links)
      if (row.kind === kind && row.from_trace_id === from_trace_id && row.from_span_id === from_span_id)
        store.links.delete(id);
  for (const row of changes.links) store.links.set(JSON.stringify(row), stored(row));
  store.rollup = stored(changes.rollup);
}

/** One pass over all calls known by now, as the worker makes it. Gives the number of calls that it folded. */
export function derive(
  store: Stored,
  known: readonly Call[],
  fresh: readonly Call[],
  evidence: TranscriptEvidence = noEvidence,
): number {
  const turns = callTurns(known);
  const isNew = new Set(fresh.map(({ call_id }) => call_id));
  const firstNew = turns.find(({ call_id }) => isNew.has(call_id));
  if (!firstNew) return 0;
  let state = store.state;
  const sum = noChanges();
  if (state?.last && compareKeys(firstNew, state.last) < 0) {
    const checkpoint = store.checkpoints.findLast((one) => compareKeys(one, firstNew) <= 0);
    state = checkpoint?.state ?? null;
    forget(
      store,
      turns.filter((turn) => !checkpoint || compareKeys(turn, checkpoint) >= 0),
    );
    store.checkpoints = checkpoint ? store.checkpoints.filter((one) => compareKeys(one, checkpoint) <= 0) : [];
    if (checkpoint) addChanges(sum, restoredRows(checkpoint.state, evidence));
  }
  const from = state?.last;
  const due = turns.filter((turn) => !from || compareKeys(turn, from) > 0);
  const checkpoints: Checkpoint[] = [];
  const next = fold(state ?? emptyState(SESSION), due, { sum, checkpoints, evidence });
  const changes = summed(sum);
  if (changes) write(store, changes);
  store.state = restoredState(stored(storedState(next)));
  const retained = retainedCheckpoints(next.turns, 'wire');
  const byKey = new Map([...store.checkpoints, ...stored(checkpoints)].map((one) => [JSON.stringify(keyOf(one)), one]));
  store.checkpoints = [...byKey.values()].filter(({ state: { turns: n } }) => retained.includes(n));
  return due.length;
}

function forget(store: Stored, turns: readonly CallTurn[]): void {
  const gone = new Set(turns.map(({ raw_turn_id }) => raw_turn_id));
  for (const [id, row] of store.spans)
    if (row.raw_turn_id !== null && gone.has(row.raw_turn_id)) store.spans.delete(id);
  for (const [id, row] of store.links)
    if (
      !store.spans.has(spanKey({ trace_id: row.from_trace_id, span_id: row.from_span_id })) ||
      !store.spans.has(spanKey({ trace_id: row.to_trace_id, span_id: row.to_span_id }))
    )
      store.links.delete(id);
  const left = new Set([...store.spans.values()].map(({ trace_id }) => trace_id));
  for (const id of store.traces.keys()) if (!left.has(id)) store.traces.delete(id);
}

export const dump = (store: Stored) => ({
  traces: [...store.traces.values()].sort((a, b) => (a.trace_id < b.trace_id ? -1 : 1)),
  spans: [...store.spans.values()].sort((a, b) => (a.span_id < b.span_id ? -1 : 1)),
  links: [...store.links.keys()].sort(),
  rollup: store.rollup,
  state: store.state,
  checkpoints: store.checkpoints.map((one) => keyOf(one)),
});

/** Derives calls in batches, in the order of arrival that `order` gives. */
export function arriving(
  calls: readonly Call[],
  order: readonly number[],
  batch: number,
  evidence: TranscriptEvidence = noEvidence,
): Stored {
  const store = nothing();
  const arrived = calls
    .map((call, i) => ({ call, place: order[i % order.length] ?? 0, i }))
    .sort((a, b) => a.place - b.place || a.i - b.i)
    .map(({ call }) => call);
  for (let i = 0; i < arrived.length; i += batch)
    derive(store, arrived.slice(0, i + batch), arrived.slice(i, i + batch), evidence);
  return store;
}
