/**
 * The prompt in a request of OpenAI Responses: tools, instructions, input. What the request continues by `previous_response_id` or on
 * its socket is not in it.
 */
import { fields, text } from './json.ts';
import { openaiPictureTokens } from './openai-pictures.ts';
import { blockPart, declaredTool, kindOfRole, pictureAt, textIn, wholeText } from './prompt-parts.ts';
import type { BlockPart, PromptShape } from './prompt-shape.ts';

export const openaiResponsesPrompt: PromptShape = {
  members: [
    { key: 'tools', section: 'tools', parts: declaredTool },
    { key: 'instructions', section: 'system', parts: (value) => wholeText(value, 'system', 'instructions') },
    { key: 'input', section: 'messages', parts: itemParts },
  ],
  parameters: {
    keyed: ['model', 'reasoning', 'text', 'prompt', 'prompt_cache_key', 'prompt_cache_retention'],
    others: [
      ...['tool_choice', 'parallel_tool_calls', 'max_output_tokens', 'temperature', 'top_p', 'truncation', 'store'],
      ...['include', 'service_tier', 'context_management', 'previous_response_id', 'conversation', 'stream'],
    ],
  },
  keyedHeaders: [],
  textPart: (words, role) => ({ type: role === 'assistant' ? 'output_text' : 'input_text', text: words }),
  marks: ['cache_control', 'prompt_cache_breakpoint'],
  holds: { fixed: false },
  pictureTokens: openaiPictureTokens,
};

function itemParts(raw: unknown): BlockPart[] {
  if (typeof raw === 'string') return wholeText(raw, 'user', 'user');
  const item = fields(raw);
  const type = text(item.type) || (item.role === undefined ? 'item_reference' : 'message');
  if (type === 'message') return messageParts(item);
  if (type === 'reasoning') {
    const words = textIn(item.summary) ?? textIn(item.content);
    return [blockPart([], 'assistant', 'thinking', words === null ? { name: type } : { text: words })];
  }
  if (type === 'additional_tools') return addedTools(item);
  if (type.endsWith('_call') || type === 'mcp_approval_request') {
    return [blockPart([], 'assistant', 'tool-call', { name: text(item.name) || type, call_id: text(item.call_id) })];
  }
  if (type.endsWith('_output') || type === 'mcp_approval_response') return [resultPart(item)];
  return [blockPart([], 'assistant', 'other', { name: type, text: textIn(item.content) })];
}

const addedTools = ({ tools }: Record<string, unknown>): BlockPart[] =>
  (Array.isArray(tools) ? tools : []).flatMap((tool, i) =>
    declaredTool(tool).map((part) => ({ ...part, at: ['tools', i], role: 'system' })),
  );

function messageParts(item: Record<string, unknown>): BlockPart[] {
  const role = text(item.role);
  if (role === 'tool') return [resultPart({ ...item, output: item.content })];
  return Array.isArray(item.content)
    ? item.content.map((part, i) => contentPart(part, role, ['content', i]))
    : wholeText(item.content, role, kindOfRole(role), ['content']);
}

function contentPart(raw: unknown, role: string, at: BlockPart['at']): BlockPart {
  const part = fields(raw);
  const picture = pictureIn(part);
  if (picture !== null) return blockPart(at, role, 'image', { name: 'image', pictures: [picture] });
  const words = typeof raw === 'string' ? raw : typeof part.refusal === 'string' ? part.refusal : textIn(part);
  if (words === null) return blockPart(at, role, 'other', { name: text(part.filename) || text(part.type) });
  return blockPart(at, role, kindOfRole(role), { text: words });
}

function resultPart(item: Record<string, unknown>): BlockPart {
  const output = item.output ?? item.result ?? item.tools;
  const pieces = Array.isArray(output) ? output : [output];
  const pictures = pieces.flatMap((piece) => pictureIn(fields(piece)) ?? []);
  return blockPart([], 'tool', 'tool-result', { text: textIn(output), call_id: text(item.call_id), pictures });
}

/** null: the part is no picture. */
const pictureIn = (part: Record<string, unknown>): string | null =>
  part.type === 'input_image' || part.type === 'computer_screenshot'
    ? (pictureAt(typeof part.image_url === 'string' ? part.image_url : fields(part.image_url).url) ?? '')
    : null;
