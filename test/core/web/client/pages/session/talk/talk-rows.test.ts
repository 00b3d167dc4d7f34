import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type TalkView, talkRows } from '../../../../../../../core/web/client/pages/session/talk/talk-rows.ts';
import { mergeOutline, spanIndex } from '../../../../../../../core/web/client/store/outline-columns.ts';
import { outlineAnswer, type Relation, type Step, uuidOf } from '../../../../../../support/outline-answer.ts';

const test = suite('talkRows');

const closed: TalkView = { thread: '', beside: false, isOpen: () => false };
const root: Step = { id: 'root', trace: 't', kind: 'agent' };
const call = (id: string, more: Partial<Step> = {}): Step => ({
  id,
  trace: 't',
  kind: 'llm',
  call_kind: 'main',
  parent: 'root',
  ...more,
});
const tool = (id: string, more: Partial<Step> = {}): Step => ({
  id,
  trace: 't',
  kind: 'tool',
  parent: 'root',
  ...more,
});
const event = (id: string): Step => ({
  id,
  trace: 't',
  kind: 'event',
  parent: 'root',
  call_kind: 'injected:system-reminder',
});

/** The rows as words: the kind and the name of the step, indented below a card. */
function shown(
  steps: Step[],
  links: Relation[] = [],
  view: Partial<TalkView> = {},
  traces = [{ id: 't', prompt: 'Fix it' }],
) {
  const columns = mergeOutline(null, outlineAnswer({ traces, steps, links }));
  const rows = talkRows(columns, { ...closed, ...view });
  const nameOf = new Map([...steps.map(({ id }) => id), ...traces.map(({ id }) => id)].map((id) => [uuidOf(id), id]));
  const words = rows.kind.map((kind, i) => {
    const of = rows.of[i] ?? -1;
    const id = kind === 'trace' || kind === 'beside' ? columns.traces.trace_id[of] : columns.spans.span_id[of];
    const many = kind === 'context' || kind === 'beside' ? ` ×${rows.many[i]}` : '';
    return `${'> '.repeat(rows.depth[i] ?? 0)}${kind} ${nameOf.get(id ?? '')}${many}`;
  });
  const at = (id: string) => words[rows.rowOf[spanIndex(columns, '', uuidOf(id))] ?? -1];
  return { words, at, rows, columns };
}

test('a prompt, the context that came with it, the call and its tools', () => {
  const { words, at } = shown([
    root,
    event('e1'),
    event('e2'),
    call('c1', { input_characters: 6 }),
    tool('bash'),
    call('c2'),
  ]);
  assert.equal(words, ['trace t', 'prompt c1', 'context e1 ×2', 'step c1', 'tool bash', 'step c2']);
  assert.is(at('e2'), 'context e1 ×2');
});

test('tries that failed are one step with the call that succeeded, and the prompt stays', () => {
  const links = [
    { kind: 'retry-of', from: 'c2', to: 'c1' },
    { kind: 'retry-of', from: 'c3', to: 'c2' },
  ];
  const steps = [
    root,
    call('c1', { input_characters: 6, status: 'error' }),
    call('c2', { status: 'error' }),
    call('c3'),
  ];
  const { words, at, rows, columns } = shown(steps, links);
  assert.equal(words, ['trace t', 'prompt c1', 'step c3']);
  assert.is(at('c1'), 'step c3');
  assert.is(at('c2'), 'step c3');
  const tries = rows.tries.get(spanIndex(columns, '', uuidOf('c3'))) ?? [];
  assert.equal(
    tries.map((i) => columns.spans.span_id[i]),
    ['c1', 'c2'].map(uuidOf),
  );
});

test('calls beside the conversation are one line until they are shown', () => {
  const title = call('title', { call_kind: 'offshoot:title-gen', input_characters: 9 });
  const steps = [root, call('c1', { input_characters: 6 }), title];
  assert.equal(shown(steps).words, ['trace t', 'prompt c1', 'step c1', 'beside t ×1']);
  assert.equal(shown(steps, [], { beside: true }).words, [
    'trace t',
    'prompt c1',
    'step c1',
    'prompt title',
    'step title',
  ]);
  assert.equal(shown([root, title]).words, ['beside t ×1']);
});

