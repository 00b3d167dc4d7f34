/** Which agent harness is calling, and what does it tell of itself? Seen in what real clients send. */

import { type HeaderList, wordOf } from '../model/headers.ts';

/** '' or null: not told. */
export type HarnessSigns = {
  harness_id: string;
  harness_session_id: string;
  harness_version: string;
  parent_thread_id: string;
  harness_metadata: Record<string, unknown> | null;
};

/** null: no harness that we know. @param skeleton the parsed body with its cut arrays empty; null when it cannot be read */
export function harnessOf(headers: HeaderList, skeleton: Record<string, unknown> | null): HarnessSigns | null {
  const agent = wordOf(headers, 'user-agent');
  return claudeCode(headers, agent, skeleton) ?? codex(headers, agent) ?? opencode(headers, agent);
}

/** Claude Code: a header, else `session_id` in the body's `metadata.user_id`, which is JSON text or, before, words joined by `_`. */
function claudeCode(headers: HeaderList, agent: string, skeleton: Record<string, unknown> | null): HarnessSigns | null {
  const named = wordOf(headers, 'x-claude-code-session-id');
  const harness_version = versionIn(agent, 'claude-cli');
  const inBody = named ? '' : sessionInUserId(memberOf(skeleton?.metadata, 'user_id'));
  if (!named && !inBody && !harness_version) return null;
  return { ...nothing, harness_id: 'claude', harness_session_id: named || inBody, harness_version };
}

function sessionInUserId(userId: unknown): string {
  if (typeof userId !== 'string') return '';
  const old = /_session_([0-9a-f-]{36})$/i.exec(userId)?.[1];
  return old ?? idOf(memberOf(objectIn(userId), 'session_id'));
}

/** Codex: `session-id` is the conversation, sub-agents included; `thread-id` the thread. `x-codex-turn-metadata` repeats both. */
function codex(headers: HeaderList, agent: string): HarnessSigns | null {
  const harness_version = /^codex[\w-]*\/(\S+)/i.exec(agent)?.[1] ?? '';
  const told = objectIn(wordOf(headers, 'x-codex-turn-metadata'));
  const pair = wordOf(headers, 'session-id') && wordOf(headers, 'thread-id');
  if (!harness_version && !told && !pair) return null;
  const harness_session_id =
    wordOf(headers, 'session-id') || idOf(memberOf(told, 'session_id')) || wordOf(headers, 'session_id');
  const parent = wordOf(headers, 'x-codex-parent-thread-id') || idOf(memberOf(told, 'parent_thread_id'));
  const subagent = wordOf(headers, 'x-openai-subagent');
  const originator = wordOf(headers, 'originator');
  const metadata = { ...(originator && { originator }), ...(subagent && { subagent }) };
  return {
    harness_id: 'codex',
    harness_session_id,
    harness_version,
    parent_thread_id: parent === harness_session_id ? '' : parent, // a root thread has its session's id
    harness_metadata: Object.keys(metadata).length > 0 ? metadata : null,
  };
}

function opencode(headers: HeaderList, agent: string): HarnessSigns | null {
  const harness_version = versionIn(agent, 'opencode');
  if (!harness_version) return null;
  return { ...nothing, harness_id: 'opencode', harness_session_id: wordOf(headers, 'x-session-id'), harness_version };
}

const nothing = { harness_session_id: '', harness_version: '', parent_thread_id: '', harness_metadata: null };

const versionIn = (agent: string, product: string) =>
  agent.startsWith(`${product}/`) ? (agent.slice(product.length + 1).split(/[\s(]/)[0] ?? '') : '';

const memberOf = (value: unknown, key: string): unknown =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined;

function objectIn(text: string): unknown {
  try {
    return text.startsWith('{') ? JSON.parse(text) : null;
  } catch {
    return null;
  }
}

/** An id out of a body: printable and short, or nothing. */
const idOf = (value: unknown): string => (typeof value === 'string' && /^[\x21-\x7e]{1,256}$/.test(value) ? value : '');
