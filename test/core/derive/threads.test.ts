/** Sub-agents: a span of their own, below the call that started them where that is known. (Reference sections 4.5 and 4.7.) */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { advance } from '../../../core/derive/advance.ts';
import type { ProjectionChanges, SpanRow } from '../../../core/derive/changes.ts';
import { type Anchor, noEvidence, type TranscriptEvidence } from '../../../core/derive/evidence.ts';
import { firstWords } from '../../../core/derive/first-words.ts';
import { fold } from '../../../core/derive/fold.ts';
import { noChanges, summed } from '../../../core/derive/merge-changes.ts';
import { emptyState, LIMITS } from '../../../core/derive/state.ts';
import type { ContentBlock } from '../../../core/model/content-block.ts';
import {
  answer,
  assistant,
  type Call,
  callTurns,
  instantAt,
  SESSION,
  toolResult,
  toolUse,
  user,
} from '../../support/call-turn.ts';
import { arriving, dump } from '../../support/fold-store.ts';

const test = suite('threads');

function projection(calls: Call[], evidence: TranscriptEvidence = noEvidence): ProjectionChanges {
  const sum = noChanges();
  fold(emptyState(SESSION), callTurns(calls), { sum, checkpoints: [], evidence });
  const changes = summed(sum);
  if (!changes) throw new Error('Cannot project: no calls');
  return changes;
}
const spanOf = ({ spans }: ProjectionChanges, id: string | null | undefined) =>
  spans.find(({ span_id }) => span_id === id);
const agentsOf = ({ spans }: ProjectionChanges): SpanRow[] =>
  spans.filter(({ parent_span_id, kind }) => kind === 'agent' && parent_span_id !== null);
const links = (rows: ProjectionChanges, kind: string) => rows.links.filter((link) => link.kind === kind);
const root = ({ spans }: ProjectionChanges) => spans.find(({ parent_span_id }) => parent_span_id === null);

const anchor = (thread_id: string, fields: Partial<Anchor>): TranscriptEvidence => ({
  ...noEvidence,
  anchors: new Map([[thread_id, { thread_id, tool_use_id: '', path: '', label: '', description: '', ...fields }]]),
});

const agentTool = (id: string, prompt: string, more: object = {}): ContentBlock =>
  toolUse(id, 'Agent', { prompt, ...more });
/** The main thread asks for agents, then brings a result for each that has one. */
const spawns = (...tools: ContentBlock[]): Call => ({
  at: 0,
  says: [user('Share the work')],
  answers: answer(...tools),
});
const brings = (at: number, tools: ContentBlock[], ...results: ContentBlock[]): Call => ({
  at,
  says: [user('Share the work'), assistant(...tools), user(...results)],
  answers: answer('All is done'),
});
const works = (at: number, thread_id: string, prompt: string, ...says: ContentBlock[]): Call => ({
  at,
  thread_id,
  says: [user(prompt)],
  answers: answer(...(says.length > 0 ? says : [{ type: 'text', text: `${prompt}: done` }])),
});

test('the calls of a thread stand under one agent span, which lasts to the last of them', () => {
  const tool = agentTool('a', 'Count');
  const rows = projection([
    spawns(tool),
    works(1, 'w', 'Count', toolUse('r', 'Read')),
    { ...works(3, 'w', 'Count'), says: [user('Count'), assistant(toolUse('r', 'Read')), user(toolResult('r'))] },
    brings(5, [tool], toolResult('a', 'Seven')),
  ]);
  const [agent, ...more] = agentsOf(rows);
  assert.is(more.length, 0);
  assert.equal([agent?.thread_id, agent?.started_at, agent?.ended_at], ['w', instantAt(1), instantAt(3.5)]);
  assert.is(agent?.duration_ns, 2_500_000_000);
  const own = rows.spans.filter((span) => span.thread_id === 'w' && span !== agent);
  assert.equal(
    own.map(({ kind, parent_span_id }) => [kind, parent_span_id]),
    [
      ['llm', agent?.span_id],
      ['tool', agent?.span_id],
      ['llm', agent?.span_id],
    ],
  );
  assert.is(rows.traces.length, 1, "a thread's prompt opens no trace");
  assert.is(rows.traces[0]?.user_prompt, 'Share the work');
  assert.is(rows.traces[0]?.response_preview, 'All is done');
  assert.equal([rows.traces[0]?.main_input_tokens, rows.rollup.kind_counts], [400, { main: 4 }]);
});

test('a thread joins the tool call that its transcript names', () => {
  const tools = [agentTool('a', 'Count'), agentTool('b', 'Count')];
  const rows = projection([spawns(...tools), works(1, 'w', 'Other words')], anchor('w', { tool_use_id: 'b' }));
  assert.is(spanOf(rows, agentsOf(rows)[0]?.parent_span_id)?.external_id, 'b');
});

