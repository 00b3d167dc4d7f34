import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { mergeOutline, type OutlineColumns, spanIndex } from '../../../../../core/web/client/store/outline-columns.ts';
import { outlineIndex } from '../../../../../core/web/client/store/outline-index.ts';
import { outlineAnswer, type Relation, type Step, uuidOf } from '../../../../support/outline-answer.ts';

const test = suite('outlineColumns');

const traces = [
  { id: 't2', started_us: 2_000 },
  { id: 't1', started_us: 1_000, prompt: 'Fix the carry' },
];
const steps: Step[] = [
  { id: 'root2', trace: 't2', kind: 'agent' },
  { id: 'call3', trace: 't2', parent: 'root2', started_us: 2_000, model: 'm' },
  { id: 'root1', trace: 't1', kind: 'agent' },
  { id: 'call1', trace: 't1', parent: 'root1', started_us: 1_000, model: 'm', cost_usd: 0.5 },
  { id: 'tool1', trace: 't1', kind: 'tool', parent: 'root1', name: 'Bash', label: 'ls', started_us: 1_100 },
  { id: 'call2', trace: 't1', parent: 'root1', started_us: 1_200, first_byte_us: 1_250 },
];
const links: Relation[] = [
  { kind: 'emits', from: 'call1', to: 'tool1' },
  { kind: 'feeds', from: 'tool1', to: 'call2' },
];

const ids = (columns: OutlineColumns, indexes: Iterable<number>) => [...indexes].map((i) => columns.spans.span_id[i]);
const index = (columns: OutlineColumns, id: string, trace = '') =>
  spanIndex(columns, trace === '' ? '' : uuidOf(trace), uuidOf(id));

test('traces come in order of time, spans in the order of the walk, children below their parent', () => {
  const columns = mergeOutline(null, outlineAnswer({ traces, steps, links }));
  const { traces: order, spansOf, childrenOf, calls, callOf } = outlineIndex(columns);
  assert.equal(
    [...order].map((i) => columns.traces.trace_id[i]),
    ['t1', 't2'].map(uuidOf),
  );
  assert.equal(ids(columns, spansOf.of(order[0] ?? -1)), ['root1', 'call1', 'tool1', 'call2'].map(uuidOf));
  assert.equal(ids(columns, childrenOf.of(index(columns, 'root1'))), ['call1', 'tool1', 'call2'].map(uuidOf));
  assert.equal(ids(columns, calls), ['call1', 'call2', 'call3'].map(uuidOf));
  assert.is(callOf[index(columns, 'call3')], 2);
  assert.is(callOf[index(columns, 'tool1')], -1);
});

test('links are found from both ends', () => {
  const columns = mergeOutline(null, outlineAnswer({ traces, steps, links }));
  const { linksFrom, linksTo } = outlineIndex(columns);
  const [from] = linksFrom.of(index(columns, 'tool1'));
  const [to] = linksTo.of(index(columns, 'tool1'));
  assert.is(columns.names[columns.links.kind[from ?? -1] ?? -1], 'feeds');
  assert.is(columns.links.to[from ?? -1], index(columns, 'call2'));
  assert.is(columns.names[columns.links.kind[to ?? -1] ?? -1], 'emits');
  assert.is(columns.links.from[to ?? -1], index(columns, 'call1'));
});

test('a cost that is not known is no number, and a moment has microseconds', () => {
  const columns = mergeOutline(null, outlineAnswer({ traces, steps }));
  assert.is(columns.spans.cost_usd[index(columns, 'call1')], 0.5);
  assert.ok(Number.isNaN(columns.spans.cost_usd[index(columns, 'call2')]));
  assert.is(columns.spans.first_byte_us[index(columns, 'call2')], 1_250);
  assert.is(columns.base_us, Date.parse('2026-07-27T09:30:00Z') * 1000);
});

test('an answer laid over adds spans, rewrites those that it names, and leaves the old columns as they were', () => {
  const before = mergeOutline(null, outlineAnswer({ traces, steps, links }));
  const tool = { ...(steps[4] as Step), seq: 2, status: 'error', label: 'ls -l' };
  const after = mergeOutline(
    before,
    outlineAnswer(
      {
        traces: [{ id: 't1', started_us: 1_000, prompt: 'Fix the carry' }],
        steps: [tool, { id: 'call4', trace: 't1', parent: 'root1', seq: 4, started_us: 1_400 }],
        links: [...links, { kind: 'feeds', from: 'tool1', to: 'call4' }],
        whole: false,
      },
      steps,
    ),
  );
  assert.is(after.spans.count, 7);
  assert.is(after.names[after.spans.status[index(after, 'tool1')] ?? -1], 'error');
  assert.is(before.names[before.spans.status[index(before, 'tool1')] ?? -1], 'ok');
  assert.is(after.spans.parent[index(after, 'call4')], index(after, 'root1'));
  assert.is(after.links.count, 3);
  assert.equal(
    ids(
      after,
      [...after.spans.changed.keys()].filter((i) => after.spans.changed[i] === 2),
    ),
    ['tool1', 'call4'].map(uuidOf),
  );
});

