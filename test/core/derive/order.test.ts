import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Changes } from '../../../core/derive/changes.ts';
import { type Checkpoint, keptCheckpoints, restoredRows } from '../../../core/derive/checkpoint.ts';
import { fold } from '../../../core/derive/fold.ts';
import { addChanges, noChanges, summed } from '../../../core/derive/merge-changes.ts';
import { compareKeys, keyOf } from '../../../core/derive/order.ts';
import { emptyState, type SessionState } from '../../../core/derive/state.ts';
import type { CallTurn } from '../../../core/derive/turn.ts';
import {
  answer,
  assistant,
  type Call,
  callTurns,
  SESSION,
  toolResult,
  toolUse,
  user,
} from '../../support/call-turn.ts';
import { generatedCalls } from '../../support/generated-calls.ts';

const test = suite('order of calls');

/** What the database holds of one session, written as the database writes it: through JSON, row over row. */
type Stored = {
  traces: Map<string, Changes['traces'][0]>;
  spans: Map<string, Changes['spans'][0]>;
  links: Map<string, Changes['links'][0]>;
  rollup: Changes['rollup'] | null;
  state: SessionState | null;
  checkpoints: Checkpoint[];
};
const nothing = (): Stored => ({
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

function write(store: Stored, changes: Changes): void {
  for (const row of changes.traces) store.traces.set(row.trace_id, stored(row));
  for (const row of changes.spans) store.spans.set(spanKey(row), stored(row));
  for (const patch of changes.patches) {
    const span = store.spans.get(spanKey(patch));
    if (!span) throw new Error('Cannot patch: the span is not stored');
    store.spans.set(spanKey(patch), { ...span, ...stored(patch) });
  }
  for (const row of changes.links) store.links.set(JSON.stringify(row), stored(row));
  store.rollup = stored(changes.rollup);
}

/** One pass over all calls known by now, as the worker makes it. Gives the number of calls that it folded. */
function derive(store: Stored, known: readonly Call[], fresh: readonly Call[]): number {
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
    if (checkpoint) addChanges(sum, restoredRows(checkpoint.state));
  }
  const from = state?.last;
  const due = turns.filter((turn) => !from || compareKeys(turn, from) > 0);
  const checkpoints: Checkpoint[] = [];
  const next = fold(state ?? emptyState(SESSION), due, { sum, checkpoints });
  const changes = summed(sum);
  if (changes) write(store, changes);
  store.state = stored(next);
  const kept = keptCheckpoints(next.turns);
  const byKey = new Map([...store.checkpoints, ...stored(checkpoints)].map((one) => [JSON.stringify(keyOf(one)), one]));
  store.checkpoints = [...byKey.values()].filter(({ state: { turns: n } }) => kept.includes(n));
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

const dump = (store: Stored) => ({
  traces: [...store.traces.values()].sort((a, b) => (a.trace_id < b.trace_id ? -1 : 1)),
  spans: [...store.spans.values()].sort((a, b) => (a.span_id < b.span_id ? -1 : 1)),
  links: [...store.links.keys()].sort(),
  rollup: store.rollup,
  state: store.state,
  checkpoints: store.checkpoints.map((one) => keyOf(one)),
});

/** Calls in batches of arrival; `order` says in which. */
function arriving(calls: readonly Call[], order: readonly number[], batch: number): Stored {
  const store = nothing();
  const arrived = calls
    .map((call, i) => ({ call, place: order[i % order.length] ?? 0, i }))
    .sort((a, b) => a.place - b.place || a.i - b.i)
    .map(({ call }) => call);
  for (let i = 0; i < arrived.length; i += batch)
    derive(store, arrived.slice(0, i + batch), arrived.slice(i, i + batch));
  return store;
}

test('from scratch, call by call and in any order of arrival, the rows are the same', async () => {
  await fc.assert(
    fc.property(
      generatedCalls({ maxLength: 40 }),
      fc.array(fc.nat({ max: 30 }), { minLength: 1, maxLength: 40 }),
      fc.integer({ min: 1, max: 7 }),
      (calls, order, batch) => {
        const whole = dump(arriving(calls, [0], calls.length));
        assert.equal(dump(arriving(calls, [0], 1)), whole);
        assert.equal(dump(arriving(calls, order, batch)), whole);
      },
    ),
    { numRuns: 150 },
  );
});

test('each token is counted once, whatever joins what', async () => {
  await fc.assert(
    fc.property(generatedCalls({ maxLength: 40 }), (calls) => {
      const { traces, spans, rollup } = arriving(calls, [0], calls.length);
      const sum = (of: Iterable<{ input_tokens: number }>) => [...of].reduce((all, row) => all + row.input_tokens, 0);
      assert.is(sum(traces.values()), rollup?.input_tokens);
      assert.is(sum(spans.values()), rollup?.input_tokens);
      for (const trace of traces.values()) {
        const own = [...spans.values()].filter((span) => span.trace_id === trace.trace_id);
        assert.is(own.length, trace.span_count);
        assert.equal(
          own.map(({ seq }) => seq).sort((a, b) => a - b),
          own.map((_, i) => i),
        );
      }
    }),
    { numRuns: 100 },
  );
});

test('a late call replays a few calls, not all that went before', () => {
  const calls = Array.from(
    { length: 600 },
    (_, i): Call => ({
      at: i,
      call_id: `c${i}`,
      raw_turn_id: i + 1,
      says: [{ role: 'user', content: [], injected: '' }],
    }),
  );
  const store = nothing();
  derive(store, calls.slice(0, 500), calls.slice(0, 500));
  const late: Call = { at: 490.5, call_id: 'late', raw_turn_id: 1000 };
  assert.ok(derive(store, [...calls.slice(0, 500), late], [late]) <= 24);
  assert.is(derive(store, [...calls.slice(0, 501), late], calls.slice(500, 501)), 1, 'and a call in order none');
  const old: Call = { at: 10.5, call_id: 'old', raw_turn_id: 1001 };
  assert.is(derive(store, [...calls.slice(0, 501), late, old], [old]), 503, 'one from the beginning replays all');
});

test('a result that a late call takes away from a tool leaves it open again', () => {
  const ask = (at: number, words: string): Call => ({ at, says: [user(words)], answers: answer(toolUse('same')) });
  const bring = (at: number, words: string): Call => ({
    at,
    says: [user(words), assistant(toolUse('same')), user(toolResult('same', `of ${words}`))],
    answers: answer('Ok'),
  });
  const others = (from: number): Call[] =>
    Array.from({ length: 10 }, (_, i) => ({ at: from + i, says: [user(`Other ${from + i}`)], answers: answer('Ok') }));
  // The first tool gets the second one's result as long as the second one is not known.
  const calls = [ask(0, 'first'), ...others(10), ask(30, 'second'), ...others(40), bring(60, 'second')].map(
    (call, i) => ({
      ...call,
      call_id: `c${i}`,
      raw_turn_id: i + 1,
    }),
  );
  const late = calls.findIndex(({ at }) => at === 30);
  const store = arriving(
    calls,
    calls.map((_, i) => (i === late ? 1 : 0)),
    calls.length - 1,
  );
  assert.equal(dump(store), dump(arriving(calls, [0], calls.length)));
  const tools = [...store.spans.values()].filter(({ kind }) => kind === 'tool');
  assert.equal(tools.map(({ output }) => output.length).sort(), [0, 1]);
});

test('checkpoints: dense near the end, few in all, and once gone they stay gone', () => {
  assert.equal(keptCheckpoints(7), []);
  assert.equal(keptCheckpoints(16), [8, 16]);
  let before = new Set<number>();
  for (let turns = 1; turns <= 3_000; turns++) {
    const kept = keptCheckpoints(turns);
    assert.ok(
      kept.every((n) => before.has(n) || n === turns),
      `at ${turns}`,
    );
    assert.ok(kept.length <= 40);
    before = new Set(kept);
  }
});

test('ties in time are ordered by the bytes of the id, as the database orders them', () => {
  const at = '2026-11-21T09:00:00.000000Z';
  const ids = ['B', 'a', 'é', '\u{1F600}', '\uFFFD', 'A'];
  const sorted = ids
    .map((call_id) => ({ requested_at: at, call_id }))
    .sort(compareKeys)
    .map(({ call_id }) => call_id);
  assert.equal(sorted, ['A', 'B', 'a', 'é', '\uFFFD', '\u{1F600}']);
});

test.run();
