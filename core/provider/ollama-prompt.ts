/** The prompts in requests of Ollama: of its chat, and of its completion, whose members are the messages. */
import { fields, text } from './json.ts';
import { blockPart, kindOfRole, wholeText } from './prompt-parts.ts';
import type { BlockPart, PromptShape } from './prompt-shape.ts';

const common = {
  parameters: {
    keyed: ['model', 'template', 'raw'],
    others: [
      'format',
      'think',
      'options.num_ctx',
      'options.num_predict',
      'options.temperature',
      'keep_alive',
      'stream',
    ],
  },
  keyedHeaders: [],
  textPart: (words: string) => ({ type: 'text', text: words }),
  marks: [],
  holds: null,
  pictureTokens: () => UNSTATED,
};

/** Each model has a vision part of its own, and no rule is published: as many as a typical one (CLIP, 24 by 24 patches) makes. */
const UNSTATED = 576;

const tools = { key: 'tools', section: 'tools' as const, parts: toolPart };

export const ollamaChatPrompt: PromptShape = {
  ...common,
  members: [tools, { key: 'messages', section: 'messages', parts: messageParts }],
};

export const ollamaGeneratePrompt: PromptShape = {
  ...common,
  members: [
    tools,
    { key: 'system', section: 'system', parts: (value) => wholeText(value, 'system', 'instructions') },
    { key: 'context', section: 'messages', inOne: true, parts: contextPart },
    { key: 'prompt', section: 'messages', parts: (value) => wholeText(value, 'user', 'user') },
    { key: 'suffix', section: 'messages', parts: (value) => wholeText(value, 'user', 'user') },
    { key: 'images', section: 'messages', parts: (value) => [picture(value, 'user', [])] },
  ],
};

function toolPart(raw: unknown): BlockPart[] {
  const declared = fields(fields(raw).function);
  return [
    blockPart([], '', 'tool-definition', { name: text(declared.name), text: text(declared.description) || null }),
  ];
}

/** The tokens of earlier calls, as numbers; each element of the array would be a block, so only the whole is one. */
function contextPart(value: unknown): BlockPart[] {
  return Array.isArray(value) ? [blockPart([], 'user', 'other', { name: 'context' })] : [];
}

function messageParts(raw: unknown): BlockPart[] {
  const message = fields(raw);
  const role = text(message.role).toLowerCase();
  if (role === 'tool') return [blockPart([], role, 'tool-result', { text: text(message.content) })];
  const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
  return [
    ...wholeText(message.thinking, role, 'thinking', ['thinking']),
    ...wholeText(message.content, role, kindOfRole(role), ['content']),
    ...list(message.images).map((image, i) => picture(image, role, ['images', i])),
    ...list(message.tool_calls).map((call, i) =>
      blockPart(['tool_calls', i], role, 'tool-call', { name: text(fields(fields(call).function).name) }),
    ),
  ];
}

function picture(value: unknown, role: string, at: BlockPart['at']): BlockPart {
  return blockPart(at, role, 'image', {
    name: 'image',
    pictures: [text(value).replace(/^data:[^,]{0,300};base64,/i, '')],
  });
}
