/** The table of Claude Code's calls, row by row, and what must not be taken for one of them. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { callPurpose, titleIn, verdictIn } from '../../../core/harness/harnesses.ts';
import { callTraits, message } from '../../support/call-traits.ts';

const test = suite('Claude Code’s calls');

type Like = Parameters<typeof callTraits>[0];
const kindOf = (call: Like) => callPurpose(callTraits(call)).kind;
const judgedIn = (call: Like) => callPurpose(callTraits({ system: MONITOR, ...call })).judged;
const user = (...texts: string[]) => message('user', ...texts);

const MONITOR =
  'You are a security monitor for autonomous coding agents. Answer <block>yes</block> or <block>no</block>.';
const QUICK = 'Err on the side of blocking. <block> immediately.';
const TITLE = 'Return JSON with a single "title" field: {"title": "Fix login button on mobile"}';
const COMPACT = 'Your task is to create a detailed summary of the conversation so far, paying close attention to …';
const SUMMARY =
  '<summary>\n1. Primary Request and Intent:\n   A parser.\n\n2. Key Technical Concepts:\n   - Tokens\n</summary>';

test('permission check, stage 1: a security monitor with at most 64 tokens, or one that errs on the side of blocking', () => {
  assert.is(kindOf({ system: MONITOR, max_tokens: 64, tool_count: 0 }), 'offshoot:permission-check:stage1');
  assert.is(
    kindOf({ system: MONITOR.toUpperCase(), max_tokens: 256, messages: [user('<transcript>', QUICK)] }),
    'offshoot:permission-check:stage1',
  );
});

test('permission check, stage 2: a security monitor with room to think', () => {
  assert.is(kindOf({ system: MONITOR, max_tokens: 4096 }), 'offshoot:permission-check:stage2');
  assert.is(kindOf({ system: MONITOR, max_tokens: null }), 'offshoot:permission-check:stage2');
});

test('probe: one token and no tools, whoever asks', () => {
  for (const harness_id of ['claude', 'codex', 'opencode', 'unknown', 'pi'])
    assert.is(kindOf({ harness_id, max_tokens: 1, tool_count: 0, messages: [user('quota')] }), 'offshoot:probe');
  assert.is(kindOf({ max_tokens: 1, tool_count: 3 }), 'main');
});

test('suggestion: the last message begins with its mark', () => {
  const asks = user('  [SUGGESTION MODE: Suggest what the user might type next]');
  assert.is(kindOf({ messages: [user('hi'), message('assistant', 'yes'), asks] }), 'offshoot:suggestion');
  assert.is(kindOf({ messages: [user('What is [SUGGESTION MODE] in this log?')] }), 'main');
});

test('title: no tools, and its system shows the JSON', () => {
  assert.is(kindOf({ system: TITLE, tool_count: 0 }), 'offshoot:title-gen');
  assert.is(kindOf({ system: TITLE }), 'main', 'a call with tools is the conversation');
});

test('plan name: no tools, and the conversation in a tag', () => {
  assert.is(kindOf({ system: 'Name the plan in <conversation>', tool_count: 0 }), 'offshoot:plan-name-gen');
  assert.is(
    kindOf({ messages: [user('<conversation>\nthe plan\n</conversation>')], tool_count: 0 }),
    'offshoot:plan-name-gen',
  );
  assert.is(kindOf({ messages: [user('<conversation>')] }), 'main');
});

test('title and plan name by their answer, if it is that and nothing else', () => {
  const request = { tool_count: 0, messages: [user('…')] };
  assert.is(kindOf({ ...request, answers: '{"title": "Fix the parser"}' }), 'offshoot:title-gen');
  assert.is(kindOf({ ...request, answers: '{"title": "Fix the par' }), 'offshoot:title-gen', 'torn');
  assert.is(kindOf({ ...request, answers: '\n{ "name": "parser-plan" }' }), 'offshoot:plan-name-gen');
  assert.is(kindOf({ ...request, answers: '{"name": "Ada", "born": 1815}' }), 'main');
  assert.is(kindOf({ answers: '{"title": "Fix the parser"}' }), 'main', 'streamed with tools');
});

test('web summary: a fetched page, or a search with the provider’s own tool', () => {
  const page = [user('Web page content:\n---\n# Rust')];
  const search = [user('Perform a web search for the query: rust')];
  assert.is(kindOf({ messages: page, tool_count: 0 }), 'offshoot:web-summary');
  assert.is(kindOf({ messages: search, tool_count: 1 }), 'offshoot:web-summary');
  assert.is(kindOf({ messages: page }), 'main');
  assert.is(kindOf({ messages: search }), 'main');
});

test('compaction: the last message asks for it, with tools and streamed too', () => {
  assert.is(kindOf({ messages: [user('hi'), user(COMPACT)] }), 'offshoot:compaction');
  assert.is(kindOf({ messages: [user('Can you give me a summary of the conversation so far?')] }), 'main');
  assert.is(kindOf({ messages: [user(COMPACT), message('assistant', SUMMARY), user('go on')] }), 'main');
});

test('compaction: the answer has the headings of a summary', () => {
  assert.is(kindOf({ answers: SUMMARY }), 'offshoot:compaction');
  assert.is(kindOf({ answers: '## Primary Request and Intent\n…\n## Pending Tasks\n…' }), 'offshoot:compaction');
  assert.is(kindOf({ answers: '1. Primary Request and Intent: a parser' }), 'main', 'one heading is a quotation');
  assert.is(kindOf({ answers: 'It looks for "Primary Request and Intent" and "Current Work"' }), 'main');
});

test('what goes on from a summary is the conversation, though it quotes the call that made it', () => {
  const continued = `This session is being continued from a previous conversation.\n${SUMMARY}\n6. All user messages:\n- ${COMPACT}`;
  assert.is(kindOf({ messages: [user(continued)] }), 'main');
});

test('the first row that holds decides', () => {
  assert.is(kindOf({ system: MONITOR, max_tokens: 1, tool_count: 0 }), 'offshoot:permission-check:stage1');
  assert.is(kindOf({ system: TITLE, max_tokens: 1, tool_count: 0 }), 'offshoot:probe');
  assert.is(kindOf({ system: TITLE, tool_count: 0, messages: [user(COMPACT)] }), 'offshoot:title-gen');
});

test('what is not recognised is main, streamed or not, with tools or without', () => {
  for (const stream of [true, false])
    for (const tool_count of [0, 24])
      for (const answers of ['Hello', '', null])
        assert.is(kindOf({ stream, tool_count, answers, messages: [user('hi')] }), 'main');
});

test('where nobody says which harness calls, only what no application says counts', () => {
  const harness_id = 'unknown';
  assert.is(kindOf({ harness_id, system: MONITOR, max_tokens: 64 }), 'offshoot:permission-check:stage1');
  assert.is(kindOf({ harness_id, messages: [user('[SUGGESTION MODE: …]')] }), 'offshoot:suggestion');
  assert.is(kindOf({ harness_id, answers: SUMMARY }), 'offshoot:compaction');
  const plain: Like[] = [
    { system: 'You are a security monitor analyzing logs. Answer in JSON.', max_tokens: 64 },
    { system: TITLE, tool_count: 0 },
    { tool_count: 0, answers: '{"title": "A book"}' },
    { tool_count: 0, answers: '{"name": "Ada"}' },
    { tool_count: 0, messages: [user('<conversation>\nSummarise this')] },
    { tool_count: 0, messages: [user('Web page content: …')] },
    { tool_count: 0, messages: [user('Perform a web search for …')] },
    { messages: [user(COMPACT)] },
  ];
  for (const call of plain) assert.is(kindOf({ harness_id, ...call }), 'main');
});

test('another harness makes none of these calls', () => {
  for (const harness_id of ['codex', 'opencode', 'pi']) {
    assert.is(kindOf({ harness_id, system: MONITOR }), 'main');
    assert.is(kindOf({ harness_id, messages: [user('[SUGGESTION MODE: …]')] }), 'main');
    assert.is(kindOf({ harness_id, answers: SUMMARY }), 'main');
  }
});

test('what a check judges is the entry before the transcript’s end', () => {
  const entries = ['<transcript>\n', 'User: clean up\n', 'Bash $ rm -rf "build"\n  && ls\n', '</transcript>\n', QUICK];
  assert.is(judgedIn({ messages: [user(...entries)] }), 'bash rm -rf build && ls');
  assert.is(judgedIn({ messages: entries.map((entry) => user(entry)) }), 'bash rm -rf build && ls', 'as messages');
  assert.is(judgedIn({ messages: [user('$ git push'), user('</transcript>', QUICK)] }), 'git push');
  const json = `${JSON.stringify({ Bash: 'echo "a"\nexit' })}\n`;
  assert.is(judgedIn({ messages: [user('<transcript>', json, '</transcript>')] }), 'bash echo a exit');
});

test('of a transcript in one piece, it is the last entry that looks like a tool’s, else the last line', () => {
  const whole = (...lines: string[]) => [user(`<transcript>\n${lines.join('\n')}\n</transcript>\n${QUICK}`)];
  assert.is(
    judgedIn({ messages: whole('Read a.ts', 'User: now run it', 'Bash node a.ts', 'echo ok') }),
    'bash node a.ts echo ok',
  );
  assert.is(judgedIn({ messages: whole('User: push', 'git push') }), 'git push');
  assert.is(judgedIn({ messages: whole('mcp__linear__create {"a":1}') }), 'mcp__linear__create {a:1}');
});

test('a check that shows nothing judges nothing, and no other call judges', () => {
  assert.is(judgedIn({ messages: [user('?')] }), '');
  assert.is(judgedIn({ messages: [] }), '');
  const shown = [user('<transcript>', 'Bash ls', '</transcript>')];
  assert.equal(callPurpose(callTraits({ messages: shown })), { kind: 'main', judged: '' });
});

test('a verdict blocks or allows, and says whether it was reasoned', () => {
  const verdict = (stage: 1 | 2, text: string) =>
    verdictIn('claude', `offshoot:permission-check:stage${stage}`, [{ type: 'text', text }]);
  assert.equal(verdict(1, '<block>yes'), { disposition: 'BLOCK', stage: 1, reasoned: false });
  assert.equal(verdict(1, '<block>no</block>'), { disposition: 'ALLOW', stage: 1, reasoned: false });
  assert.equal(verdict(2, '<thinking>is it <block>yes</block>?</thinking>\n<block>no</block>'), {
    disposition: 'ALLOW',
    stage: 2,
    reasoned: true,
  });
  assert.equal(verdict(2, '<block>yes</block><reason>no</reason>')?.stage, 2);
  assert.is(verdict(2, '<thinking>perhaps <block>yes'), null, 'cut off');
  assert.is(verdict(1, 'I would block that'), null);
});

test('a title is taken out of its JSON', () => {
  const title = (text: string) => titleIn('claude', [{ type: 'text', text }]);
  assert.is(title('{"title": " Fix the parser "}'), 'Fix the parser');
  assert.is(title('```json\n{"title":"A"}\n```'), 'A');
  for (const none of ['{"title": 7}', '{"title"', 'Fix the parser', '']) assert.is(title(none), '');
});

test.run();
