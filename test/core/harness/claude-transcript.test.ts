/** Which conversation does a Claude Code file hold? The active path of its tree, call by call. (Reference section 4.8.) */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readClaudeTranscript } from '../../../core/harness/claude-transcript.ts';
import type { TranscriptReading } from '../../../core/harness/harness.ts';
import { instantIn } from '../../../core/model/rfc-3339.ts';
import {
  answeredBy,
  claudeChat,
  type Edge,
  resulted,
  SESSION_ID,
  textBlock,
  transcriptFile,
  userRecord,
  uses,
} from '../../support/transcript-records.ts';
import { harnessFiles } from '../../support/transcript-uploads.ts';

const test = suite('claude transcript');

const read = (records: unknown[], rest = {}) => readClaudeTranscript(transcriptFile(records, rest));

/** What each call is asked, in short, and its answer. */
const story = ({ calls }: TranscriptReading) =>
  calls.map(({ keeps, added, reply }) => [
    keeps,
    added.map(
      ({ message, injected }) =>
        `${message.role}${injected ? ` (${injected})` : ''}: ${message.content.map(inShort).join(' ')}`,
    ),
    reply.content.map(inShort).join(' '),
  ]);
const inShort = (block: {
  type: string;
  text?: string | undefined;
  tool_use_id?: string | undefined;
  tool_result_id?: string | undefined;
}) => block.text ?? block.tool_use_id ?? `=${block.tool_result_id}`;

test('each answer is a call, which goes on from all that was said before', () => {
  assert.equal(story(read(claudeChat(3))), [
    [0, ['user: Question 1'], 'Answer 1'],
    [2, ['user: Question 2'], 'Answer 2'],
    [4, ['user: Question 3'], 'Answer 3'],
  ]);
});

test('pieces of one answer are one call: content is appended, each counter is the greatest, tool calls are not doubled', () => {
  const { calls } = read([
    userRecord(['', 'u1'], 0, 'Look'),
    answeredBy(['u1', 'p1'], 1, 'msg_1', [textBlock('I look')]),
    answeredBy(['p1', 'p2'], 2, 'msg_1', [uses('t1')], { usage: { input_tokens: 10, output_tokens: 7 } }),
    answeredBy(['p2', 'p3'], 3, 'msg_1', [uses('t1'), uses('t2')], {
      stop_reason: 'tool_use',
      usage: { input_tokens: 10, output_tokens: 4 },
    }),
  ]);
  assert.is(calls.length, 1);
  assert.equal(calls[0]?.reply.content.map(inShort), ['I look', 't1', 't2']);
  assert.is(calls[0]?.reply.stop_reason, 'tool_use');
  assert.equal(
    [calls[0]?.requested_at, calls[0]?.ended_at],
    ['2026-07-27T09:00:00.000000Z', '2026-07-27T09:00:03.000000Z'],
  );
  assert.equal(calls[0]?.reply.usage, {
    ...{ input_tokens: 130, output_tokens: 7, cache_read_tokens: 100, cache_write_5m_tokens: 20 },
    ...{ cache_write_1h_tokens: 0, reasoning_tokens: 0 },
  });
});

test('tools that ran beside each other bring back all their results, although the path passes only one', () => {
  const reading = read([
    userRecord(['', 'u1'], 0, 'Both'),
    answeredBy(['u1', 'p1'], 1, 'msg_1', [uses('t1')]),
    answeredBy(['p1', 'p2'], 2, 'msg_1', [uses('t2')]),
    userRecord(['p1', 'r1'], 3, [resulted('t1')]),
    userRecord(['p2', 'r2'], 4, [resulted('t2')]),
    answeredBy(['r2', 'a2'], 5, 'msg_2', [textBlock('Both done')]),
  ]);
  assert.equal(story(reading), [
    [0, ['user: Both'], 't1 t2'],
    [2, ['user: =t1 =t2'], 'Both done'],
  ]);
  assert.equal(reading.omitted, {});
});