const agents: Step[] = [
  root,
  call('c1', { input_characters: 6 }),
  tool('send1', { started_us: 10 }),
  tool('send2', { started_us: 10 }),
  { id: 'a1', trace: 't', kind: 'agent', parent: 'send1', thread: 'one', started_us: 20, duration_us: 30 },
  call('a1c1', { thread: 'one', parent: 'a1', input_characters: 3 }),
  tool('a1send', { thread: 'one', parent: 'a1', started_us: 25 }),
  { id: 'a2', trace: 't', kind: 'agent', parent: 'send2', thread: 'two', started_us: 15, duration_us: 50 },
  call('a2c1', { thread: 'two', parent: 'a2' }),
  { id: 'a3', trace: 't', kind: 'agent', parent: 'a1send', thread: 'three', started_us: 30, duration_us: 5 },
  call('a3c1', { thread: 'three', parent: 'a3' }),
  { id: 'lost', trace: 't', kind: 'agent', parent: 'root', thread: 'four' },
  call('lostc1', { thread: 'four', parent: 'lost' }),
  call('c2'),
];

test('a sub-agent is a card at the tool that sent it out, and what it did is found there', () => {
  const { words, at, rows, columns } = shown(agents);
  assert.equal(words, [
    'trace t',
    'prompt c1',
    'step c1',
    'tool send1',
    'agent a1',
    'tool send2',
    'agent a2',
    'step c2',
    'agent lost',
  ]);
  assert.is(at('a3c1'), 'agent a1');
  assert.is(at('a2c1'), 'agent a2');
  const lanes = rows.lanes.get(spanIndex(columns, '', uuidOf('a1')));
  assert.equal(lanes, { from_us: 15, to_us: 65 });
  assert.equal(
    rows.below.get(spanIndex(columns, '', uuidOf('a1')))?.map((i) => columns.spans.span_id[i]),
    [uuidOf('a3')],
  );
});

test('an open card shows one level, and the thread itself all of its steps', () => {
  const { words, at } = shown(agents, [], { isOpen: () => true });
  assert.equal(words.slice(4, 9), ['agent a1', '> prompt a1c1', '> step a1c1', '> tool a1send', '> agent a3']);
  assert.is(at('a3c1'), '> agent a3');
  assert.equal(shown(agents, [], { thread: 'one' }).words, [
    'trace t',
    'prompt a1c1',
    'step a1c1',
    'tool a1send',
    'agent a3',
  ]);
});

test('agents that name each other as their sender end in a list all the same', () => {
  const circle: Step[] = [
    root,
    tool('s1', { thread: 'two' }),
    tool('s2', { thread: 'one' }),
    { id: 'a1', trace: 't', kind: 'agent', parent: 's1', thread: 'one' },
    { id: 'a2', trace: 't', kind: 'agent', parent: 's2', thread: 'two' },
    call('c1'),
  ];
  assert.equal(shown(circle).words, ['trace t', 'prompt c1', 'step c1']);
  assert.ok(shown(circle, [], { thread: 'one', isOpen: () => true }).words.length > 1);
});

test('a compaction is a band, and a call that goes back says so', () => {
  const compaction = call('sum', { call_kind: 'offshoot:compaction', input_characters: 4 });
  const fork = { kind: 'fork-of', from: 'c2', to: 'c1' };
  const { words } = shown(
    [root, call('c1', { input_characters: 6 }), call('c2', { input_characters: 5 }), compaction],
    [fork],
  );
  assert.equal(words, ['trace t', 'prompt c1', 'step c1', 'fork c2', 'prompt c2', 'step c2', 'compaction sum']);
});

test('a prompt whose texts are not counted yet has its row', () => {
  assert.equal(shown([root, call('c1')]).words, ['trace t', 'prompt c1', 'step c1']);
});

test('no row is lost or doubled: each step of each thread is found in exactly one row of its own or at a fold', () => {
  const { rows } = shown(agents, [], { beside: true });
  const own = rows.kind.flatMap((kind, i) =>
    kind === 'step' || kind === 'tool' || kind === 'agent' ? [rows.of[i]] : [],
  );
  assert.is(new Set(own).size, own.length);
  for (const [span, row] of rows.rowOf.entries()) if (span > 0) assert.ok(row >= 0, `span ${span} is nowhere`);
});

test.run();
