/** Which conversation does a Codex rollout hold? Its items, answer by answer. (Reference sections 4.7 and 4.8.) */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readCodexTranscript } from '../../../core/harness/codex-transcript.ts';
import type { TranscriptReading } from '../../../core/harness/harness.ts';
import { answerItem, event, item, line, tokens, transcriptFile, userItem } from '../../support/transcript-records.ts';
import { harnessFiles } from '../../support/transcript-uploads.ts';

const test = suite('codex transcript');

const read = (records: unknown[], rest = {}) =>
  readCodexTranscript(transcriptFile(records, { harness_id: 'codex', ...rest }));
const model = line('turn_context', 0, { model: 'gpt-5.1-codex', turn_id: 'turn-1' });

const story = ({ calls }: TranscriptReading) =>
  calls.map(({ keeps, added, reply }) => [
    keeps,
    added.map(({ message }) => `${message.role}: ${message.content.map(inShort).join(' ')}`),
    reply.content.map(inShort).join(' '),
  ]);
const inShort = (block: {
  text?: string | undefined;
  tool_use_id?: string | undefined;
  tool_result_id?: string | undefined;
}) => block.text ?? block.tool_use_id ?? `=${block.tool_result_id}`;

const callItem = (second: number, call_id: string) =>
  item(second, { type: 'function_call', name: 'exec_command', call_id, arguments: '{"cmd":"ls"}' });
const outputItem = (second: number, call_id: string) =>
  item(second, { type: 'function_call_output', call_id, output: 'ok' });

test('what the model says between two things of the client is one answer', () => {
  const reading = read([
    model,
    userItem(1, 'List'),
    item(2, { type: 'reasoning', summary: [], encrypted_content: 'sealed' }),
    answerItem(2, 'I list'),
    callItem(3, 'c1'),
    callItem(4, 'c2'),
    outputItem(5, 'c1'),
    outputItem(6, 'c2'),
    answerItem(7, 'Listed'),
    event(8, 'task_complete'),
  ]);
  assert.equal(story(reading).slice(1), [[2, ['tool: =c1', 'tool: =c2'], 'Listed']]);
  const [first] = reading.calls;
  assert.equal(
    first?.reply.content.map(({ type }) => type),
    ['thinking', 'text', 'tool_use', 'tool_use'],
  );
  assert.equal(
    [first?.reply.model, first?.turn_id, first?.reply.stop_reason],
    ['gpt-5.1-codex', 'turn-1', 'tool_calls'],
  );
  assert.equal([first?.requested_at, first?.ended_at], ['2026-07-27T09:00:01.000000Z', '2026-07-27T09:00:04.000000Z']);
});

test('a usage record names the answer and says what it used', () => {
  const usage = {
    input_tokens: 50,
    cached_input_tokens: 20,
    cache_write_input_tokens: 10,
    output_tokens: 7,
    reasoning_output_tokens: 3,
  };
  const { calls } = read([
    model,
    userItem(1, 'Hi'),
    answerItem(2, 'Hello'),
    line('token_usage_record', 3, { response_id: 'resp_1', usage }),
    event(3, 'token_count', tokens(9, 9, 9)),
  ]);
  assert.equal([calls.length, calls[0]?.local_id, calls[0]?.reply.response_id], [1, 'resp_1', 'resp_1']);
  assert.equal(calls[0]?.reply.usage, {
    ...{ input_tokens: 50, output_tokens: 7, cache_read_tokens: 20, cache_write_5m_tokens: 10 },
    ...{ cache_write_1h_tokens: 0, reasoning_tokens: 3 },
  });
  assert.equal(calls[0]?.reply.usage_verbatim, usage);
});

test('a file that a newer build goes on with keeps what the totals before say', () => {
  const usage = { input_tokens: 50, output_tokens: 7 };
  const { calls } = read([
    model,
    userItem(1, 'Hi'),
    answerItem(2, 'Hello'),
    event(3, 'token_count', tokens(30, 3, 30)),
    userItem(4, 'And now?'),
    answerItem(5, 'Well'),
    line('token_usage_record', 6, { response_id: 'resp_2', usage }),
    event(6, 'token_count', tokens(50, 7, 80)),
  ]);
  assert.equal(
    calls.map(({ reply }) => reply.usage?.input_tokens),
    [30, 50],
  );
});

