/**
 * The prompt in a request of OpenAI Chat Completions. Tools come first in its cache, then the messages.
 * https://platform.openai.com/docs/guides/prompt-caching
 */
import { fields, text } from './json.ts';
import { thoughtIn } from './openai-chat-parts.ts';
import { openaiPictureTokens } from './openai-pictures.ts';
import { blockPart, declaredTool, kindOfRole, pictureAt, textIn, wholeText } from './prompt-parts.ts';
import type { BlockPart, PromptShape } from './prompt-shape.ts';

export const openaiChatPrompt: PromptShape = {
  members: [
    { key: 'tools', section: 'tools', parts: declaredTool },
    { key: 'functions', section: 'tools', parts: declaredTool }, // their older name
    { key: 'messages', section: 'messages', parts: messageParts },
  ],
  parameters: {
    // a schema of the answer is part of the prefix; requests are routed to a cache by `prompt_cache_key`
    keyed: ['model', 'response_format', 'prompt_cache_key', 'prompt_cache_retention', 'reasoning_effort', 'verbosity'],
    others: [
      ...[
        'tool_choice',
        'parallel_tool_calls',
        'max_completion_tokens',
        'max_tokens',
        'temperature',
        'top_p',
        'seed',
        'n',
      ],
      ...['stop', 'service_tier', 'modalities', 'web_search_options', 'stream', 'reasoning', 'thinking'],
    ],
  },
  keyedHeaders: [],
  textPart: (words) => ({ type: 'text', text: words }),
  marks: ['cache_control'], // of gateways to Anthropic's models
  holds: null,
  pictureTokens: openaiPictureTokens,
};

/** What a tool returned is one block with the id of its call. */
function messageParts(raw: unknown): BlockPart[] {
  const message = fields(raw);
  const role = text(message.role);
  const { content } = message;
  if (role === 'tool' || role === 'function') {
    return [blockPart([], role, 'tool-result', { text: textIn(content), call_id: text(message.tool_call_id) })];
  }
  const reasoning = ['reasoning_content', 'reasoning'].find((key) => text(message[key]) !== '');
  const spoken = Array.isArray(content)
    ? content.map((part, i) => contentPart(part, role, ['content', i]))
    : wholeText(content, role, kindOfRole(role), ['content']);
  return [
    ...(reasoning ? [blockPart([reasoning], role, 'thinking', { text: text(message[reasoning]) })] : []),
    ...spoken,
    ...wholeText(message.refusal, role, kindOfRole(role), ['refusal']),
    ...(message.audio ? [blockPart(['audio'], role, 'other', { name: 'audio' })] : []),
    ...callsIn(message.tool_calls).map((call, i) => callPart(call, role, ['tool_calls', i])),
    ...(message.function_call ? [callPart({ function: message.function_call }, role, ['function_call'])] : []),
  ];
}

const callsIn = (calls: unknown): unknown[] => (Array.isArray(calls) ? calls : []);

function callPart(raw: unknown, role: string, at: BlockPart['at']): BlockPart {
  const call = fields(raw);
  return blockPart(at, role, 'tool-call', {
    name: text(fields(call.function ?? call.custom).name),
    call_id: text(call.id),
  });
}

function contentPart(raw: unknown, role: string, at: BlockPart['at']): BlockPart {
  const part = fields(raw);
  const type = text(part.type);
  if (type === 'image_url') {
    const url = typeof part.image_url === 'string' ? part.image_url : fields(part.image_url).url;
    return blockPart(at, role, 'image', { name: 'image', pictures: [pictureAt(url) ?? ''] });
  }
  const thought = thoughtIn(part);
  if (thought !== '') return blockPart(at, role, 'thinking', { text: thought });
  const words = typeof raw === 'string' ? raw : typeof part.refusal === 'string' ? part.refusal : textIn(part);
  return words === null
    ? blockPart(at, role, 'other', { name: type })
    : blockPart(at, role, kindOfRole(role), { text: words });
}
