import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { advance } from '../../../core/derive/advance.ts';
import type { ProjectionChanges, SpanRow } from '../../../core/derive/changes.ts';
import { fold } from '../../../core/derive/fold.ts';
import { addChanges, noChanges, summed } from '../../../core/derive/merge-changes.ts';
import { emptyState, LIMITS } from '../../../core/derive/state.ts';
import {
  answer,
  assistant,
  type Call,
  callTurns,
  injected,
  instantAt,
  SESSION,
  system,
  text,
  toolResult,
  toolUse,
  user,
} from '../../support/call-turn.ts';

const test = suite('advance');

/** The projection of some calls. */
function projection(...calls: Call[]): ProjectionChanges {
  const sum = noChanges();
  fold(emptyState(SESSION), callTurns(calls), { sum, checkpoints: [] });
  const changes = summed(sum);
  if (!changes) throw new Error('Cannot project: no calls');
  return changes;
}
const kinds = ({ spans }: ProjectionChanges) => spans.map(({ kind }) => kind).join(' ');
const span = ({ spans }: ProjectionChanges, kind: SpanRow['kind'], nth = 0): SpanRow => {
  const found = spans.filter((row) => row.kind === kind)[nth];
  if (!found) throw new Error(`Cannot find span ${nth} of kind ${kind}`);
  return found;
};

const asks: Call = {
  at: 0,
  says: [user('List the files')],
  answers: answer('I look.', toolUse('t1', 'Bash', { command: 'ls' })),
};
const brings: Call = {
  at: 2,
  says: [
    ...(asks.says ?? []),
    assistant('I look.', toolUse('t1', 'Bash', { command: 'ls' })),
    user(toolResult('t1', 'a b')),
  ],
  answers: answer('Two files: a and b'),
};

test('one call makes a trace: its agent and its llm step', () => {
  const rows = projection({ ...asks, answers: answer('Hello') });
  assert.is(kinds(rows), 'agent llm');
  const [trace] = rows.traces;
  assert.is(trace?.user_prompt, 'List the files');
  assert.is(trace?.response_preview, 'Hello');
  assert.equal([trace?.started_at, trace?.ended_at, trace?.duration_ns], [instantAt(0), instantAt(0.5), 500_000_000]);
  assert.is(trace?.cost_usd, '0.00045'); // 100 × 3 + 10 × 15 per million
  const [agent, llm] = [span(rows, 'agent'), span(rows, 'llm')];
  assert.equal([agent.name, agent.parent_span_id, agent.seq, agent.ended_at], ['main', null, 0, instantAt(0.5)]);
  assert.equal([llm.name, llm.parent_span_id, llm.seq], ['claude-sonnet-4-5', agent.span_id, 1]);
  assert.equal(llm.input, [text('List the files')]);
  assert.equal(llm.output, [text('Hello')]);
  assert.is(llm.external_id, 'msg_1');
});

test('a tool loop stays one trace, and the tool joins its result', () => {
  const rows = projection(asks, brings);
  assert.is(kinds(rows), 'agent llm tool llm');
  assert.is(rows.traces.length, 1);
  const tool = span(rows, 'tool');
  assert.equal([tool.name, tool.status, tool.external_id], ['Bash', 'ok', 't1']);
  assert.equal([tool.started_at, tool.ended_at], [instantAt(0.5), instantAt(2)]);
  assert.equal(tool.output, [toolResult('t1', 'a b')]);
  assert.equal(span(rows, 'llm', 1).input, [], 'a result is not said again');
  assert.equal(
    rows.links.map(({ kind, from_span_id, from_io, to_span_id, to_io }) => [
      kind,
      from_span_id,
      from_io,
      to_span_id,
      to_io,
    ]),
    [
      ['emits', span(rows, 'llm').span_id, 'output', tool.span_id, 'input'],
      ['feeds', tool.span_id, 'output', span(rows, 'llm', 1).span_id, 'input'],
    ],
  );
  assert.equal([rows.rollup.tool_result_count, rows.rollup.tool_error_count, rows.rollup.status], [1, 0, 'completed']);
});

test('a new prompt opens the next trace', () => {
  const rows = projection(asks, brings, {
    at: 10,
    says: [...(brings.says ?? []), assistant('Two files: a and b'), user('Thanks, delete b')],
    answers: answer('Done'),
  });
  assert.equal(
    rows.traces.map(({ user_prompt }) => user_prompt),
    ['List the files', 'Thanks, delete b'],
  );
  assert.is(rows.rollup.trace_count, 2);
  assert.is(rows.rollup.preview, 'List the files');
});