test('older files tell running totals: each counts once, also when it comes after the tools have run', () => {
  const { calls } = read([
    model,
    userItem(1, 'Run'),
    callItem(2, 'c1'),
    outputItem(3, 'c1'),
    event(3, 'token_count', tokens(30, 3, 30)),
    event(3, 'token_count', tokens(30, 3, 30)),
    answerItem(4, 'Ran'),
    event(5, 'token_count', tokens(40, 4, 70)),
  ]);
  assert.equal(
    calls.map(({ reply }) => reply.usage?.input_tokens),
    [30, 40],
  );
  assert.equal(
    calls.map(({ reply }) => reply.usage?.cache_read_tokens),
    [4, 4],
  );
});

test('a compaction puts another history in place, a rollback takes turns away', () => {
  const replaced = [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'In short' }] }];
  const reading = read([
    model,
    userItem(1, 'One'),
    answerItem(2, 'First'),
    line('compacted', 3, { message: 'summary', replacement_history: replaced }),
    userItem(4, 'Two'),
    answerItem(5, 'Second'),
    userItem(6, 'Three'),
    answerItem(7, 'Third'),
    event(8, 'thread_rolled_back', { num_turns: 1 }),
    userItem(9, 'Four'),
    answerItem(10, 'Fourth'),
  ]);
  assert.equal(story(reading), [
    [0, ['user: One'], 'First'],
    [0, ['user: In short', 'user: Two'], 'Second'],
    [3, ['user: Three'], 'Third'],
    [3, ['user: Four'], 'Fourth'],
  ]);
});

test('an answer that a person broke off ends where the client closed it; a command that they stopped was a whole answer', () => {
  const usage = { input_tokens: 5, output_tokens: 5 };
  const used = (second: number, response_id: string) => line('token_usage_record', second, { response_id, usage });
  const aborted = (second: number) => [
    userItem(second, '<turn_aborted>\nThe user interrupted the previous turn on purpose.\n</turn_aborted>'),
    event(second, 'turn_aborted', { reason: 'interrupted' }),
  ];
  const { calls } = read([
    model,
    userItem(1, 'Tell me all'),
    answerItem(2, 'First message'),
    event(2, 'token_count', { info: null }),
    ...aborted(3),
    userItem(4, 'Run it instead'),
    callItem(5, 'c1'),
    used(5, 'resp_2'),
    outputItem(6, 'c1'),
    ...aborted(6),
    userItem(7, 'Without usage'),
    callItem(8, 'c2'),
    ...aborted(9),
    userItem(10, 'In an older version'),
    answerItem(11, 'No words of the abort'),
    event(12, 'turn_aborted', { reason: 'replaced' }),
    userItem(13, 'Go on'),
    answerItem(14, 'On'),
    event(15, 'task_complete'),
  ]);
  assert.equal(
    calls.map(({ ending, reply }) => [ending, reply.complete, reply.stop_reason]),
    [
      ['client_closed', false, ''],
      ['complete', true, 'tool_calls'],
      ['complete', true, 'tool_calls'], // a call runs once its item is whole: what came after it is not known
      ['client_closed', false, ''],
      ['complete', true, 'stop'],
    ],
  );
});

test('what a forked thread brings along are calls of the thread that made them; of a sub-agent it is history', () => {
  const records = [
    line('session_meta', 0, { id: 'child' }),
    model,
    userItem(1, 'Before'),
    answerItem(2, 'There'),
    line('token_usage_record', 2, {
      thread_id: 'parent',
      response_id: 'resp_1',
      usage: { input_tokens: 5, output_tokens: 5 },
    }),
    userItem(3, 'Here'),
    answerItem(4, 'Now'),
    line('token_usage_record', 4, {
      thread_id: 'child',
      response_id: 'resp_2',
      usage: { input_tokens: 6, output_tokens: 6 },
    }),
  ];
  const forked = read(records, { harness_session_id: 'child' });
  assert.equal(story(forked), [
    [0, ['user: Before'], 'There'],
    [2, ['user: Here'], 'Now'],
  ]);
  assert.equal(
    forked.calls.map(({ is_own, made }) => [is_own, made.thread]),
    [
      [false, 'parent'],
      [true, 'child'],
    ],
  );
  const agents = read(records, { main: false, agent_id: 'child' });
  assert.equal(story(agents), [[0, ['user: Before', 'assistant: There', 'user: Here'], 'Now']]);
});

