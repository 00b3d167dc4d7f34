/** Is a message context that a harness put in, rather than conversation? (Reference section 4.4, 'Injected kinds'.) */
import type { Message } from '../model/bucket.ts';
import { trimmed } from './projection.ts';

const openings: readonly (readonly [opening: string, kind: string])[] = [
  ['# MCP Server Instructions', 'mcp-instructions'],
  ['The following skills are available', 'skills-list'],
  ['Plan mode is active', 'mode-banner'],
  ['Exited Plan Mode', 'mode-banner'],
  ['## Exited Plan Mode', 'mode-banner'],
  ['## Exit Plan Mode', 'mode-banner'],
  ['## Plan Mode', 'mode-banner'],
  ['[SYSTEM NOTIFICATION', 'mode-banner'],
  ['<user_claude_md>', 'claude-md'],
];

/**
 * The kind of injected context, such as `mcp-instructions`; '' for conversation. Only a message of the user or the system that
 * is text throughout and begins so counts: a prompt that mentions skills stays a prompt.
 */
export function injectedKind(message: Message): string {
  if (message.role !== 'user' && message.role !== 'system') return '';
  if (message.content.some((block) => block.type !== 'text')) return '';
  const text = trimmed(message.content.map((block) => block.text ?? '').join(''));
  return openings.find(([opening]) => text.startsWith(opening))?.[1] ?? '';
}