test('a prompt that comes before the last fresh answer is history: a resumed session opens no trace for it', () => {
  const rows = projection(asks, {
    at: 5,
    says: [user('Another conversation'), assistant('whose answer'), user(toolResult('t9')), assistant('is history')],
    answers: answer('Hm'),
  });
  assert.is(rows.traces.length, 1);
  assert.equal(span(rows, 'llm', 1).input, [text('Another conversation')]);
});

test('two conversations of one session continue their own traces', () => {
  const other: Call = { at: 1, says: [user('Other')], answers: answer(toolUse('o1')) };
  const rows = projection(asks, other, brings, {
    at: 3,
    says: [user('Other'), assistant(toolUse('o1')), user(toolResult('o1'))],
    answers: answer('Other done'),
  });
  assert.is(rows.traces.length, 2);
  assert.equal(rows.traces.map(({ span_count }) => span_count).sort(), [4, 4]);
});

test('context that a harness puts in is an event, and neither prompt nor input', () => {
  const rows = projection({
    at: 0,
    says: [injected('mcp-instructions', '# MCP Server Instructions'), user('Go')],
    answers: answer('Gone'),
  });
  assert.is(kinds(rows), 'agent event llm');
  const event = span(rows, 'event');
  assert.equal([event.name, event.call_kind], ['mcp-instructions', 'injected:mcp-instructions']);
  assert.equal(event.input, [text('# MCP Server Instructions')]);
  assert.equal(span(rows, 'llm').input, [text('Go')]);
  assert.is(rows.traces[0]?.user_prompt, 'Go');
});

test('a system message is said once, by the call that brings it', () => {
  const rows = projection({ at: 0, says: [system('Be brief'), user('Hi')], answers: answer('Hi') });
  assert.equal(span(rows, 'llm').input, [text('Be brief'), text('Hi')]);
  assert.is(rows.traces[0]?.user_prompt, 'Hi');
});

test('what a person said is told from what system and harness put into the same call', () => {
  const rows = projection({
    at: 0,
    says: [
      system('You are a helper'),
      user('# AGENTS.md instructions for /a\n\n<INSTRUCTIONS>\nBe brief\n</INSTRUCTIONS>'),
      user('<environment_context>\n  <cwd>/a</cwd>\n</environment_context>'),
      user('<system-reminder>Mind the date</system-reminder>', 'Count the sheep'),
    ],
    answers: answer('Seven'),
  });
  const llm = span(rows, 'llm');
  assert.is(llm.input.length, 5, 'nothing is left out');
  assert.equal(
    llm.said_blocks.map((place) => llm.input[place]?.text),
    ['Count the sheep'],
  );
  assert.equal(
    rows.spans.map(({ kind, plain_text }) => [kind, plain_text]),
    [
      ['agent', null],
      ['llm', 'Count the sheep\nSeven'],
    ],
  );
  assert.equal([rows.traces[0]?.user_prompt, rows.rollup.preview], ['Count the sheep', 'Count the sheep']);
});

test('a failed call is an error step; the retry that succeeds is linked and makes the trace ok', () => {
  const failed: Call = {
    at: 0,
    says: [user('Go')],
    answers: { content: [], usage: null, error: { type: 'overloaded_error', message: 'Overloaded' } },
    status: 529,
  };
  const rows = projection(
    failed,
    { ...failed, at: 1, answers: null, status: 503 },
    { ...failed, at: 2, answers: answer('Gone'), status: 200 },
    { ...failed, at: 3, answers: answer('Gone again'), status: 200 },
  );
  assert.is(rows.traces.length, 1);
  assert.equal(
    rows.spans.filter(({ kind }) => kind === 'llm').map(({ status, error_type }) => [status, error_type]),
    [
      ['error', 'overloaded_error'],
      ['error', 'http_503'],
      ['ok', ''],
      ['ok', ''],
    ],
  );
  const [first, second, third] = [0, 1, 2].map((nth) => span(rows, 'llm', nth).span_id);
  assert.equal(
    rows.links.map(({ kind, from_span_id, to_span_id }) => [kind, from_span_id, to_span_id]),
    [
      ['retry-of', second, first],
      ['retry-of', third, second],
      ['fork-of', span(rows, 'llm', 3).span_id, third], // asked again although there was an answer
    ],
  );
  assert.is(rows.traces[0]?.status, 'ok');
  assert.is(rows.rollup.status, 'completed');
});

