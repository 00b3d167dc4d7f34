/** Calls beside the conversation: they stand with what they judge or serve, and are not the conversation. (Reference sections 4.5 and 4.6.) */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { noEvidence } from '../../../core/derive/evidence.ts';
import { normalAction } from '../../../core/harness/action.ts';
import type { CallKind } from '../../../core/model/call-kind.ts';
import type { ContentBlock } from '../../../core/model/content-block.ts';
import { answer, assistant, type Call, toolResult, toolUse, user } from '../../support/call-turn.ts';
import { linksOf, parentOf, projected, spansOf } from '../../support/projected.ts';

const test = suite('calls beside the conversation');

const asks = (...tools: ContentBlock[]): Call => ({ at: 0, says: [user('Clean up')], answers: answer(...tools) });
const beside = (at: number, kind: CallKind, more: Partial<Call> = {}): Call => ({
  at,
  kind,
  says: [user(`${kind} ${at}`)],
  answers: answer('Hm'),
  ...more,
});
const check = (at: number, stage: 1 | 2, action: string, block = 'no', more: Partial<Call> = {}): Call =>
  beside(at, `offshoot:permission-check:stage${stage}`, {
    judged: normalAction(action),
    answers: answer(stage === 2 ? `<thinking>Well.</thinking><block>${block}</block>` : `<block>${block}</block>`),
    ...more,
  });
/** What each call beside the conversation stands under: a tool by its id, else a span by its name. */
const places = (...calls: Call[]): string[] => {
  const rows = projected(calls);
  return spansOf(rows, 'llm')
    .filter(({ call_kind }) => call_kind.startsWith('offshoot'))
    .map((llm) => parentOf(rows, llm)?.external_id || parentOf(rows, llm)?.name || '');
};
const bash = (id: string, command: string) => toolUse(id, 'Bash', { command, description: 'Clean' });

test('a permission check stands under the tool call that it judges, and its verdict is on both', () => {
  const rows = projected([asks(bash('a', 'rm -rf build'), bash('b', 'ls')), check(1, 1, 'Bash rm -rf build', 'yes')]);
  const llm = spansOf(rows, 'llm').find(({ call_kind }) => call_kind !== 'main');
  const tool = parentOf(rows, llm);
  assert.is(tool?.external_id, 'a');
  const verdict = { disposition: 'BLOCK', stage: 1, reasoned: false };
  assert.equal([llm?.verdict, tool?.verdict], [verdict, verdict]);
  assert.equal(
    linksOf(rows, 'verdict').map(({ from_span_id, from_io, to_span_id, to_io }) => [
      from_span_id,
      from_io,
      to_span_id,
      to_io,
    ]),
    [[llm?.span_id, 'output', tool?.span_id, 'verdict']],
  );
});

test('both stages of one action go to one tool; the same action again to the next', () => {
  const two = asks(bash('a', 'git push'), bash('b', 'git push'));
  assert.equal(places(two, check(1, 1, 'Bash git push'), check(2, 2, 'Bash git push')), ['a', 'a']);
  assert.equal(places(two, check(1, 1, 'Bash git push'), check(2, 1, 'Bash git push'), check(3, 2, 'Bash git push')), [
    'a',
    'b',
    'a',
  ]);
  const rows = projected([two, check(1, 1, 'Bash git push', 'yes'), check(2, 2, 'Bash git push', 'no')]);
  assert.equal(
    spansOf(rows, 'tool')[0]?.verdict,
    { disposition: 'ALLOW', stage: 2, reasoned: true },
    'the later counts',
  );
});

test('a tool has at most two verdicts; what comes then stands under the root', () => {
  const one = asks(bash('a', 'git push'));
  const all = [check(1, 1, 'Bash git push'), check(2, 2, 'Bash git push'), check(3, 1, 'Bash git push')];
  assert.equal(places(one, ...all), ['a', 'a', 'main']);
  assert.is(linksOf(projected([one, ...all]), 'verdict').length, 2);
});

