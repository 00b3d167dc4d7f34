/** Which calls Codex and opencode make beside the conversation, and what they tell of threads. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { callPurpose, harnessOf, threadIn, titleIn } from '../../../core/harness/harnesses.ts';
import type { HeaderList } from '../../../core/model/headers.ts';
import { callTraits, message } from '../../support/call-traits.ts';

const test = suite('calls of Codex and opencode');

const CHECKPOINT =
  'You are performing a CONTEXT CHECKPOINT COMPACTION. Create a handoff summary for another LLM that will resume the task.';

const kindOf = (harness_id: string, words: string) =>
  callPurpose(callTraits({ harness_id, messages: [message('user', 'hi'), message('user', words)] })).kind;

test('Codex: a checkpoint or a handoff summary is a compaction', () => {
  assert.is(kindOf('codex', CHECKPOINT), 'offshoot:compaction');
  assert.is(kindOf('codex', 'Now create a handoff summary for another LLM.'), 'offshoot:compaction');
  assert.is(kindOf('codex', 'hello'), 'main');
});

test('Codex: a call before anybody has spoken, to which nothing is answered, warms up a socket', () => {
  const of = (answers: string | [], ...texts: string[]) =>
    callPurpose(callTraits({ harness_id: 'codex', messages: texts.map((words) => message('user', words)), answers }))
      .kind;
  assert.is(of([]), 'offshoot:probe');
  assert.is(of([], '<environment_context>\n  <cwd>/home/ada</cwd>\n</environment_context>'), 'offshoot:probe');
  assert.is(of([], 'say hello'), 'main', 'an empty answer to a person is an answer');
  assert.is(of('Hello'), 'main');
});

test('Codex: where nobody says which harness calls, only its own words count; another harness never says them', () => {
  assert.is(kindOf('unknown', CHECKPOINT), 'offshoot:compaction');
  assert.is(kindOf('unknown', 'What does "context checkpoint compaction" mean?'), 'main');
  for (const harness_id of ['claude', 'opencode', 'pi']) assert.is(kindOf(harness_id, CHECKPOINT), 'main');
});

test('opencode: a title generator and a summarizer speak for themselves', () => {
  const of = (system: string, harness_id = 'opencode', tool_count = 0) =>
    callPurpose(callTraits({ harness_id, system, tool_count })).kind;
  const TITLE = 'You are a title generator. You output ONLY a thread title.';
  assert.is(of(TITLE), 'offshoot:title-gen');
  assert.is(of('You are an anchored context summarization assistant for coding sessions.'), 'offshoot:compaction');
  assert.is(of('You are opencode'), 'main');
  assert.is(of(TITLE, 'opencode', 3), 'main');
  assert.is(of(TITLE, 'unknown'), 'main');
  assert.is(titleIn('opencode', [{ type: 'text', text: '\nGreeting\nand more' }]), 'Greeting');
});

const codexTurn = (turn: unknown): HeaderList => [
  ['user-agent', 'codex_exec/0.169.0'],
  ['x-codex-turn-metadata', JSON.stringify(turn)],
];

test('Codex: what its turn’s metadata tells of the thread is kept, and nothing that changes from turn to turn', () => {
  const turn = { agent_name: '/root/reviewer', subagent_kind: 'thread_spawn', turn_id: 't', window_number: 0 };
  const metadata = harnessOf(codexTurn(turn), null)?.harness_metadata ?? null;
  assert.equal(metadata, { agent_path: '/root/reviewer', subagent_kind: 'thread_spawn' });
  assert.equal(threadIn('codex', metadata), { path: '/root/reviewer', label: 'reviewer' });
  assert.is(harnessOf(codexTurn({ agent_name: '/root' }), null)?.harness_metadata, null, 'the main thread');
});

test('Codex: an envelope tells the spawn as an object or as its JSON', () => {
  const source = { subagent: { thread_spawn: { agent_path: '/root/a/b', agent_nickname: 'Volta', agent_role: null } } };
  for (const origin of [source, JSON.stringify(source)])
    assert.equal(threadIn('codex', { source: origin }), { path: '/root/a/b', label: 'Volta' });
  const nameless = { subagent: { thread_spawn: { agent_path: null, agent_nickname: null, agent_role: 'scout' } } };
  assert.equal(threadIn('codex', { source: nameless }), { path: '', label: 'scout' });
  for (const none of [null, {}, { source: 'exec' }, { source: '{' }, { source: { subagent: 7 } }])
    assert.equal(threadIn('codex', none), { path: '', label: '' });
});

test.run();