test('answers that name no thread are named by the first of a chain of forks, and are its own until the fork', () => {
  const meta = (second: number, id: string, forked_from_id?: string) =>
    line('session_meta', second, { id, ...(forked_from_id && { forked_from_id }) });
  const count = (second: number, input_tokens: number) =>
    event(second, 'token_count', { info: { last_token_usage: { input_tokens, output_tokens: 1 } } });
  const answer = (second: number, words: string) => [answerItem(second, words), count(second, 10 + second)];
  const first = [meta(0, 'a'), ...answer(2, 'A')];
  const second = [meta(10, 'b', 'a'), ...first, ...answer(20, 'B')];
  const third = [meta(30, 'c', 'b'), ...second, ...answer(40, 'C')];
  const made = (records: object[], id: string) =>
    read(records, { harness_session_id: id }).calls.map(({ made: { thread, position }, is_own }) => [
      thread,
      position,
      is_own,
    ]);
  assert.equal(made(first, 'a'), [['a', 0, true]]);
  assert.equal(made(second, 'b'), [
    ['a', 0, false],
    ['a', 1, true],
  ]);
  assert.equal(made(third, 'c'), [
    ['a', 0, false],
    ['a', 1, false],
    ['a', 2, true],
  ]);
  assert.equal(made([meta(0, 'a', 'b'), meta(0, 'b', 'a'), ...answer(2, 'A')], 'a'), [['b', 0, true]]);
});

test('a note of an activity names the tool call and the thread; only a start is evidence of a spawn', () => {
  const note = (kind: string) => [
    event(1, 'sub_agent_activity', { kind, event_id: 'call_1', agent_thread_id: 't1', agent_path: '/root/reviewer' }),
  ];
  const { spawned, is_spawn_evidence } = read(note('started'), { main: false });
  assert.equal([spawned[0]?.thread_id, spawned[0]?.tool_use_id, spawned[0]?.path], ['t1', 'call_1', '/root/reviewer']);
  assert.ok(is_spawn_evidence);
  for (const kind of ['interacted', 'completed']) {
    const other = read(note(kind), { main: false });
    assert.equal([other.spawned, other.is_spawn_evidence], [[], false], kind);
  }
});

test("a rollout tells its own thread's origin, in words or as an object", () => {
  const spawn = { subagent: { thread_spawn: { agent_path: '/root/reviewer', agent_nickname: 'Leibniz' } } };
  for (const source of [spawn, JSON.stringify(spawn)]) {
    const origin = read([line('session_meta', 0, { id: 'c', source }), userItem(1, 'Review')], { main: false }).spawn;
    assert.equal([origin?.path, origin?.label, origin?.prompt], ['/root/reviewer', 'Leibniz', 'Review']);
  }
});

test('unknown records, items and events are counted and cost the others nothing', () => {
  const reading = read([
    model,
    userItem(1, 'Hi'),
    'no JSON',
    line('world_state', 1, {}),
    item(1, { type: 'ghost_snapshot' }),
    { timestamp: 7, type: 'response_item', payload: null },
    event(2, 'agent_message', { message: 'Hello' }),
    answerItem(2, 'Hello'),
  ]);
  assert.is(reading.calls.length, 1);
  assert.equal(reading.omitted, {
    ...{ unknown: 1, world_state: 1, 'response_item:ghost_snapshot': 1, 'malformed:response_item': 1 },
    'event_msg:agent_message': 1,
  });
});

const [main, agent] = harnessFiles('codex');
if (main && agent) {
  test('a real rollout: three calls, named by their answers, and whom it spawned', () => {
    const reading = read(main.records as unknown[]);
    assert.equal(
      reading.calls.map(({ local_id }) => local_id.slice(0, 10)),
      ['resp_fake_', 'resp_fake_', 'resp_fake_'],
    );
    assert.equal(
      reading.calls.map(({ reply }) => reply.usage?.input_tokens),
      [15, 15, 15],
    );
    assert.equal([reading.spawned[0]?.tool_use_id, reading.spawned[0]?.label], ['call_spawn1', 'Leibniz']);
  });
  test("a real sub-agent's rollout: two calls, its name, its first words", () => {
    const reading = read(agent.records as unknown[], { main: false });
    assert.is(reading.calls.length, 2);
    assert.equal([reading.spawn?.label, reading.spawn?.prompt], ['Leibniz', 'SUBAGENT-TASK run echo and report']);
  });
}
test.run();