test('an action is found however the check shows it', () => {
  const tools = asks(
    bash('a', 'find . -name "*.ts" | xargs wc -l'),
    toolUse('w', 'WebFetch', { url: 'https://a.example/page', prompt: 'Sum it up' }),
    toolUse('e', 'Edit', { file_path: '/home/ada/engine/adder.ts', old_string: 'a', new_string: 'b' }),
    toolUse('f', 'Edit', { file_path: '/home/ada/engine/carry.ts', old_string: 'a', new_string: 'b' }),
    toolUse('m', 'mcp__files__read', { path: 'x' }),
    toolUse('n', 'mcp__files__read_all', {}),
    bash('s', 'ls'),
  );
  const shown = [
    '{"Bash":"find . -name "*.ts" | xargs wc -l"}',
    'WebFetch https://a.example/page: Sum it up',
    'Edit /home/ada/engine/carry.ts: b',
    'mcp__files__read_all',
    'mcp__files__read path=x',
    '$ ls',
  ];
  assert.equal(places(tools, ...shown.map((action, i) => check(1 + i, 1, action))), ['a', 'w', 'f', 'n', 'm', 's']);
});

test('a check of something unknown, or one that shows nothing, stands under the root', () => {
  assert.equal(places(asks(bash('a', 'ls -la src')), check(1, 1, 'Bash cargo test'), check(2, 1, '')), [
    'main',
    'main',
  ]);
  const done = [
    asks(bash('a', 'ls -la src')),
    { at: 1, says: [user('Clean up'), assistant(bash('a', 'ls -la src')), user(toolResult('a'))] },
  ];
  assert.equal(places(...done, check(2, 1, 'Bash ls -la src')), ['main'], 'a tool that has its result waits no more');
});

test("a check goes to its own thread's tool first, else to any", () => {
  const sub: Call = { at: 0.5, thread_id: 'w', says: [user('Sub')], answers: answer(bash('w1', 'npm run build')) };
  const main = asks(bash('a', 'npm run build'));
  assert.equal(places(main, sub, check(1, 1, 'Bash npm run build', 'no', { thread_id: 'w' })), ['w1']);
  assert.equal(places(main, sub, check(1, 1, 'Bash npm run build')), ['a']);
  assert.equal(places(asks(), sub, check(1, 1, 'Bash npm run build')), ['w1']);
});

test('a check without an answer that can be understood is no verdict, and the one made again takes its place', () => {
  const rows = projected([
    asks(bash('a', 'git push')),
    check(1, 1, 'Bash git push', 'no', { answers: null, status: 529 }),
    check(2, 1, 'Bash git push'),
  ]);
  assert.equal([linksOf(rows, 'verdict').length, rows.traces[0]?.status], [1, 'ok'], 'its failure is not the trace');
});

test('a plan name stands under the latest waiting plan, a web summary under the latest waiting look-up', () => {
  const tools = asks(
    toolUse('p', 'ExitPlanMode', { plan: 'x' }),
    toolUse('s', 'WebSearch', { query: 'x' }),
    toolUse('f', 'WebFetch', { url: 'x' }),
  );
  assert.equal(
    places(
      tools,
      beside(1, 'offshoot:plan-name-gen'),
      beside(2, 'offshoot:plan-name-gen'),
      ...[3, 4, 5].map((at) => beside(at, 'offshoot:web-summary')),
    ),
    ['p', 'main', 'f', 's', 'main'],
  );
});

test('titles, probes and suggestions stand under the root', () => {
  assert.equal(
    places(
      asks(bash('a', 'ls')),
      beside(1, 'offshoot:title-gen'),
      beside(2, 'offshoot:probe'),
      beside(3, 'offshoot:suggestion'),
    ),
    ['main', 'main', 'main'],
  );
});

test('a session that begins with its title call is one trace, which the first prompt names', () => {
  const rows = projected([
    beside(0, 'offshoot:probe'),
    beside(1, 'offshoot:title-gen'),
    { ...asks(), at: 2, answers: answer('Done') },
  ]);
  assert.is(rows.traces.length, 1);
  const [trace] = rows.traces;
  assert.equal([trace?.synthetic, trace?.user_prompt, trace?.response_preview], ['', 'Clean up', 'Done']);
  assert.equal([trace?.input_tokens, trace?.main_input_tokens, trace?.span_count], [300, 100, 4]);
  assert.is(rows.rollup.preview, 'Clean up');
  const alone = projected([beside(0, 'offshoot:title-gen')]);
  assert.equal(
    [alone.traces[0]?.synthetic, alone.traces[0]?.user_prompt, alone.rollup.status],
    ['shadow-opener', '', 'unknown'],
  );
});