test('a failed call tells what its provider said, and no other span does', () => {
  const rows = projection({
    at: 0,
    says: [user('Go')],
    answers: {
      content: [],
      usage: null,
      error: { type: 'invalid_request_error', message: ' prompt is too\u0000long \n' },
    },
    status: 400,
  });
  assert.equal(
    rows.spans.map(({ kind, error_message }) => [kind, error_message]),
    [
      ['agent', ''],
      ['llm', 'prompt is too\uFFFDlong'],
    ],
  );
});

test('how a call ended decides its status', () => {
  const says = [user('Go')];
  const statusOf = (call: Partial<Call>) => {
    const { status, error_type } = span(projection({ at: 0, says, answers: answer('Half'), ...call }), 'llm');
    return `${status} ${error_type}`.trim();
  };
  assert.is(statusOf({}), 'ok');
  assert.is(statusOf({ outcome: 'partial', ending: 'client_closed' }), 'partial client_closed');
  assert.is(statusOf({ outcome: 'partial', ending: 'upstream_cut', answers: null }), 'error upstream_cut');
  assert.is(
    statusOf({ outcome: 'partial', ending: 'upstream_error', answers: null, status: null }),
    'error upstream_error',
  );
  assert.is(statusOf({ outcome: 'partial', ending: 'overflow', answers: null }), 'partial overflow');
  assert.is(statusOf({ answers: null, status: 429 }), 'error http_429');
  assert.is(statusOf({ answers: null, outcome: 'undecodable' }), 'partial undecodable');
  assert.is(statusOf({ answers: null }), 'ok', 'bodies that were not kept say nothing of failure');
});

test('the session is abandoned, interrupted, failed or completed by its last main call', () => {
  const last = (call: Partial<Call>) =>
    projection({ at: 0, says: [user('Go')], answers: answer('Ok'), ...call }).rollup.status;
  assert.is(last({}), 'completed');
  for (const stop_reason of ['max_tokens', 'model_context_window_exceeded'])
    assert.is(last({ answers: { ...answer('Ok'), stop_reason } }), 'failed');
  assert.is(last({ answers: { ...answer('Ok'), stop_reason: 'pause' } }), 'unknown');
  assert.is(last({ answers: null, ending: 'client_closed', outcome: 'partial' }), 'abandoned');
  const halfHeard = { ...answer('Half an ans'), stop_reason: '', complete: false };
  assert.is(last({ answers: halfHeard, ending: 'client_closed', outcome: 'partial' }), 'interrupted');
  assert.is(last({ answers: halfHeard, ending: 'upstream_cut', outcome: 'partial' }), 'unknown');
  assert.is(last({ answers: null, status: 500 }), 'failed');
  assert.is(last({ thread_id: 'sub' }), 'unknown');
});

test('failed commands make no failure of a session that ended well; one that stopped among them failed', () => {
  const fails = { ...brings, says: [...(brings.says ?? []).slice(0, 2), user(toolResult('t1', 'no', true))] };
  assert.is(projection(asks, fails).rollup.status, 'completed');
  assert.is(projection(asks, { ...fails, answers: answer(toolUse('t2')) }).rollup.status, 'failed');
});

test('a failed tool is an error with its output, and the first result wins', () => {
  const says = [
    ...(brings.says ?? []).slice(0, 2),
    user(toolResult('t1', 'denied', true), toolResult('t1', 'allowed')),
  ];
  const rows = projection(asks, { ...brings, says });
  const tool = span(rows, 'tool');
  assert.equal(
    [tool.status, tool.error_type, tool.output],
    ['error', 'tool_error', [toolResult('t1', 'denied', true)]],
  );
  assert.is(rows.rollup.tool_error_count, 1);
});

test('results that name no call are those of the tools that the last answer asked for, in their order', () => {
  const reply = answer(toolUse('a', 'get_weather', { city: 'Oslo' }), toolUse('b', 'get_weather', { city: 'Bergen' }));
  const before = [user('Rain?'), assistant(...reply.content)];
  const rows = projection(
    { at: 0, says: [user('Rain?')], answers: reply },
    {
      at: 10,
      says: [...before, user(toolResult('', 'in Oslo')), user(toolResult('', 'in Bergen'))],
      answers: answer('Both'),
    },
  );
  assert.equal(
    rows.spans
      .filter(({ kind }) => kind === 'tool')
      .map(({ external_id, output: [block] }) => [external_id, block?.tool_output]),
    [
      ['a', 'in Oslo'],
      ['b', 'in Bergen'],
    ],
  );
});

