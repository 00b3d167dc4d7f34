/**
 * The prompt in a request of Anthropic Messages: tools, system, messages, in this order, as its cache has them.
 * https://docs.claude.com/en/docs/build-with-claude/prompt-caching
 */
import { fields, isFields, text } from './json.ts';
import { blockPart, declaredTool, kindOfRole, textIn, wholeText } from './prompt-parts.ts';
import type { BlockPart, PictureSize, PromptShape } from './prompt-shape.ts';

export const anthropicPrompt: PromptShape = {
  members: [
    { key: 'tools', section: 'tools', parts: declaredTool },
    { key: 'system', section: 'system', parts: (value) => wholeText(value, 'system', 'instructions') },
    { key: 'messages', section: 'messages', parts: messageParts },
  ],
  // what its table of "what invalidates the cache" names; an `mcp_servers` adds tools, a `container` skills
  parameters: {
    keyed: [
      ...['model', 'thinking', 'tool_choice', 'speed', 'output_config', 'output_format'],
      ...['cache_control', 'context_management', 'mcp_servers', 'container'],
    ],
    others: [
      'max_tokens',
      'temperature',
      'top_p',
      'top_k',
      'stop_sequences',
      'service_tier',
      'inference_geo',
      'stream',
      'thread',
    ],
  },
  keyedHeaders: ['anthropic-beta'],
  textPart: (words) => ({ type: 'text', text: words }),
  marks: ['cache_control'],
  holds: { fixed: true, onlyWith: 'thread' },
  pictureTokens,
};

/** https://docs.claude.com/en/docs/build-with-claude/vision: at most 1568 pixels long and 1.15 megapixels large, then a token for 750 pixels. */
function pictureTokens({ width, height }: PictureSize): number {
  const shrunk = Math.min(1, 1568 / Math.max(width, height));
  return Math.ceil(Math.min(width * height * shrunk * shrunk, 1_150_000) / 750);
}

function messageParts(message: unknown): BlockPart[] {
  const { role: named, content } = fields(message);
  const role = text(named);
  if (typeof content === 'string') return wholeText(content, role, kindOfRole(role), ['content']);
  if (!Array.isArray(content)) return [blockPart([], role, 'other')];
  return content.map((part, i) => contentPart(part, role, ['content', i]));
}

function contentPart(raw: unknown, role: string, at: BlockPart['at']): BlockPart {
  const part = fields(raw);
  const type = text(part.type);
  if (type === 'text') return blockPart(at, role, kindOfRole(role), { text: text(part.text) });
  if (type === 'thinking') return blockPart(at, role, 'thinking', { text: text(part.thinking) });
  if (type === 'redacted_thinking') return blockPart(at, role, 'thinking', { name: type });
  if (type.endsWith('tool_use'))
    return blockPart(at, role, 'tool-call', { name: text(part.name) || type, call_id: text(part.id) });
  if (type.endsWith('tool_result')) {
    const pieces = Array.isArray(part.content) ? part.content : [];
    const call_id = text(part.tool_use_id);
    return blockPart(at, role, 'tool-result', {
      text: textIn(part.content),
      call_id,
      pictures: pieces.flatMap(picturesIn),
    });
  }
  if (type === 'image') return blockPart(at, role, 'image', { name: 'image', pictures: picturesIn(part) });
  return blockPart(at, role, 'other', { name: text(part.title) || type, text: textIn(part.content) });
}

function picturesIn(raw: unknown): string[] {
  if (!isFields(raw) || raw.type !== 'image') return [];
  const source = fields(raw.source);
  return [source.type === 'base64' ? text(source.data) : ''];
}
