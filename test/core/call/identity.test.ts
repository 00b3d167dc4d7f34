/** Whose call it is: envelope before harness, field by field, and what real clients send. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { identityOf, sessionId } from '../../../core/call/identity.ts';
import { envelopeOf } from '../../../core/capture/envelope.ts';
import type { HeaderList } from '../../../core/model/headers.ts';
import { fixtureFolder } from '../../support/fixtures.ts';

const of = (headers: HeaderList, skeleton: Record<string, unknown> | null = null, project = '') =>
  identityOf({ headers, project }, skeleton);

const test = suite('identity');

test('a call that says nothing is nobody’s', () => {
  assert.equal(of([['user-agent', 'curl/8']], { model: 'm' }, 'configured'), {
    harness_id: 'unknown',
    harness_session_id: '',
    thread_id: '',
    parent_harness_session_id: null,
    parent_thread_id: '',
    harness_version: '',
    cwd: '',
    session_name: '',
    harness_metadata: null,
    agent_name: '',
    project: 'configured',
    auth_subject: '',
  });
});

test('a library that no harness signs for is named by its user-agent, with its version', () => {
  const agents: Record<string, [name: string, version: string]> = {
    'OpenAI/JS 6.49.0': ['openai-js', '6.49.0'],
    'AsyncOpenAI/Python 3.54.0': ['openai-python', '3.54.0'],
    'OpenAI/Python 3.54.0': ['openai-python', '3.54.0'],
    'AsyncAzureOpenAI/Python 3.54.0': ['openai-python', '3.54.0'],
    'Anthropic/JS 1.11.0': ['anthropic-js', '1.11.0'],
    'AsyncAnthropic/Python 2.12.0': ['anthropic-python', '2.12.0'],
    'Anthropic/Python 2.12.0': ['anthropic-python', '2.12.0'],
    'ollama-js/0.6.4 (x64 linux Node.js/v20.20.2)': ['ollama-js', '0.6.4'],
    'ollama-python/0.6.3 (x86_64 linux) Python/3.11.2': ['ollama-python', '0.6.3'],
    'ai/6.0.326 ai-sdk/openai/3.0.141 ai-sdk/provider-utils/4.0.66 runtime/node.js/20': ['ai-sdk', '6.0.326'],
    'ai-sdk/anthropic/3.0.1 ai-sdk/provider-utils/4.0.66 runtime/node.js/20': ['ai-sdk', '3.0.1'],
    'langchainjs-openai/1.5.8 (node)OpenAI/JS 6.49.0': ['langchain-js', '1.5.8'],
    'langchain-partner-python-azure-openai': ['langchain-python', ''],
    'litellm/1.109.1': ['litellm', '1.109.1'],
    'pydantic-ai/2.68.0': ['pydantic-ai', '2.68.0'],
    'my-openai/JS 6': ['', ''],
    'python-httpx/0.28.1': ['', ''],
  };
  for (const [agent, [name, version]] of Object.entries(agents)) {
    const { harness_id, agent_name, harness_version } = of([['User-Agent', agent]]);
    assert.equal([harness_id, agent_name, harness_version], ['unknown', name, version], agent);
  }
  assert.is(of([['user-agent', 'opencode/1.18.33 ai-sdk/provider-utils/4.0.23']]).agent_name, 'opencode');
});

test('the envelope outranks the harness, field by field', () => {
  const identity = of(
    [
      ['user-agent', 'claude-cli/2.1.197 (external, sdk-cli)'],
      ['x-claude-code-session-id', 'theirs'],
      ['x-svc-harness-session-id', 'mine'],
      ['x-svc-project', 'atlas'],
    ],
    null,
    'configured',
  );
  assert.is(identity.harness_id, 'claude');
  assert.is(identity.harness_session_id, 'mine');
  assert.is(identity.harness_version, '2.1.197');
  assert.is(identity.agent_name, 'claude');
  assert.is(identity.project, 'atlas');
});

test('a sub-agent of opencode names the session that it works for; the envelope outranks it, and nobody is his own parent', () => {
  const sent: HeaderList = [
    ['user-agent', 'opencode/1.18.33'],
    ['x-session-id', 'ses_child'],
    ['x-parent-session-id', 'ses_parent'],
  ];
  const parentOf = (headers: HeaderList) => of(headers).parent_harness_session_id;
  assert.is(parentOf(sent), 'ses_parent');
  assert.is(parentOf([...sent, ['x-svc-parent-harness-session-id', 'told']]), 'told');
  assert.is(parentOf([...sent.slice(0, 2), ['x-parent-session-id', 'ses_child']]), null);
  assert.is(parentOf(sent.slice(0, 2)), null);
});

test('Claude Code names its session in the body where it sends no header, in its two spellings', () => {
  const session = '0da8130a-6766-43e5-9b6b-c0dd0a747305';
  for (const user_id of [
    JSON.stringify({ device_id: 'd', session_id: session }),
    `user_ab12_account_x_session_${session}`,
  ]) {
    const identity = of([['user-agent', 'anything']], { metadata: { user_id } });
    assert.is(identity.harness_id, 'claude');
    assert.is(identity.harness_session_id, session);
  }
  for (const metadata of [
    null,
    'x',
    [],
    { user_id: 7 },
    { user_id: 'me' },
    { user_id: '{' },
    { user_id: '{"session_id":"\\u0000"}' },
  ]) {
    assert.is(of([], { metadata }).harness_id, 'unknown');
  }
});

test('a sub-agent of Codex is a thread of its session', () => {
  const identity = of([
    ['user-agent', 'codex_exec/0.169.0 (Debian 12.0.0; x86_64)'],
    ['session-id', 'root'],
    ['thread-id', 'child'],
    ['x-codex-parent-thread-id', 'root'],
    ['x-openai-subagent', 'collab_spawn'],
  ]);
  assert.is(identity.harness_session_id, 'root');
  assert.is(identity.thread_id, 'child');
  assert.is(identity.parent_thread_id, '', 'the root thread is the main one');
  assert.equal(identity.harness_metadata, { subagent: 'collab_spawn' });
  assert.is(of([['x-codex-turn-metadata', '{"session_id":"s","parent_thread_id":"p"}']]).parent_thread_id, 'p');
});

test('an envelope and a thread told otherwise than in headers count as those in headers do', () => {
  const headers: HeaderList = [
    ['x-svc-harness-session-id', 'mine'],
    ['x-svc-project', 'atlas'],
    ['x-claude-code-agent-id', 'sub'],
  ];
  const skeleton = { metadata: { user_id: '{"session_id":"theirs"}' } };
  const enveloped = { headers: [], project: 'configured', envelope: envelopeOf(headers), thread_id: 'sub' };
  assert.equal(identityOf(enveloped, skeleton), of(headers, skeleton, 'configured'));
  assert.is(
    identityOf(enveloped, skeleton).harness_id,
    'claude',
    'the body still speaks for what the envelope leaves out',
  );
});

test('an id too long for an index is known by its hash', () => {
  const identity = of([['x-svc-harness-session-id', 'x'.repeat(5_000)]]);
  assert.match(identity.harness_session_id, /^sha256:[0-9a-f]{64}$/);
});

test('session ids are the same in every process, for ever', () => {
  assert.is(sessionId('claude', 'a'), sessionId('claude', 'a'));
  assert.is.not(sessionId('claude', 'a'), sessionId('codex', 'a'));
  assert.is(sessionId('claude', 'a'), '3b747a3e-f223-5a30-a994-9ca6fc6e3c1e');
});

const folder = fixtureFolder('clients');
if (folder) {
  const sent = readdirSync(folder)
    .sort()
    .map((name) => {
      const call = JSON.parse(readFileSync(join(folder, name), 'utf8')) as {
        headers: Record<string, string>;
        body: unknown;
      };
      const body = typeof call.body === 'object' ? (call.body as Record<string, unknown> | null) : null;
      return { client: name.replace(/-\d+\.json$/, ''), ...of(Object.entries(call.headers), body) };
    });
  const sessions = (client: string) =>
    new Set(
      sent
        .filter((call) => call.client === client && call.harness_session_id)
        .map(({ harness_id, harness_session_id }) => `${harness_id} ${harness_session_id}`),
    );

  test('real clients: one session per run, sub-agents inside it', () => {
    for (const client of ['claude', 'claude-agent', 'codex', 'codex-agent', 'opencode']) {
      assert.is(sessions(client).size, 1, client);
      assert.ok([...sessions(client)][0]?.startsWith(`${client.split('-')[0]} `), client);
    }
    for (const client of ['claude-agent', 'codex-agent']) {
      const threads = new Set(sent.filter((call) => call.client === client).map(({ thread_id }) => thread_id));
      assert.is(threads.size, 2, `${client}: the main thread and a sub-agent`);
    }
    for (const client of ['pi', 'gemini', 'sdks']) assert.is(sessions(client).size, 0, client);
  });
}

test.run();