test('a thread joins the one unclaimed tool call that was given its first words', () => {
  const tools = [agentTool('a', 'Count sheep'), agentTool('b', 'Count <system-reminder>x</system-reminder>goats')];
  const rows = projection([spawns(...tools), works(1, 'v', 'Count goats'), works(2, 'w', 'Count sheep')]);
  assert.equal(
    agentsOf(rows).map((agent) => [agent.thread_id, spanOf(rows, agent.parent_span_id)?.external_id]),
    [
      ['v', 'b'],
      ['w', 'a'],
    ],
  );
});

test('the same words twice are ambiguous and anchor nothing; the result that names the thread moves it', () => {
  const tools = [agentTool('a', 'Count'), agentTool('b', 'Count')];
  const calls = [spawns(...tools), works(1, 'w', 'Count')];
  const before = projection(calls);
  assert.is(agentsOf(before)[0]?.parent_span_id, root(before)?.span_id);
  const rows = projection([...calls, brings(4, tools, toolResult('b', 'Seven\nagentId: w'))]);
  const [agent] = agentsOf(rows);
  const tool = spanOf(rows, agent?.parent_span_id);
  assert.is(tool?.external_id, 'b');
  assert.equal(
    links(rows, 'rejoin').map(({ from_span_id, from_io, to_span_id, to_io }) => [
      from_span_id,
      from_io,
      to_span_id,
      to_io,
    ]),
    [[agent?.span_id, 'output', tool?.span_id, 'output']],
  );
});

test('a thread without any evidence stands under the root of the current trace, and nothing rejoins', () => {
  const rows = projection([spawns(agentTool('a', 'Count')), works(1, 'w', 'Something else')]);
  assert.is(agentsOf(rows)[0]?.parent_span_id, root(rows)?.span_id);
  assert.is(links(rows, 'rejoin').length, 0);
});

test('a thread rejoins its tool only when that has its result', () => {
  const tool = agentTool('a', 'Count');
  assert.is(links(projection([spawns(tool), works(1, 'w', 'Count')]), 'rejoin').length, 0);
  // An agent in the background: the result is there before its first call.
  const early = projection([spawns(tool), brings(1, [tool], toolResult('a', 'Started')), works(2, 'w', 'Count')]);
  assert.is(links(early, 'rejoin').length, 1);
});

test("a grandchild stands under the child's tool call", () => {
  const rows = projection([
    spawns(agentTool('a', 'Count')),
    works(1, 'w', 'Count', agentTool('b', 'Count more')),
    works(2, 'v', 'Count more'),
  ]);
  const [child, grandchild] = agentsOf(rows);
  const tool = spanOf(rows, grandchild?.parent_span_id);
  assert.equal([tool?.external_id, tool?.parent_span_id], ['b', child?.span_id]);
});

test('a sub-agent has the name that is known of it, and its tool shows the input that the model sent and no more', () => {
  const tools = [agentTool('a', 'Count'), agentTool('b', 'Weigh', { subagent_type: 'scale', description: 'Weighing' })];
  const rows = projection(
    [spawns(...tools), works(1, 'w', 'Count'), works(2, 'v', 'Weigh')],
    anchor('w', { label: 'counter', description: 'Counting' }),
  );
  const inputs = rows.spans.filter(({ kind }) => kind === 'tool').map(({ input }) => input[0]?.tool_input);
  assert.equal(inputs, [{ prompt: 'Count' }, { prompt: 'Weigh', subagent_type: 'scale', description: 'Weighing' }]);
  assert.equal(
    agentsOf(rows).map(({ name, description }) => [name, description]),
    [
      ['counter', 'Counting'],
      ['scale', 'Weighing'],
    ],
  );
  const [nobody] = agentsOf(projection([spawns(), works(1, 'w', 'Count')]));
  assert.equal([nobody?.name, nobody?.description], ['subagent', '']);
});

test('a sub-agent that is found out late gets its name with its place', () => {
  const tools = [agentTool('a', 'Count'), agentTool('b', 'Count', { subagent_type: 'scale', description: 'Weighing' })];
  const calls = [spawns(...tools), works(1, 'w', 'Count')];
  assert.is(agentsOf(projection(calls))[0]?.name, 'subagent');
  const [agent] = agentsOf(projection([...calls, brings(4, tools, toolResult('b', 'Seven\nagentId: w'))]));
  assert.equal([agent?.name, agent?.description], ['scale', 'Weighing']);
});