test('the newest usable record of a prompt names the leaf; a later descendant goes on, what other branches answered stands beside it', () => {
  const branches = [
    userRecord(['', 'u1'], 0, 'Start'),
    answeredBy(['u1', 'a1'], 1, 'msg_1', [textBlock('Started')]),
    userRecord(['a1', 'u2'], 2, 'Left'),
    answeredBy(['u2', 'a2'], 3, 'msg_2', [textBlock('Gone left')]),
    userRecord(['a1', 'u3'], 4, 'Right'),
    answeredBy(['u3', 'a3'], 5, 'msg_3', [textBlock('Gone right')]),
  ];
  const answers = (records: unknown[]) => read(records).calls.map(({ reply }) => reply.content.map(inShort).join());
  assert.equal(answers(branches), ['Started', 'Gone right'], 'the latest leaf');
  const named = [...branches, { type: 'last-prompt', leafUuid: 'u2' }, { type: 'last-prompt', leafUuid: 'nowhere' }];
  assert.equal(answers(named), ['Started', 'Gone left']);
  const { omitted, beside } = read(named);
  assert.equal(omitted, { 'last-prompt': 1 });
  assert.equal(
    beside.map(({ thread_id, calls }) => [thread_id, calls.map(({ local_id }) => local_id)]),
    [['', ['msg_1 req_msg_1', 'msg_3 req_msg_3']]],
  );
});

test('a branch without an answer of its own is left out', () => {
  const { omitted, beside, calls } = read([
    ...claudeChat(1),
    userRecord(['a1', 'u2'], 10, 'Never mind'),
    userRecord(['a1', 'u3'], 11, 'This'),
    answeredBy(['u3', 'a3'], 12, 'msg_3', [textBlock('Done')]),
  ]);
  assert.equal([calls.length, beside.length, omitted], [2, 0, { 'inactive-branch': 1 }]);
});

test('a main file prefers the main thread, an agent file its own', () => {
  const records = [
    userRecord(['', 'u1'], 0, 'Main'),
    answeredBy(['u1', 'a1'], 1, 'msg_1', [textBlock('Main answer')]),
    { ...userRecord(['', 's1'], 2, 'Side'), isSidechain: true },
    { ...answeredBy(['s1', 's2'], 3, 'msg_2', [textBlock('Side answer')]), isSidechain: true },
  ];
  const main = read(records);
  assert.equal(story(main), [[0, ['user: Main'], 'Main answer']]);
  const [side, ...others] = main.beside;
  assert.equal(side && [side.thread_id, side.prompt, story({ ...main, calls: side.calls })], [
    'sidechain-s1',
    'Side',
    [[0, ['user: Side'], 'Side answer']],
  ]);
  assert.equal(others, []);
  const agent = read(records, { main: false, agent_id: 'a' });
  assert.equal(story(agent), [[0, ['user: Side'], 'Side answer']]);
  assert.is(agent.spawn?.prompt, 'Side');
});

test('a compaction starts the history anew, and the story goes on', () => {
  const boundary = {
    ...userRecord(['', 'b1'], 20, ''),
    ...{ type: 'system', subtype: 'compact_boundary', content: 'Conversation compacted', logicalParentUuid: 'a2' },
  };
  const reading = read([
    ...claudeChat(2),
    boundary,
    userRecord(['b1', 'u8'], 21, 'This session is being continued', { isCompactSummary: true }),
    answeredBy(['u8', 'a8'], 22, 'msg_8', [textBlock('Continued')]),
  ]);
  assert.equal(story(reading).slice(1), [
    [2, ['user: Question 2'], 'Answer 2'],
    [0, ['user: This session is being continued'], 'Continued'],
  ]);
});

