import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { criticalSpans } from '../../../../../../../core/web/client/pages/session/time/critical-path.ts';
import { timeRows } from '../../../../../../../core/web/client/pages/session/time/time-rows.ts';
import { mergeOutline, spanIndex } from '../../../../../../../core/web/client/store/outline-columns.ts';
import { outlineIndex } from '../../../../../../../core/web/client/store/outline-index.ts';
import { outlineAnswer, type Step, uuidOf } from '../../../../../../support/outline-answer.ts';

const test = suite('timeRows');

const traces = [
  { id: 't2', started_us: 90_000_000 },
  { id: 't1', started_us: 0 },
];
const at = (ms: number, forMs: number) => ({ started_us: ms * 1000, duration_us: forMs * 1000 });
const steps: Step[] = [
  { id: 'root2', trace: 't2', kind: 'agent', name: 'main', ...at(90_000, 5_000) },
  { id: 'call9', trace: 't2', parent: 'root2', ...at(90_000, 5_000) },
  { id: 'root1', trace: 't1', kind: 'agent', name: 'main', ...at(0, 70_000) },
  { id: 'todo', trace: 't1', parent: 'root1', kind: 'event', call_kind: 'injected:todo', ...at(0, 0) },
  { id: 'call1', trace: 't1', parent: 'root1', ...at(0, 10_000) },
  ...['r1', 'r2', 'r3', 'r4'].map(
    (id): Step => ({ id, trace: 't1', parent: 'root1', kind: 'tool', name: 'Read', ...at(10_000, 500) }),
  ),
  { id: 'bash', trace: 't1', parent: 'root1', kind: 'tool', name: 'Bash', ...at(10_000, 2_000) },
  { id: 'check', trace: 't1', parent: 'bash', call_kind: 'offshoot:permission-check:stage1', ...at(10_100, 300) },
  { id: 'call2', trace: 't1', parent: 'root1', ...at(12_000, 8_000) },
  { id: 'agent', trace: 't1', parent: 'root1', kind: 'tool', name: 'Agent', ...at(20_000, 40_000) },
  { id: 'lane', trace: 't1', parent: 'agent', kind: 'agent', name: 'reviewer', thread: 'a1', ...at(20_000, 40_000) },
  { id: 'inner', trace: 't1', parent: 'lane', thread: 'a1', ...at(21_000, 38_000) },
  { id: 'call3', trace: 't1', parent: 'root1', ...at(60_000, 10_000) },
];
const columns = mergeOutline(null, outlineAnswer({ traces, steps }));
const index = outlineIndex(columns);
const spanOf = (id: string) => spanIndex(columns, '', uuidOf(id));
const open = { toggled: new Set<string>(), trace: -1, beside: true };

const shown = (view: Parameters<typeof timeRows>[2]) => {
  const rows = timeRows(columns, index, view);
  return Array.from({ length: rows.count }, (_, n) => {
    const { type, level, span, members } = rows.row(n);
    const id = steps.find((step) => uuidOf(step.id) === columns.spans.span_id[span])?.id ?? '';
    return `${'·'.repeat(level - 1)}${type} ${id}${members.length > 0 ? ` ×${members.length}` : ''}`;
  });
};

test('prompts in order of time, lanes below the tool that sent them out, runs folded, context left out', () => {
  assert.equal(shown(open), [
    'trace root1',
    '·step call1',
    '·run r1 ×4',
    '·step bash',
    '··step check',
    '·step call2',
    '·step agent',
    '··lane lane',
    '···step inner',
    '·step call3',
    'trace root2',
    '·step call9',
  ]);
});

test('a key folds what is open and opens a run; calls beside can be hidden; one prompt alone', () => {
  const rows = timeRows(columns, index, open);
  const run = rows.row(rows.rowOf(spanOf('r3')));
  assert.is(run.type, 'run');
  assert.is(run.folded, true);
  const toggled = new Set([run.key, uuidOf('agent')]);
  assert.equal(shown({ toggled, trace: spanOfTrace('t1'), beside: false }), [
    'trace root1',
    '·step call1',
    '·run r1 ×4',
    '··step r1',
    '··step r2',
    '··step r3',
    '··step r4',
    '·step bash',
    '·step call2',
    '·step agent',
    '·step call3',
  ]);
});

test('a span in something folded is found at what it is folded into', () => {
  const rows = timeRows(columns, index, { ...open, toggled: new Set([uuidOf('agent')]) });
  assert.is(rows.rowOf(spanOf('inner')), rows.rowOf(spanOf('agent')));
  assert.is(rows.row(rows.rowOf(spanOf('inner'))).folded, true);
  assert.is(rows.row(rows.rowOf(spanOf('todo'))).type, 'trace', 'context: at its prompt');
  assert.is(rows.rowOf(-1), -1);
});

test('places among siblings are whole: 1 to their number, at every level', () => {
  const rows = timeRows(columns, index, open);
  const top = Array.from({ length: rows.count }, (_, n) => rows.row(n)).filter(({ level }) => level === 2);
  const ofFirst = top.filter(({ trace }) => trace === spanOfTrace('t1'));
  assert.equal(
    ofFirst.map(({ place, siblings }) => [place, siblings]),
    [1, 2, 3, 4, 5, 6].map((place) => [place, 6]),
  );
});

test('the critical path: what each step waited for, into the sub-agent, without the quick ones beside', () => {
  const marks = criticalSpans(columns, index);
  const on = steps.filter(({ id }) => marks[spanOf(id)] === 1).map(({ id }) => id);
  assert.equal(on, ['root2', 'call9', 'root1', 'call1', 'bash', 'check', 'call2', 'agent', 'lane', 'inner', 'call3']);
});

test('whatever is folded, every span that has a row has one, and no row twice', () => {
  const keys = steps.map(({ id }) => uuidOf(id));
  fc.assert(
    fc.property(fc.subarray([...keys, `run ${uuidOf('r1')}`, `trace ${uuidOf('t1')}`]), (some) => {
      const rows = timeRows(columns, index, { ...open, toggled: new Set(some) });
      const seen = Array.from({ length: rows.count }, (_, n) => rows.row(n).key);
      assert.is(new Set(seen).size, seen.length);
      for (const { id } of steps) assert.ok(rows.rowOf(spanOf(id)) >= 0, id);
    }),
  );
});

function spanOfTrace(id: string): number {
  return columns.traces.trace_id.indexOf(uuidOf(id));
}

test.run();