test('a call beside the conversation opens no trace, moves no conversation and is not its last word', () => {
  const rows = projected([
    { ...asks(), answers: answer('Done') },
    beside(1, 'offshoot:suggestion', {
      says: [user('Clean up'), assistant('Done'), user('[SUGGESTION MODE]')],
      answers: { ...answer('Ask more'), stop_reason: 'max_tokens' },
    }),
    { at: 2, says: [user('Clean up'), assistant('Done'), user('Thanks')], answers: answer('Welcome') },
  ]);
  assert.equal(
    rows.traces.map(({ user_prompt, response_preview }) => [user_prompt, response_preview]),
    [
      ['Clean up', 'Done'],
      ['Thanks', 'Welcome'],
    ],
  );
  assert.equal([rows.rollup.status, linksOf(rows, 'fork-of').length], ['completed', 0]);
  assert.equal(rows.rollup.kind_counts, { main: 2, 'offshoot:suggestion': 1 });
});

test('the latest title that was asked for is the title; a transcript tells one only where none was', () => {
  const title = (at: number, name: unknown) =>
    beside(at, 'offshoot:title-gen', { answers: answer(JSON.stringify({ title: name })) });
  const evidence = { ...noEvidence, title: 'From a file' };
  assert.is(
    projected([asks(), title(1, 'First'), title(2, 'Second'), { ...title(3, 'Third'), answers: null }], evidence).rollup
      .title,
    'Second',
  );
  assert.is(projected([asks()], evidence).rollup.title, 'From a file');
  assert.is(projected([asks()]).rollup.title, null);
  const long = projected([asks(), title(1, '日'.repeat(200))]).rollup.title ?? '';
  assert.is(Buffer.byteLength(long), 255);
});

test('tasks are what the results of task tools leave of them, each with the tool that changed it last', () => {
  const create = toolUse('c', 'TaskCreate', { subject: 'Sweep' });
  const other = toolUse('o', 'TaskCreate', { subject: 'Rest' });
  const first = asks(create, other);
  const says = [...(first.says ?? []), assistant(create, other)];
  assert.equal(projected([first]).rollup.tasks, [], 'before its result there is no task');
  const made: Call = {
    at: 1,
    says: [...says, user(toolResult('c', 'Task #4 created'), toolResult('o', 'Task #5 created'))],
    answers: answer(toolUse('u', 'TaskUpdate', { taskId: '4', status: 'completed' })),
  };
  const both = projected([first, made]);
  const [created, createdToo] = ['c', 'o'].map((id) => both.spans.find((span) => span.external_id === id)?.span_id);
  const rest = { id: '5', subject: 'Rest', status: 'pending', changed_by: createdToo };
  assert.equal(both.rollup.tasks, [{ id: '4', subject: 'Sweep', status: 'pending', changed_by: created }, rest]);
  const done = [...(made.says ?? []), assistant(...(made.answers?.content ?? [])), user(toolResult('u', 'Updated'))];
  const after = projected([first, made, { at: 2, says: done, answers: answer('Done') }]);
  const updated = after.spans.find((span) => span.external_id === 'u')?.span_id;
  assert.equal(after.rollup.tasks, [{ id: '4', subject: 'Sweep', status: 'completed', changed_by: updated }, rest]);
});

test("a sub-agent's list of tasks is its own", () => {
  const todo = toolUse('t', 'TodoWrite', { todos: [{ content: 'Sub', status: 'pending' }] });
  const sub: Call = { at: 1, thread_id: 'w', says: [user('Sub')], answers: answer(todo) };
  const back = {
    at: 2,
    thread_id: 'w',
    says: [user('Sub'), assistant(todo), user(toolResult('t', 'Ok'))],
    answers: answer('Ok'),
  };
  assert.equal(projected([asks(), sub, back]).rollup.tasks, []);
});

test.run();