test('what the harness puts in is context, and what is asked without an answer is no call', () => {
  const attachment = (edge: Edge, rest: object) => ({
    ...userRecord(edge, 1, ''),
    type: 'attachment',
    attachment: rest,
  });
  const reading = read([
    userRecord(['', 'u1'], 0, 'Hello'),
    attachment(['u1', 'x1'], { type: 'skill_listing', content: '- verify' }),
    attachment(['x1', 'x2'], { type: 'todo', content: [] }),
    userRecord(['x2', 'm1'], 1, 'Caveat: run by the user', { isMeta: true }),
    answeredBy(['m1', 'a1'], 2, 'msg_1', [textBlock('Hi')]),
    userRecord(['a1', 'u2'], 3, 'Never answered'),
  ]);
  assert.equal(story(reading), [
    [
      0,
      [
        'user: Hello',
        'system (system-insert): The following skills are available for use with the Skill tool:\n\n- verify',
        'user (system-insert): Caveat: run by the user',
      ],
      'Hi',
    ],
  ]);
  assert.equal(reading.omitted, { attachment: 1 });
});

test('records that were brought along from another session are calls of that one', () => {
  const elsewhere = claudeChat(1).map((record) => ({ ...record, forkedFrom: { sessionId: 'other' } }));
  const reading = read([
    ...elsewhere,
    userRecord(['a1', 'u2'], 10, 'Here'),
    answeredBy(['u2', 'a2'], 12, 'msg_2', [textBlock('Now')]),
  ]);
  assert.equal(story(reading), [
    [0, ['user: Question 1'], 'Answer 1'],
    [2, ['user: Here'], 'Now'],
  ]);
  assert.equal(
    reading.calls.map(({ is_own, made, request_id }) => [is_own, made.thread, made.position, request_id]),
    [
      [false, 'other', 0, 'req_msg_1'],
      [true, SESSION_ID, 0, 'req_msg_2'],
    ],
  );
});

test('unknown types, other roles and malformed records are counted and cost the others nothing', () => {
  const reading = read([
    ...claudeChat(1),
    'no JSON',
    null,
    { type: 'file-history-snapshot', snapshot: {} },
    { type: 'user', message: { role: 'user', content: 'no uuid' } },
    userRecord(['a1', 'u2'], 10, 7),
    { ...userRecord(['u2', 'u3'], 11, 'spoken by a robot'), message: { role: 'robot', content: 'x' } },
    answeredBy(['u3', 'a3'], 12, 'msg_3', [{ no: 'type' }]),
    answeredBy(['a3', 'a4'], 13, 'msg_4', [textBlock('API Error')], { model: '<synthetic>' }),
    answeredBy(['a4', 'a5'], 14, 'msg_5', [textBlock('Still here')]),
  ]);
  assert.equal(
    reading.calls.map(({ local_id }) => local_id),
    ['msg_1 req_msg_1', 'msg_5 req_msg_5'],
  );
  assert.equal(reading.omitted, {
    ...{ unknown: 2, 'file-history-snapshot': 1, 'malformed:user': 2, 'message:robot': 1 },
    ...{ 'malformed:assistant': 1, 'message:synthetic': 1 },
  });
  assert.is(reading.projected_records, 3);
});

test('an answer that a person broke off ends where the client closed it; a tool that they stopped was a whole answer', () => {
  const interrupted = (for_what = '') => [textBlock(`[Request interrupted by user${for_what}]`)];
  const { calls } = read([
    userRecord(['', 'u1'], 0, 'Tell me all'),
    answeredBy(['u1', 'p1'], 1, 'msg_1', [textBlock('First')]),
    answeredBy(['p1', 'p2'], 2, 'msg_1', [textBlock('Second, which never')]),
    userRecord(['p2', 'i1'], 3, interrupted()),
    userRecord(['i1', 'u2'], 4, 'Run it instead'),
    answeredBy(['u2', 'a2'], 5, 'msg_2', [uses('t1')]),
    userRecord(['a2', 'r2'], 6, [resulted('t1', "The user doesn't want to proceed with this tool use.")]),
    userRecord(['r2', 'i2'], 7, interrupted(' for tool use')),
    userRecord(['i2', 'u3'], 8, 'Then stop'),
    answeredBy(['u3', 'a3'], 9, 'msg_3', [textBlock('Stopped')], { stop_reason: 'end_turn' }),
    userRecord(['a3', 'i3'], 10, interrupted()), // by a hook that ran after the answer
    userRecord(['i3', 'u4'], 11, 'And after that?'),
    answeredBy(['u4', 'a4'], 12, 'msg_4', [textBlock('Not broken off')]),
    userRecord(['a4', 'u5'], 13, 'Never answered'),
  ]);
  assert.equal(
    calls.map(({ local_id, ending, reply }) => [local_id.slice(0, 5), ending, reply.complete]),
    [
      ['msg_1', 'client_closed', false],
      ['msg_2', 'complete', true],
      ['msg_3', 'complete', true],
      ['msg_4', 'complete', true],
    ],
  );
});

