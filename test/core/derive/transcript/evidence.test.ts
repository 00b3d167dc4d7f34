/** Whose word counts about where a thread comes from? (Reference section 4.7.) */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { noEvidence } from '../../../../core/derive/evidence.ts';
import {
  changedPrompts,
  changedThreads,
  evidenceFrom,
  evidenceIn,
  evidenceText,
  type ThreadFile,
} from '../../../../core/derive/transcript/evidence.ts';
import { readClaudeTranscript } from '../../../../core/harness/claude-transcript.ts';
import { readCodexTranscript } from '../../../../core/harness/codex-transcript.ts';
import type { TranscriptReading } from '../../../../core/harness/harness.ts';
import {
  claudeChat,
  event,
  line,
  resulted,
  transcriptFile,
  userItem,
  userRecord,
} from '../../../support/transcript-records.ts';

const test = suite('transcript evidence');

const file = (thread_id: string, reading: TranscriptReading, rest: Partial<ThreadFile> = {}): ThreadFile => ({
  ...{ reading, thread_id, agent_type: '', description: '', tool_use_id: '' },
  ...rest,
});
const main = (records: unknown[]) => file('', readClaudeTranscript(transcriptFile(records)));
const agent = (id: string, records: unknown[], rest: Partial<ThreadFile> = {}) =>
  file(id, readClaudeTranscript(transcriptFile(records, { main: false, agent_id: id })), rest);
const spawnResult = (agentId: string, tool: string) =>
  userRecord(['', `r-${agentId}`], 5, [resulted(tool)], {
    toolUseResult: { agentId, agentType: 'Explore', prompt: `Go, ${agentId}` },
  });

test('what the upload says of a thread goes before what other files say', () => {
  const parent = main([spawnResult('a1', 'toolu_main'), spawnResult('a2', 'toolu_2')]);
  const { anchors } = evidenceIn([
    parent,
    agent('a1', claudeChat(1), { tool_use_id: 'toolu_upload', agent_type: 'Plan', description: 'Look' }),
  ]);
  assert.equal(anchors.get('a1'), {
    thread_id: 'a1',
    tool_use_id: 'toolu_upload',
    path: '',
    label: 'Plan',
    description: 'Look',
  });
  assert.equal(anchors.get('a2'), {
    thread_id: 'a2',
    tool_use_id: 'toolu_2',
    path: '',
    label: 'Explore',
    description: '',
  });
});

test('a nickname goes before the kind of agent, and that before the end of the path; the path describes', () => {
  const rollout = (spawn: object) =>
    readCodexTranscript(
      transcriptFile([line('session_meta', 0, { source: { subagent: { thread_spawn: spawn } } }), userItem(1, 'Go')], {
        main: false,
      }),
    );
  const label = (spawn: object, rest = {}) => evidenceIn([file('t', rollout(spawn), rest)]).anchors.get('t')?.label;
  const spawn = { agent_nickname: 'Leibniz', agent_path: '/root/reviewer' };
  assert.is(label(spawn, { agent_type: 'review' }), 'Leibniz');
  assert.is(label({ agent_path: '/root/reviewer' }, { agent_type: 'review' }), 'review');
  assert.is(label({ agent_path: '/root/reviewer' }), 'reviewer');
  assert.is(evidenceIn([file('t', rollout(spawn))]).anchors.get('t')?.description, '/root/reviewer');
});

test('first words name their thread, unless two threads were given them', () => {
  const { prompts } = evidenceIn([
    agent('a1', [userRecord(['', 'u'], 0, 'Same words')]),
    agent('a2', [userRecord(['', 'u'], 0, 'Same  words')]),
    agent('a3', [userRecord(['', 'u'], 0, '<system-reminder>x</system-reminder>Other\nwords')]),
  ]);
  assert.equal([...prompts], [['Other words', 'a3']]);
});

test('the title is that of the main file', () => {
  const title = { type: 'ai-title', aiTitle: 'T'.repeat(300) };
  assert.is(evidenceIn([main([title]), agent('a', [{ ...title, aiTitle: 'Other' }])]).title, 'T'.repeat(255));
  assert.is(evidenceIn([agent('a', [title])]).title, null);
});

test('a start names the thread that it starts; a later note says no more', () => {
  const note = (event_id: string) =>
    event(1, 'sub_agent_activity', { kind: 'started', event_id, agent_thread_id: 't', agent_path: '/root/x' });
  const { anchors } = evidenceIn([file('', readCodexTranscript(transcriptFile([note('call_1'), note('call_2')])))]);
  assert.equal(anchors.get('t')?.tool_use_id, 'call_1');
});

test('evidence is kept as JSON and comes back the same; what differs is told by thread', () => {
  const one = evidenceIn([main([spawnResult('a1', 'toolu_1')]), agent('a2', claudeChat(1))]);
  const back = evidenceFrom(JSON.parse(JSON.stringify(evidenceText(one))));
  assert.equal(back, one);
  assert.equal([changedThreads(one, back), changedPrompts(one, back)], [[], []]);
  assert.equal(changedThreads(noEvidence, one).sort(), ['a1', 'a2']);
  assert.equal(changedPrompts(one, noEvidence).sort(), ['a1', 'a2']);
  const other = evidenceIn([main([spawnResult('a1', 'toolu_9')]), agent('a2', claudeChat(1))]);
  assert.equal([changedThreads(one, other), changedPrompts(one, other)], [['a1'], []]);
});
test.run();