test("an agent has the totals of its own calls, and those of a trace's agents together are the trace's", () => {
  const tool = agentTool('a', 'Count');
  const rows = projection([
    spawns(tool, toolUse('x')),
    works(1, 'w', 'Count', toolUse('r', 'Read'), toolUse('s', 'Read')),
    { ...works(2, 'w', 'Count'), says: [user('Count'), user('And more')] },
    { at: 3, says: [user('Title?')], kind: 'offshoot:title-gen', answers: answer('T') },
    brings(5, [tool], toolResult('a', 'Seven')),
  ]);
  const [trace] = rows.traces;
  const totals = rows.spans.flatMap((span) => (span.totals ? [span.totals] : []));
  assert.equal(
    rows.spans.filter((span) => span.totals !== null).map(({ kind, thread_id }) => [kind, thread_id]),
    [
      ['agent', ''],
      ['agent', 'w'],
    ],
  );
  assert.equal(
    totals.map(({ calls, tool_calls, input_tokens, output_tokens }) => [
      calls,
      tool_calls,
      input_tokens,
      output_tokens,
    ]),
    [
      [3, 2, 300, 30],
      [2, 2, 200, 20],
    ],
  );
  for (const key of ['tool_calls', 'input_tokens', 'output_tokens', 'cache_read_tokens', 'reasoning_tokens'] as const)
    assert.is(
      totals.reduce((sum, one) => sum + one[key], 0),
      trace?.[key],
      key,
    );
  assert.equal(
    totals.map(({ cost_usd }) => cost_usd),
    ['0.00135', '0.0009'],
  );
  assert.is(trace?.cost_usd, '0.00225');
  assert.is(
    rows.spans.reduce((sum, span) => sum + span.input_tokens, 0),
    trace?.input_tokens,
    'a sum over all spans counts each token once',
  );
});

test('a thread before any call of the main one is in a trace that the next main call adopts', () => {
  const rows = projection([works(0, 'w', 'Count'), { at: 1, says: [user('Hello')], answers: answer('Hi') }]);
  assert.is(rows.traces.length, 1);
  assert.equal([rows.traces[0]?.synthetic, rows.traces[0]?.user_prompt], ['', 'Hello']);
  const alone = projection([works(0, 'w', 'Count')]);
  assert.equal([alone.traces[0]?.synthetic, alone.traces[0]?.user_prompt], ['shadow-opener', '']);
  assert.is(alone.rollup.preview, null);
});

test('a thread goes on in its own trace while that is live, and later under a new span in the current one', () => {
  const prompt = (at: number): Call => ({ at, says: [user(`Question ${at}`)], answers: answer('Ok') });
  const again = (at: number): Call => ({ ...works(at, 'w', 'Count'), says: [user('Count'), user(`And ${at}`)] });
  const within = projection([spawns(), works(1, 'w', 'Count'), prompt(2), again(3)]);
  assert.is(agentsOf(within).length, 1);
  const many = Array.from({ length: LIMITS.live }, (_, i) => prompt(2 + i));
  const beyond = projection([spawns(), works(1, 'w', 'Count'), ...many, again(100)]);
  const agents = agentsOf(beyond);
  assert.is(agents.length, 2);
  assert.is.not(agents[0]?.trace_id, agents[1]?.trace_id);
  const [parent] = beyond.spans.filter(
    ({ span_id, trace_id }) => span_id === agents[1]?.parent_span_id && trace_id === agents[1]?.trace_id,
  );
  assert.is(parent?.name, 'main');
});

test('a call that does not name its thread belongs to the one that was given its first words, and so does what goes on from it', () => {
  const evidence = { ...anchor('w', { tool_use_id: 'a' }), prompts: new Map([[firstWords('Count the\nsheep'), 'w']]) };
  const first = works(1, '', 'Count the sheep', toolUse('r', 'Read'));
  const rows = projection(
    [
      spawns(agentTool('a', 'Count')),
      first,
      {
        at: 2,
        says: [...(first.says ?? []), assistant(toolUse('r', 'Read')), user(toolResult('r'))],
        answers: answer('Nine'),
      },
    ],
    evidence,
  );
  assert.equal(
    rows.spans.filter(({ kind }) => kind === 'llm').map(({ thread_id }) => thread_id),
    ['', 'w', 'w'],
  );
  assert.is(rows.traces.length, 1);
  assert.is(rows.rollup.status, 'completed', 'the last word of the main thread is its tool call');
});

test("a result in another thread's call is history: it completes nothing", () => {
  const tool = agentTool('a', 'Count');
  const rows = projection([
    spawns(tool),
    {
      ...works(1, 'w', 'Count'),
      says: [user('Share'), assistant(tool), user(toolResult('a', 'replayed')), user('Count')],
    },
  ]);
  assert.equal(rows.spans.find(({ kind }) => kind === 'tool')?.output, []);
});