test('titles by rank: a custom one before one that was found, a summary and the name of an agent', () => {
  const title = (...records: object[]) => read([...claudeChat(1), ...records]).title?.text;
  const custom = { type: 'custom-title', customTitle: 'Mine' };
  const found = { type: 'ai-title', aiTitle: 'Found' };
  const summary = { type: 'summary', summary: 'Sum', leafUuid: 'a1' };
  const agent = { type: 'agent-name', agentName: 'Bob' };
  assert.is(title(custom, found, summary, agent), 'Mine');
  assert.is(title(found, { type: 'ai-title', aiTitle: 'Later' }, summary, agent), 'Later');
  assert.is(title(agent, summary), 'Sum');
  assert.is(title(agent), 'Bob');
  assert.is(title({ type: 'custom-title', customTitle: 7 }), undefined);
});

test('a call is named by its answer, however the file grows', () => {
  const names = (count: number) => read(claudeChat(count)).calls.map(({ local_id }) => local_id);
  assert.equal(names(5).slice(0, 3), names(3));
});

test('calls of a file never share an instant, whatever its clock says', () => {
  const stopped = claudeChat(3).map((record) => ({ ...record, timestamp: '2026-07-27T09:00:00Z' }));
  const times = read(stopped).calls.map(({ requested_at }) => requested_at);
  assert.equal(times, ['2026-07-27T09:00:00.000000Z', '2026-07-27T09:00:00.000001Z', '2026-07-27T09:00:00.000002Z']);
  const timeless = read(claudeChat(1).map((record) => ({ ...record, timestamp: '2999-01-01T00:00:00Z' })));
  assert.is(timeless.calls[0]?.requested_at, '2026-11-21T12:00:00.000000Z', 'the future is not believed');
  assert.is(timeless.first_at, null);
});

test('a day or an hour that does not exist is no time, as for the times of its upload', () => {
  for (const timestamp of ['2026-02-30T09:30:00Z', '2026-06-31T09:30:00Z', '2026-07-27T24:00:00Z']) {
    assert.is(instantIn(timestamp), null);
    const { first_at, calls } = read(claudeChat(1).map((record) => ({ ...record, timestamp })));
    assert.equal([first_at, calls[0]?.requested_at], [null, '2026-11-21T12:00:00.000000Z'], timestamp);
  }
  const leap = '2016-12-31T23:59:60Z';
  assert.is(read(claudeChat(1).map((record) => ({ ...record, timestamp: leap }))).first_at, instantIn(leap));
});

const [main, agent] = harnessFiles('claude');
if (main && agent) {
  test('a real file: two calls of the main thread, and whom it spawned', () => {
    const reading = read(main.records as unknown[], { harness_session_id: '13607ae7-2247-4428-8c8f-a10fe2fd0148' });
    assert.equal(
      reading.calls.map(({ reply }) => reply.usage?.output_tokens),
      [20, 6],
    );
    const [spawned] = reading.spawned;
    assert.equal([spawned?.thread_id, spawned?.tool_use_id], ['a9b2a396fff8564e8', 'toolu_fakeagent1']);
    assert.equal(reading.omitted, { 'queue-operation': 2 });
    assert.equal([reading.harness_version, reading.cwd], ['2.1.197', '/home/dev/project']);
  });
  test("a real agent's file: two calls, and its first words", () => {
    const reading = read(agent.records as unknown[], { main: false, agent_id: 'a9b2a396fff8564e8' });
    assert.is(reading.calls.length, 2);
    assert.equal(
      [reading.spawn?.prompt, reading.spawn?.label],
      ['SUBAGENT-TASK run echo and report', 'general-purpose'],
    );
  });
}
test.run();