test('what the provider ran itself has its result in the same answer', () => {
  const search = { ...toolUse('s1', 'web_search', { query: 'x' }), type: 'server_tool_use' };
  const found = { type: 'web_search_tool_result', tool_result_id: 's1', content: [{ url: 'https://a.example' }] };
  const rows = projection({ at: 0, says: [user('Find x')], answers: answer(search, found, 'Found') });
  const tool = span(rows, 'tool');
  assert.equal([tool.name, tool.output, tool.ended_at], ['web_search', [found], instantAt(0.5)]);
  const broken = { ...found, content: { type: 'web_search_tool_result_error', error_code: 'unavailable' } };
  assert.is(
    span(projection({ at: 0, says: [user('Find x')], answers: answer(search, broken) }), 'tool').status,
    'error',
  );
});

test('what the provider ran for an answer before has its result in the next one', () => {
  const search = { ...toolUse('s1', 'web_search', { query: 'x' }), type: 'server_tool_use' };
  const found = { type: 'web_search_tool_result', tool_result_id: 's1', content: [{ url: 'https://a.example' }] };
  const before = [user('Find x'), assistant(search)];
  const rows = projection(
    { at: 0, says: [user('Find x')], answers: answer(search) },
    { at: 10, says: before, answers: answer(found, 'Found') },
  );
  const tool = span(rows, 'tool');
  assert.equal([tool.output, tool.ended_at, tool.status], [[found], instantAt(10.5), 'ok']);
});

test('shells of all harnesses are shown as Bash; a tool without a name is a tool', () => {
  const tools = [
    toolUse('1', 'exec_command', { cmd: 'ls' }),
    toolUse('2', 'shell', { command: ['git', 'commit', '-m', 'x'] }),
    toolUse('3', 'shell', {}),
    toolUse('4', ''),
  ];
  const rows = projection({ at: 0, says: [user('Go')], answers: answer(...tools) });
  assert.equal(
    rows.spans.filter(({ kind }) => kind === 'tool').map(({ name }) => name),
    ['Bash', 'Bash', 'shell', 'tool'],
  );
  assert.is(rows.rollup.has_git_activity, true);
  assert.is(
    projection({ at: 0, says: [user('Go')], answers: answer(toolUse('1', 'Bash', { command: 'git log # push' })) })
      .rollup.has_git_activity,
    false,
  );
  assert.is(
    projection({
      at: 0,
      says: [user('Go')],
      answers: answer(toolUse('1', 'Bash', { command: 'cd a && git -C b push' })),
    }).rollup.has_git_activity,
    true,
  );
});

test('ids of tools may be empty or repeat: spans stay apart and results go to the oldest that waits', () => {
  const rows = projection(
    { at: 0, says: [user('Go')], answers: answer(toolUse('c', 'A'), toolUse('c', 'B'), toolUse('', 'C')) },
    {
      at: 2,
      says: [
        user('Go'),
        assistant(toolUse('c', 'A'), toolUse('c', 'B'), toolUse('', 'C')),
        user(toolResult('c', '1'), toolResult('c', '2')),
      ],
      answers: answer(toolUse('c', 'D')),
    },
  );
  const tools = rows.spans.filter(({ kind }) => kind === 'tool');
  assert.is(new Set(tools.map(({ span_id }) => span_id)).size, 4);
  assert.equal(
    tools.map(({ name, output }) => [name, output[0]?.tool_output]),
    [
      ['A', '1'],
      ['B', '2'],
      ['C', undefined],
      ['D', undefined],
    ],
  );
});

test('a result that the next prompt brings ends the tool in its own trace', () => {
  const rows = projection(asks, {
    at: 9,
    says: [...(brings.says ?? []).slice(0, 2), user(toolResult('t1', 'interrupted')), user('Never mind, what is new?')],
    answers: answer('Nothing'),
  });
  assert.is(rows.traces.length, 2);
  const first = rows.traces.find(({ user_prompt }) => user_prompt === 'List the files');
  assert.is(first?.ended_at, instantAt(9));
  assert.is(span(rows, 'agent').ended_at, instantAt(9));
  const feeds = rows.links.find(({ kind }) => kind === 'feeds');
  assert.is.not(feeds?.from_trace_id, feeds?.to_trace_id);
});

