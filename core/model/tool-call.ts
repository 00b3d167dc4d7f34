/** The calls of tools within a message, in one form. A block keeps the form in which it is hashed; only what reads it sees this one. */
import type { ContentBlock } from './content-block.ts';

/**
 * The call in a block; null: it is none. A call of Anthropic's MCP connector is held whole, as the provider has it; its tool is named as
 * clients name tools of MCP servers, `mcp__<server>__<tool>`, and it ran at the provider.
 */
export function toolCallIn(block: ContentBlock): ContentBlock | null {
  if (block.type === 'tool_use' || block.type === 'server_tool_use') return block;
  if (block.type !== 'mcp_tool_use' || typeof block.content !== 'object' || block.content === null) return null;
  const { id, name, server_name, input } = block.content as Record<string, unknown>;
  const tool_name = text(server_name) === '' ? text(name) : `mcp__${text(server_name)}__${text(name)}`;
  return { type: 'server_tool_use', tool_use_id: text(id), tool_name, tool_input: input ?? {} };
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
