/** Codex: the signs by which it is recognised, its context, its calls beside the conversation, its tools. */
import type { CallKind } from '../model/call-kind.ts';
import type { ContentBlock } from '../model/content-block.ts';
import { type HeaderList, wordOf } from '../model/headers.ts';
import { fields, isFields, parsed, text } from '../provider/json.ts';
import { readCodexTranscript } from './codex-transcript.ts';
import type { CallTraits, Harness, HarnessSigns, SpawnRequest, Surroundings, Task } from './harness.ts';
import { resultText, wordsOf } from './message-text.ts';
import { plainHarness } from './plain-harness.ts';
import { idOf, noSigns, objectIn } from './signs.ts';
import { between } from './surroundings.ts';
import { wholeList } from './tasks.ts';

export const codex: Harness = {
  ...plainHarness, // none of its calls judges a command of another
  id: 'codex',
  start: { name: 'Codex', line: (proxy) => `codex -c model_provider=svc -c '${modelProvider(proxy)}'` },
  sessionHeaders: ['session-id'],
  changingHeaders: ['x-codex-turn-metadata', 'x-codex-window-id'],
  signs,
  threadOf,
  // its context comes first and is repeated unchanged, so it may be part of the conversation's chain; it just is no prompt
  unhashedTags: ['environment_context'],
  wrappers: [
    'environment_context',
    'user_instructions',
    'skills_instructions',
    'permissions',
    'multi_agent_mode',
    'recommended_plugins',
    'subagent_notification',
    'turn_aborted',
    'user_shell_command',
  ],
  preamble: /^\[@[^\]\n]*\]\(plugin:\/\/[^)\n]*\)/, // the plugin that a person chose
  speaks: (words) => speeches.some((opening) => words.startsWith(opening)),
  callKind,
  shells: ['exec', 'exec_command', 'shell', 'shell_command', 'local_shell'],
  spawn,
  spawned,
  thread,
  surroundings,
  tasksAfter,
  readTranscript: readCodexTranscript,
};

const modelProvider = (proxy: string) =>
  `model_providers.svc={name="svc",base_url="${proxy}/openai/v1",wire_api="responses",env_key="OPENAI_API_KEY"}`;

const speeches = [
  '# AGENTS.md instructions', // "… for <folder>", and the file in <INSTRUCTIONS>
  '<skill>\n<name>',
  'Another language model started to solve this problem and produced a summary', // of a compaction
];

/** `session-id` is the conversation, sub-agents included; `thread-id` the thread. `x-codex-turn-metadata` repeats both. */
function signs(headers: HeaderList): HarnessSigns | null {
  const harness_version = /^codex[\w-]*\/(\S+)/i.exec(wordOf(headers, 'user-agent'))?.[1] ?? '';
  const turn = objectIn(wordOf(headers, 'x-codex-turn-metadata'));
  const pair = wordOf(headers, 'session-id') && wordOf(headers, 'thread-id');
  if (!harness_version && !isFields(turn) && !pair) return null;
  const turnMetadata = fields(turn);
  const harness_session_id =
    wordOf(headers, 'session-id') || idOf(turnMetadata.session_id) || wordOf(headers, 'session_id');
  const parent = wordOf(headers, 'x-codex-parent-thread-id') || idOf(turnMetadata.parent_thread_id);
  const metadata = {
    originator: wordOf(headers, 'originator'),
    subagent: wordOf(headers, 'x-openai-subagent'),
    ...threadFields(turnMetadata),
  };
  const known = Object.entries(metadata).filter(([, value]) => value !== '');
  return {
    ...noSigns,
    harness_id: 'codex',
    harness_session_id,
    harness_version,
    parent_thread_id: parent === harness_session_id ? '' : parent, // a root thread has its session's id
    harness_metadata: known.length > 0 ? Object.fromEntries(known) : null,
  };
}

/** What identifies a thread in the turn's metadata. It is the same for all calls of the thread; `/root` is the main one. */
const threadFields = (turn: Record<string, unknown>) => ({
  agent_path: pathOf(turn.agent_path) || pathOf(turn.agent_name),
  agent_nickname: idOf(turn.agent_nickname),
  agent_role: idOf(turn.agent_role),
  subagent_kind: idOf(turn.subagent_kind),
});

const pathOf = (value: unknown): string => (idOf(value).startsWith('/root/') ? idOf(value) : '');