test('what a late call takes away again: the place of an agent, its way back and what its tool shows', () => {
  const tools = [agentTool('a', 'Count'), agentTool('b', 'Count')];
  const others = Array.from(
    { length: 20 },
    (_, i): Call => ({ at: 10 + i, says: [user(`Other ${i}`)], answers: answer('Ok') }),
  );
  const history = (result: string) => [user('Share the work'), assistant(...tools), user(toolResult('b', result))];
  const calls = [
    spawns(...tools),
    works(1, 'w', 'Count'),
    ...others,
    { at: 40, says: history('Nothing to tell'), answers: answer('Hm') },
    { at: 60, says: history('Seven\nagentId: w'), answers: answer('Done') },
  ].map((call, i) => ({ ...call, call_id: `c${i}`, raw_turn_id: i + 1 }));
  const late = calls.findIndex(({ at }) => at === 40);
  const evidence = anchor('w', { label: 'counter' });
  const without = arriving(
    calls.filter((_, i) => i !== late),
    [0],
    100,
    evidence,
  );
  assert.ok(
    [...without.links.values()].some(({ kind }) => kind === 'rejoin'),
    'as long as the late call is not known',
  );
  const store = arriving(
    calls,
    calls.map((_, i) => (i === late ? 1 : 0)),
    calls.length - 1,
    evidence,
  );
  assert.equal(dump(store), dump(arriving(calls, [0], calls.length, evidence)));
  assert.not([...store.links.values()].some(({ kind }) => kind === 'rejoin'));
});

test('two threads that each name the other as started by it do not end up below each other', () => {
  const [a, b] = [agentTool('a', 'Sealed'), agentTool('b', 'Sealed')];
  const back = (at: number, thread_id: string, tool: ContentBlock, name: string): Call => ({
    at,
    thread_id,
    says: [user(`I am ${thread_id}`), assistant(tool), user(toolResult(tool.tool_use_id ?? '', `agentId: ${name}`))],
    answers: answer('Ok'),
  });
  const rows = projection([
    spawns(),
    works(1, 'v', 'I am v', a),
    works(2, 'w', 'I am w', b),
    back(3, 'v', a, 'w'),
    back(4, 'w', b, 'v'),
  ]);
  const agents = agentsOf(rows);
  assert.equal(
    agents.map((agent) => spanOf(rows, agent.parent_span_id)?.name),
    ['main', 'Agent'],
  );
});

test('the state stays as it is however long agents work, and so does what a call changes', () => {
  const calls = Array.from({ length: 200 }, (_, i): Call[] => {
    const at = i * 20;
    const tools = [1, 2, 3].map((t) => agentTool(`${i}-${t}`, `Task ${i}-${t}`));
    const says = [user(`Question ${i}`)];
    const judged = `bash step ${i}`;
    return [
      { at, says, answers: answer(...tools) },
      ...[1, 2, 3].flatMap((t): Call[] => [
        works(at + t, `t${i}-${t}`, `Task ${i}-${t}`, toolUse(`b${i}-${t}`, 'Bash', { command: `step ${i}` })),
        {
          ...{ at: at + t + 0.6, kind: 'offshoot:permission-check:stage1', judged, thread_id: `t${i}-${t}` },
          ...{ says: [user(`Judge ${i}-${t}`)], answers: answer('<block>no</block>') },
        },
      ]),
      {
        at: at + 10,
        says: [...says, assistant(...tools), user(...tools.map((tool) => toolResult(tool.tool_use_id ?? '', 'Done')))],
        answers: answer('Done'),
      },
    ];
  }).flat();
  let state = emptyState(SESSION);
  const sizes: number[] = [];
  const changes: number[] = [];
  for (const turn of callTurns(calls)) {
    const step = advance(state, turn);
    state = step.state;
    sizes.push(JSON.stringify(state).length);
    changes.push(JSON.stringify(step.changes).length);
  }
  const most = (of: number[], from: number) => Math.max(...of.slice(from, from + 80));
  assert.ok(most(sizes, 1500) < 1.05 * most(sizes, 700), `${most(sizes, 700)} then ${most(sizes, 1500)}`);
  assert.ok(most(changes, 1500) < 1.05 * most(changes, 700));
  assert.ok(state.spawns.length <= LIMITS.spawns && state.agents.length <= LIMITS.agents);
});

test('more threads in a trace than are remembered make no span anew', () => {
  const threads = Array.from({ length: LIMITS.agents + 20 }, (_, i) => works(1 + i / 100, `w${i}`, `Count ${i}`));
  const again = { ...works(50, 'w0', 'Count 0'), says: [user('Count 0'), user('once more')] };
  const { spans, traces } = projection([spawns(), ...threads, again]);
  assert.is(spans.length, traces[0]?.span_count);
  assert.is(new Set(spans.map(({ span_id }) => span_id)).size, spans.length);
});

test.run();