test('tokens and money add up, and a model without a price is named', () => {
  const rows = projection(
    asks,
    {
      ...brings,
      answers: { ...answer('Ok'), usage: { input_tokens: 1_000, cache_read_tokens: 900, reasoning_tokens: 3 } },
    },
    { at: 5, says: [user('Local')], answers: { ...answer('Ok'), model: 'llama3.2' }, provider: 'ollama' },
    { at: 6, says: [user('Nothing said')], answers: { ...answer('Ok'), model: 'silent', usage: null } },
  );
  const { rollup } = rows;
  // 100 × 3 + 10 × 15, and 100 × 3 + 900 × 0.3 + 10 × 15, per million
  assert.equal([rollup.cost_usd, rollup.input_tokens, rollup.output_tokens], ['0.00117', 1_200, 30]);
  assert.equal(rollup.unpriced_models, ['llama3.2']);
  assert.equal(
    rollup.model_usage.map(({ model, calls, cost_usd }) => [model, calls, cost_usd]),
    [
      ['claude-sonnet-4-5', 2, '0.00117'],
      ['llama3.2', 1, null],
    ],
  );
  assert.equal(
    rows.traces.map(({ cost_usd, unpriced_models }) => [cost_usd, unpriced_models]),
    [
      ['0.00117', []],
      [null, ['llama3.2']],
      [null, []],
    ],
  );
  assert.equal([rollup.model, rollup.kind_counts], ['claude-sonnet-4-5', { main: 4 }]);
  assert.is(
    rows.traces.reduce((sum, { input_tokens }) => sum + input_tokens, 0),
    rollup.input_tokens,
  );
});

test('the latest call that tells names the session', () => {
  const rows = projection(
    { ...asks, identity: { session_name: 'first', cwd: '/a', agent_name: 'claude', harness_metadata: { a: 1 } } },
    { ...brings, identity: { session_name: 'second', parent_harness_session_id: 'p', harness_id: 'claude' } },
  );
  const { name, cwd, agent_name, harness_metadata, parent_session_id } = rows.rollup;
  assert.equal([name, cwd, agent_name, harness_metadata], ['second', '/a', 'claude', { a: 1 }]);
  assert.match(parent_session_id ?? '', /^[0-9a-f-]{36}$/);
});

test('a model called constructor is counted like any other', () => {
  const rows = projection({ ...asks, answers: { ...answer('Ok'), model: 'constructor' } });
  assert.equal([rows.rollup.model, rows.rollup.unpriced_models], ['constructor', ['constructor']]);
});

test('the state is bounded and a call costs the same at the end', () => {
  let state = emptyState(SESSION);
  const sizes: number[] = [];
  const changes: number[] = [];
  const calls = Array.from(
    { length: 400 },
    (_, i): Call => ({
      at: i * 2,
      thread_id: i % 3 === 0 ? `t${i % 100}` : '',
      says: [user(`Question ${i}`)],
      answers: answer(...Array.from({ length: 5 }, (_, t) => toolUse(`${i}-${t}`))),
    }),
  );
  for (const turn of callTurns(calls)) {
    const step = advance(state, turn);
    state = step.state;
    sizes.push(JSON.stringify(state).length);
    changes.push(JSON.stringify(step.changes).length);
  }
  assert.ok((sizes.at(-1) ?? 0) < 1.05 * (sizes[199] ?? 0), `${sizes[199]} then ${sizes.at(-1)}`);
  assert.ok((changes.at(-1) ?? 0) < 1.05 * (changes[198] ?? 0)); // of a thread's call as well
  assert.is(state.live.length, LIMITS.live);
  assert.ok(state.agents.length <= LIMITS.agents && state.spawns.length <= LIMITS.spawns);
  assert.ok(state.pending.length <= LIMITS.pending && state.heads.length <= LIMITS.heads);
});

test('a sum holds each row once, as it stands last', () => {
  const sum = noChanges();
  let state = emptyState(SESSION);
  for (const turn of callTurns([asks, brings])) {
    const step = advance(state, turn);
    state = step.state;
    addChanges(sum, step.changes);
  }
  assert.equal(summed(sum)?.patches, [], 'patches of new spans are in the spans');
  assert.is(summed(sum)?.traces.length, 1);
});

test.run();