/** The pair `thread-id` and `session-id` comes with every call: only where both are present and differ is it a sub-agent's. */
function threadOf(headers: HeaderList): string {
  const [thread, session] = [wordOf(headers, 'thread-id'), wordOf(headers, 'session-id')];
  return thread && session && thread !== session ? thread : '';
}

/**
 * `source.subagent.thread_spawn`, as a capture's envelope or a rollout has it, `source` being an object or its JSON; else what `signs`
 * has found.
 */
function thread(metadata: Record<string, unknown> | null): { path: string; label: string } {
  const source = metadata?.source;
  const origin = fields(typeof source === 'string' ? objectIn(source) : source);
  const spawned = fields(fields(origin.subagent).thread_spawn);
  const member = (key: string) => text(spawned[key]) || text(metadata?.[key]);
  const path = pathOf(member('agent_path'));
  return { path, label: member('agent_nickname') || member('agent_role') || (path.split('/').at(-1) ?? '') };
}

/**
 * | the call | kind |
 * | --- | --- |
 * | its last message asks for a context checkpoint compaction, or for a handoff summary for another LLM | compaction |
 * | no person has written anything yet, and the whole answer is empty: a socket that is warmed up | probe |
 *
 * When the harness is unknown, the message has to begin with the harness's own words.
 */
function callKind(call: CallTraits): CallKind | null {
  if (call.harness_id !== 'codex' && call.harness_id !== 'unknown') return null;
  if (call.harness_id === 'codex' && isWarmUp(call)) return 'offshoot:probe';
  const prompt = wordsOf(call.last()).toLowerCase();
  const isCompaction =
    call.harness_id === 'unknown'
      ? prompt.startsWith('you are performing a context checkpoint compaction')
      : prompt.includes('context checkpoint compaction') || prompt.includes('create a handoff summary for another llm');
  return isCompaction ? 'offshoot:compaction' : null;
}

const isWarmUp = ({ last, reply }: CallTraits) =>
  reply?.complete === true &&
  reply.error === null &&
  reply.content.length === 0 &&
  /^(?:<environment_context>|$)/.test(wordsOf(last()));

/** `spawn_agent`, in any namespace. Its prompt may be encrypted, and is then left out. */
function spawn({ tool_name, tool_input }: { tool_name: string; tool_input: unknown }): SpawnRequest | null {
  if (!/(?:^|[._])spawn_agent$/.test(tool_name)) return null;
  const { message, items, task_name, agent_type } = fields(tool_input);
  const prompt = text(message) || (Array.isArray(items) ? items.map((item) => text(fields(item).text)).join('\n') : '');
  return { prompt: SEALED.test(prompt) ? '' : prompt, label: text(task_name) || text(agent_type), description: '' };
}

const SEALED = /^gAAAA[\w-]{40}[\w-]*=*$/;

/** `{agent_id, nickname}`, or `{task_name}` with the path of the new agent. */
function spawned(result: ContentBlock): string[] {
  const output = fields(parsed(resultText(result)));
  return [text(output.agent_id), text(output.task_name)].filter((name) => name !== '');
}

/** `update_plan` writes the whole plan. */
function tasksAfter(
  tasks: readonly Task[],
  { tool_name, tool_input }: { tool_name: string; tool_input: unknown },
  result: ContentBlock,
): Task[] | null {
  if (tool_name !== 'update_plan') return null;
  return (result.is_error ? null : wholeList(fields(tool_input).plan, 'step')) ?? [...tasks];
}

/** Codex sends its working directory before the first prompt, and again before a later one when it has changed. */
function surroundings({ first, last }: CallTraits): Surroundings | null {
  const context = [last(1), first()].map(wordsOf).find(isContext);
  if (context === undefined) return null;
  const cwd = between(context, '<cwd>', '</cwd>', context.indexOf('<environment_context>'));
  return cwd === '' ? null : { cwd: unescaped(cwd), git_branch: '', agent_name: 'codex' };
}

/** The folder's own instructions may precede the context in the same message. */
const isContext = (words: string): boolean =>
  words.startsWith('<environment_context>') ||
  (/^(?:# AGENTS\.md instructions|<user_instructions>)/.test(words) && words.includes('<environment_context>'));

const unescaped = (xml: string): string => xml.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
