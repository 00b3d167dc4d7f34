/** Which thread of its session makes the call? The main one, or a sub-agent that names itself. */

import { type HeaderList, wordOf } from '../model/headers.ts';

/**
 * '' is the main thread. Claude Code names its sub-agents in a header of their own. Codex sends the pair `thread-id` and
 * `session-id` with every call: only where both stand and differ is it a sub-agent.
 */
export function threadOf(headers: HeaderList): string {
  const agent = wordOf(headers, 'x-claude-code-agent-id');
  if (agent) return agent;
  const [thread, session] = [wordOf(headers, 'thread-id'), wordOf(headers, 'session-id')];
  return thread && session && thread !== session ? thread : '';
}