test('a span of another session stays a reference to it', () => {
  const fork = { kind: 'fork-of', from: 'call1', to: 'far' };
  const columns = mergeOutline(null, outlineAnswer({ traces, steps, links: [fork] }));
  assert.is(columns.links.to[0], -2);
  assert.is(columns.others[0]?.span_id, uuidOf('far'));
});

test('a sub-agent that goes on in a second trace has a span in each', () => {
  const agent = (trace: string): Step => ({ id: 'helper', trace, kind: 'agent', thread: 'a1' });
  const columns = mergeOutline(null, outlineAnswer({ traces, steps: [agent('t2'), agent('t1')] }));
  assert.is(columns.spans.count, 2);
  assert.is.not(index(columns, 'helper', 't1'), index(columns, 'helper', 't2'));
  assert.equal(
    outlineIndex(columns).threads.map(({ spans }) => spans.length),
    [0, 2],
  );
});

test('the answers of any partition, laid over each other in any order, make the whole', () => {
  const whole = mergeOutline(null, outlineAnswer({ traces, steps: withSeq(), links }));
  const parts = fc.array(fc.subarray(withSeq(), { minLength: 1 }), { maxLength: 6 });
  fc.assert(
    fc.property(parts, (pages) => {
      let columns: OutlineColumns | null = null;
      for (const page of [...pages, withSeq()]) {
        const has = (id: string) => page.some((step) => step.id === id);
        const touching = links.filter(({ from, to }) => has(from) || has(to));
        columns = mergeOutline(columns, outlineAnswer({ traces, steps: page, links: touching }, steps));
      }
      assert.equal(described(columns ?? whole), described(whole));
    }),
  );
});

test('of two answers laid over the same columns neither has what the other brought', () => {
  const [first, ...others] = withSeq();
  const page = (...own: Step[]) => outlineAnswer({ traces, steps: own }, steps);
  const before = mergeOutline(null, page(first as Step));
  const begun = described(before);
  const [one, other] = [others.slice(0, 2), others.slice(2)];
  const left = mergeOutline(before, page(...one));
  const right = mergeOutline(before, page(...other));
  const longer = mergeOutline(left, page(...other));
  assert.equal(described(before), begun);
  assert.is(index(before, one[0]?.id ?? '', one[0]?.trace), -1);
  assert.is(index(left, other[0]?.id ?? '', other[0]?.trace), -1);
  assert.is(index(right, one[0]?.id ?? '', one[0]?.trace), -1);
  assert.equal(described(left), described(mergeOutline(mergeOutline(null, page(first as Step)), page(...one))));
  assert.equal(described(right), described(mergeOutline(mergeOutline(null, page(first as Step)), page(...other))));
  assert.is(longer.spans.count, steps.length);
});

const withSeq = (): Step[] => {
  const next = new Map<string, number>();
  return steps.map((step) => {
    const seq = next.get(step.trace) ?? 0;
    next.set(step.trace, seq + 1);
    return { ...step, seq };
  });
};

/** Everything that columns say, without the numbers that depend on the order in which it came. */
function described(columns: OutlineColumns) {
  const { spans, names, links: table } = columns;
  const id = (reference: number) =>
    reference < -1 ? columns.others[-2 - reference]?.span_id : (spans.span_id[reference] ?? null);
  const rows = spans.span_id.map((span_id, i) => ({
    ...{ span_id, parent: id(spans.parent[i] ?? -1), trace: columns.traces.trace_id[spans.trace[i] ?? -1] },
    ...{ kind: names[spans.kind[i] ?? -1], label: spans.label[i], started: spans.started_us[i], seq: spans.seq[i] },
  }));
  const relations = [...table.kind].map((kind, i) => [names[kind], id(table.from[i] ?? -1), id(table.to[i] ?? -1)]);
  return { rows: rows.sort((a, b) => (a.span_id < b.span_id ? -1 : 1)), relations: relations.map(String).sort() };
}

test.run();
