/** The wire format of Anthropic Messages: `POST …/v1/messages`, streamed and in one piece. */
import { withoutCacheControl } from '../merkle/projection.ts';
import type { Message } from '../model/bucket.ts';
import type { ContentBlock } from '../model/content-block.ts';
import type { Reply } from '../model/reply.ts';
import { anthropicPrompt } from './anthropic-prompt.ts';
import { anthropicTerms } from './anthropic-terms.ts';
import { anthropicUsage } from './anthropic-usage.ts';
import { Unreadable, type WireFormat } from './format.ts';
import { assertShallow, type Fields, fields, isFields, limit, text, toolInput } from './json.ts';
import { replyIn, streamEvents } from './sse.ts';

export const anthropicMessages: WireFormat<'anthropic.messages'> = {
  id: 'anthropic.messages',
  provider: 'anthropic',
  usualPath: '/v1/messages',
  overWebSocket: false,
  echoesThinking: true,
  echoesToolIds: true,
  prompt: anthropicPrompt,
  messagesKey: 'messages',
  systemKey: 'system',
  toolsKey: 'tools',
  joinsAnswer: false,
  isNoOp: () => false,
  // `…/threads/<id>/messages` belongs to another API
  matches: (method, path) =>
    method.toUpperCase() === 'POST' &&
    /(?:^|\/)messages\/*$/.test(path) &&
    !/\/threads\/[^/]+\/messages\/*$/.test(path),
  requestHead(skeleton, counts) {
    if (!Array.isArray(skeleton.messages)) throw new Unreadable('Cannot read an Anthropic request: it has no messages');
    const thread = fields(skeleton.thread); // a conversation that the provider holds
    return {
      model: text(skeleton.model),
      stream: skeleton.stream === true,
      max_tokens: limit(skeleton.max_tokens),
      tool_count: counts.tools,
      conversation_id: '',
      previous_response_id: thread.type === 'continue' ? text(thread.previous_message_id) : '',
    };
  },
  // `system` is a parameter of the call and no message: it holds dates and counters that would fork each conversation
  systemPrompts: ({ system }) => [system],
  messagesOutside: () => [],
  message,
  reply,
  // https://platform.claude.com/docs/en/api/handling-stop-reasons
  stopReasons: {
    ended: ['end_turn', 'stop_sequence', 'compaction'],
    cut: ['max_tokens', 'model_context_window_exceeded', 'refusal'],
    tools: ['tool_use', 'pause_turn'],
  },
  // test servers and gateways give all messages one id (https://docs.claude.com/en/api/errors#request-id)
  callKey: ({ response_id, request_id }) => (request_id === '' ? null : ['anthropic', response_id, request_id]),
  requestIdHeader: 'request-id', // ids that a proxy in between gives have other names
  terms: anthropicTerms,
};

const roles: Record<string, Message['role']> = { user: 'user', assistant: 'assistant', system: 'system' };

function message(element: unknown): Message {
  if (!isFields(element)) throw new Unreadable('Cannot read an Anthropic message: it is no object');
  const role = Object.hasOwn(roles, text(element.role)) ? roles[text(element.role)] : undefined;
  if (role === undefined) throw new Unreadable('Cannot read an Anthropic message: its role is unknown');
  assertShallow(element.content, 'an Anthropic message');
  const { content } = element;
  if (typeof content === 'string') return { role, content: content === '' ? [] : [{ type: 'text', text: content }] };
  if (Array.isArray(content)) return { role, content: content.map(block) };
  throw new Unreadable('Cannot read an Anthropic message: its content is neither text nor blocks');
}

/** A block as it stands in a message or a reply; one that is not as documented is passed on whole rather than refused. */
function block(raw: unknown): ContentBlock {
  if (!isFields(raw) || typeof raw.type !== 'string') {
    throw new Unreadable('Cannot read an Anthropic message: a content block has no type');
  }
  const whole = (): ContentBlock => ({ type: text(raw.type), content: withoutCacheControl(raw) });
  switch (raw.type) {
    case 'text':
      return typeof raw.text === 'string' ? { type: 'text', text: raw.text } : whole();
    case 'thinking':
      return {
        type: 'thinking',
        thinking: text(raw.thinking),
        ...(text(raw.signature) !== '' && { thinking_signature: text(raw.signature) }),
      };
    case 'tool_use':
    case 'server_tool_use':
      return { type: raw.type, tool_use_id: text(raw.id), tool_name: text(raw.name), tool_input: raw.input ?? {} };
    case 'tool_result':
      return toolResult(raw);
    case 'image':
      return image(fields(raw.source)) ?? whole();
    default:
      return raw.type.endsWith('_tool_result') && typeof raw.tool_use_id === 'string' ? serverToolResult(raw) : whole();
  }
}

function toolResult(raw: Fields): ContentBlock {
  const pieces = Array.isArray(raw.content) ? raw.content : [];
  const isText = (piece: unknown) => isFields(piece) && piece.type === 'text' && typeof piece.text === 'string';
  const texts = pieces.filter(isText).map((piece) => text(fields(piece).text));
  const rest = pieces.filter((piece) => !isText(piece));
  return {
    type: 'tool_result',
    tool_result_id: text(raw.tool_use_id),
    ...(typeof raw.content === 'string' && { tool_output: raw.content }),
    ...(texts.length > 0 && { tool_output: texts.join('\n') }),
    ...(typeof raw.is_error === 'boolean' && { is_error: raw.is_error }),
    ...(rest.length > 0 && { content: withoutCacheControl(rest) }),
    ...(isFields(raw.content) && { content: withoutCacheControl(raw.content) }),
  };
}

const serverToolResult = (raw: Fields): ContentBlock => ({
  type: text(raw.type),
  tool_result_id: text(raw.tool_use_id),
  ...(typeof raw.is_error === 'boolean' && { is_error: raw.is_error }),
  ...(raw.content !== undefined && { content: withoutCacheControl(raw.content) }),
});

function image(source: Fields): ContentBlock | null {
  if (source.type === 'base64' && typeof source.data === 'string') {
    return { type: 'image', media_type: text(source.media_type), image_base64: source.data };
  }
  if (source.type === 'url' && typeof source.url === 'string') return { type: 'image', image_url: source.url };
  return null;
}

function reply(body: Uint8Array, contentType: string): Reply {
  return replyIn(body, contentType, { what: 'an Anthropic answer', streamed, oneShot });
}

function oneShot(document: unknown): Reply {
  if (!isFields(document)) throw new Unreadable('Cannot read an Anthropic answer: it is no JSON object');
  if (isFields(document.error)) {
    return { ...replyOf({}, [], null), complete: true, error: errorOf(document.error) };
  }
  if (!Array.isArray(document.content)) throw new Unreadable('Cannot read an Anthropic answer: it has no content');
  return { ...replyOf(document, document.content, document.usage), complete: true };
}

/** A block of a stream under way; `json` is its tool input so far. */
type Growing = { raw: Fields; json: string };

/** The events build the document that a call without streaming would have sent; from there on both are read alike. */
function streamed(answer: string): Reply {
  let head: Fields = {};
  const usage = latestFields();
  let stopped = false;
  let error: Reply['error'] = null;
  const blocks = new Map<number, Growing>();
  const indexOf = (event: Fields) => (typeof event.index === 'number' ? event.index : blocks.size);

  for (const event of streamEvents(answer)) {
    if (event === 'unreadable') {
      error ??= { type: 'unreadable_event', message: 'Cannot read an event of the stream: it is no JSON' };
    }
    const payload = fields(typeof event === 'string' ? null : event.json);
    switch (payload.type) {
      case 'message_start':
        head = { ...fields(payload.message) };
        usage.add(head.usage);
        break;
      case 'content_block_start':
        if (isFields(payload.content_block))
          blocks.set(indexOf(payload), { raw: { ...payload.content_block }, json: '' });
        break;
      case 'content_block_delta':
        grow(blocks, indexOf(payload), fields(payload.delta));
        break;
      case 'message_delta':
        head.stop_reason = fields(payload.delta).stop_reason ?? head.stop_reason;
        usage.add(payload.usage);
        break;
      case 'message_stop':
        stopped = true;
        break;
      case 'error':
        error = errorOf(fields(payload.error));
        break;
    }
  }
  const content = [...blocks].sort(([a], [b]) => a - b).map(([, { raw, json }]) => withInput(raw, json));
  return { ...replyOf(head, content, usage.whole()), complete: stopped && error === null, error };
}

const withInput = (raw: Fields, json: string): Fields => (json === '' ? raw : { ...raw, input: toolInput(json) });

/** Adds a delta to its block, which the delta creates when the block's start was lost. */
function grow(blocks: Map<number, Growing>, index: number, delta: Fields): void {
  const at = (type: string): Growing => {
    const growing = blocks.get(index) ?? { raw: { type }, json: '' };
    blocks.set(index, growing);
    return growing;
  };
  const append = (type: string, key: string, piece: unknown) => {
    const { raw } = at(type);
    raw[key] = text(raw[key]) + text(piece);
  };
  switch (delta.type) {
    case 'text_delta':
      append('text', 'text', delta.text);
      break;
    case 'thinking_delta':
      append('thinking', 'thinking', delta.thinking);
      break;
    case 'signature_delta':
      at('thinking').raw.signature = text(delta.signature);
      break;
    case 'input_json_delta':
      at('tool_use').json += text(delta.partial_json);
      break;
    case 'compaction_delta':
      append('compaction', 'content', delta.content);
      break;
  }
}

/** Counts are cumulative, so a later one replaces an earlier one; a null does not. Never copied: each event may add members. */
function latestFields() {
  let latest: Map<string, unknown> | null = null;
  return {
    add(later: unknown): void {
      if (!isFields(later)) return;
      latest ??= new Map();
      for (const [key, value] of Object.entries(later)) if (value !== null || !latest.has(key)) latest.set(key, value);
    },
    whole: (): Fields | null => latest && Object.fromEntries(latest),
  };
}

function replyOf(head: Fields, content: readonly unknown[], usage: unknown): Reply {
  return {
    content: content.map(block),
    model: text(head.model),
    response_id: text(head.id),
    stop_reason: text(head.stop_reason),
    usage: isFields(usage) ? anthropicUsage(usage) : null,
    usage_verbatim: isFields(usage) ? usage : null,
    complete: false,
    error: null,
  };
}

const errorOf = (error: Fields) => ({ type: text(error.type) || 'error', message: text(error.message) });
