/**
 * The wire format of OpenAI Chat Completions: `POST …/chat/completions`, streamed and in one piece, from OpenAI and from the many that
 * use its format. Of several choices (`n` > 1) only the first is read; the others are in the raw turn, and their tokens are counted.
 */
import { withoutCacheControl } from '../merkle/projection.ts';
import type { Message } from '../model/bucket.ts';
import type { ContentBlock } from '../model/content-block.ts';
import type { Reply } from '../model/reply.ts';
import type { Usage } from '../model/usage.ts';
import { Unreadable, type WireFormat } from './format.ts';
import { imageAt } from './image-url.ts';
import { assertShallow, type Fields, fields, isFields, limit, text, tokens, toolInput } from './json.ts';
import { growingContent, thoughtIn } from './openai-chat-parts.ts';
import { openaiChatPrompt } from './openai-chat-prompt.ts';
import { errorIn } from './openai-error.ts';
import { openaiTerms } from './openai-terms.ts';
import { replyIn, streamEvents } from './sse.ts';

export const openaiChat: WireFormat<'openai.chat'> = {
  id: 'openai.chat',
  provider: 'openai',
  usualPath: '/v1/chat/completions',
  overWebSocket: false,
  echoesThinking: false,
  echoesToolIds: true,
  prompt: openaiChatPrompt,
  messagesKey: 'messages',
  systemKey: null,
  toolsKey: 'tools',
  joinsAnswer: false,
  isNoOp: () => false,
  matches: (method, path) => method.toUpperCase() === 'POST' && /(?:^|\/)chat\/completions\/*$/.test(path),
  requestHead(skeleton, counts) {
    if (!Array.isArray(skeleton.messages)) throw new Unreadable('Cannot read a chat request: it has no messages');
    const functions = Array.isArray(skeleton.functions) ? skeleton.functions.length : 0;
    return {
      model: text(skeleton.model),
      stream: skeleton.stream === true,
      max_tokens: limit(skeleton.max_completion_tokens) ?? limit(skeleton.max_tokens),
      tool_count: counts.tools + functions,
      conversation_id: '',
      previous_response_id: '',
    };
  },
  systemPrompts: () => [],
  messagesOutside: () => [],
  message,
  reply,
  stopReasons: { ended: ['stop'], cut: ['length', 'content_filter'], tools: ['tool_calls', 'function_call'] },
  callKey: () => null, // its servers draw ids out of a thousand
  terms: openaiTerms,
};

const roles: Record<string, Message['role']> = {
  system: 'system',
  developer: 'system',
  user: 'user',
  assistant: 'assistant',
  tool: 'tool',
  function: 'tool',
};

function message(element: unknown): Message {
  if (!isFields(element)) throw new Unreadable('Cannot read a chat message: it is no object');
  const role = Object.hasOwn(roles, text(element.role)) ? roles[text(element.role)] : undefined;
  if (role === undefined) throw new Unreadable('Cannot read a chat message: its role is unknown');
  assertShallow(element, 'a chat message');
  return { role, content: role === 'tool' ? [toolResult(element)] : blocksOf(element) };
}

/** The blocks of a message, in a request as in a reply: a reply that comes back as history must be the same blocks. */
function blocksOf(raw: Fields): ContentBlock[] {
  const reasoning = text(raw.reasoning_content) || text(raw.reasoning);
  const calls = Array.isArray(raw.tool_calls) ? raw.tool_calls.map((call) => toolUse(fields(call))) : [];
  return [
    ...(reasoning === '' ? [] : [{ type: 'thinking', thinking: reasoning }]),
    ...parts(raw.content),
    ...(text(raw.refusal) === '' ? [] : [{ type: 'refusal', text: text(raw.refusal) }]),
    ...(isFields(raw.audio) ? [audio(raw.audio)] : []),
    ...calls,
    ...(isFields(raw.function_call) ? [toolUse({ id: '', function: raw.function_call })] : []),
  ];
}

function parts(content: unknown): ContentBlock[] {
  if (content === null || content === undefined || content === '') return [];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (Array.isArray(content)) return content.map(part);
  throw new Unreadable('Cannot read a chat message: its content is neither text nor parts');
}

/** A part of a message; one that is not as documented is passed on whole rather than refused. */
function part(raw: unknown): ContentBlock {
  if (typeof raw === 'string') return { type: 'text', text: raw };
  if (!isFields(raw) || typeof raw.type !== 'string') {
    throw new Unreadable('Cannot read a chat message: a content part has no type');
  }
  if (raw.type === 'text' && typeof raw.text === 'string') return { type: 'text', text: raw.text };
  if (raw.type === 'refusal' && typeof raw.refusal === 'string') return { type: 'refusal', text: raw.refusal };
  if (thoughtIn(raw) !== '') return { type: 'thinking', thinking: thoughtIn(raw) };
  if (raw.type === 'image_url') {
    const url = isFields(raw.image_url) ? raw.image_url.url : raw.image_url;
    if (typeof url === 'string') return imageAt(url);
  }
  return { type: raw.type, content: withoutCacheControl(raw) };
}

/** The transcript of a spoken answer; its sound is in the raw turn. */
const audio = (raw: Fields): ContentBlock => ({
  type: 'audio',
  ...(text(raw.transcript) !== '' && { text: text(raw.transcript) }),
  content: { id: text(raw.id) },
});

function toolUse(call: Fields): ContentBlock {
  const isCustom = isFields(call.custom);
  const called = fields(isCustom ? call.custom : call.function);
  const input = isCustom ? called.input : called.arguments;
  return {
    type: 'tool_use',
    tool_use_id: text(call.id),
    tool_name: text(called.name),
    tool_input: isCustom ? (input ?? '') : typeof input === 'string' ? toolInput(input) : (input ?? {}),
  };
}

/** A legacy `function` message names its function instead of a call. */
function toolResult(raw: Fields): ContentBlock {
  const blocks = parts(raw.content);
  const texts = blocks.flatMap((block) => (block.type === 'text' && block.text !== undefined ? [block.text] : []));
  const rest = blocks.filter((block) => block.type !== 'text');
  return {
    type: 'tool_result',
    tool_result_id: text(raw.tool_call_id) || text(raw.name),
    ...((texts.length > 0 || raw.content === '') && { tool_output: texts.join('\n') }),
    ...(rest.length > 0 && { content: rest }),
  };
}

function reply(body: Uint8Array, contentType: string): Reply {
  return replyIn(body, contentType, { what: 'a chat answer', streamed, oneShot });
}

function oneShot(document: unknown): Reply {
  const answer = Array.isArray(document) ? document[0] : document; // Google wraps its errors in an array
  const choices = isFields(answer) && Array.isArray(answer.choices) ? answer.choices : null;
  const choice = firstChoice(choices ?? []);
  const error = errorIn(answer) ?? errorIn({ error: choice.error });
  if (!isFields(answer) || (choices === null && error === null)) {
    throw new Unreadable('Cannot read a chat answer: it has no choices');
  }
  return {
    ...replyOf(answer, fields(choice.message), text(choice.finish_reason), answer.usage),
    complete: true,
    error,
  };
}

/** The choice of index 0, or one without an index; one without fields when the answer has only others. */
const firstChoice = (choices: readonly unknown[]): Fields =>
  choices.map(fields).find((choice) => (choice.index ?? 0) === 0) ?? {};

/** The chunks build the message that a call without streaming would have sent; from there on both are read alike. */
function streamed(answer: string): Reply {
  let model = '';
  let id = '';
  let service_tier = '';
  let stopReason = '';
  let usage: Fields | null = null;
  let done = false;
  let error: Reply['error'] = null;
  const growing = growingMessage();

  for (const event of streamEvents(answer)) {
    if (event === 'done') done = true;
    if (event === 'unreadable') {
      error ??= { type: 'unreadable_event', message: 'Cannot read an event of the stream: it is no JSON' };
    }
    const chunk = fields(typeof event === 'string' ? null : event.json);
    model ||= text(chunk.model);
    id ||= text(chunk.id);
    service_tier = text(chunk.service_tier) || service_tier;
    const used = chunk.usage ?? fields(chunk.x_groq).usage; // Groq's own member, where the client has not requested the usage
    if (isFields(used)) usage = used;
    const choice = firstChoice(Array.isArray(chunk.choices) ? chunk.choices : []);
    error = errorIn(chunk) ?? errorIn({ error: choice.error }) ?? error;
    growing.add(fields(choice.delta));
    stopReason = text(choice.finish_reason) || stopReason;
  }
  const finished = (done || stopReason !== '') && error === null;
  return { ...replyOf({ model, id, service_tier }, growing.whole(), stopReason, usage), complete: finished, error };
}

type Call = { id: string; isCustom: boolean; name: string; input: string; parsedInput: unknown };

/** A message under way. Tool calls are distinguished by index, else by their position in the delta; another id begins another call. */
function growingMessage() {
  const message: Fields = {};
  const content = growingContent();
  const calls: Call[] = [];
  const current = new Map<number, Call>();
  const append = (target: Fields, key: string, piece: unknown) => {
    if (typeof piece === 'string' && piece !== '') target[key] = text(target[key]) + piece;
  };
  const callAt = (index: number, id: string): Call => {
    const known = current.get(index);
    if (known && (id === '' || known.id === '' || known.id === id)) return known;
    const call: Call = { id, isCustom: false, name: '', input: '', parsedInput: undefined };
    calls.push(call);
    current.set(index, call);
    return call;
  };
  return {
    add(delta: Fields): void {
      content.add(delta.content);
      append(message, 'refusal', delta.refusal);
      append(message, 'reasoning_content', text(delta.reasoning_content) || delta.reasoning);
      for (const [position, raw] of (Array.isArray(delta.tool_calls) ? delta.tool_calls : []).entries()) {
        const piece = fields(raw);
        const call = callAt(typeof piece.index === 'number' ? piece.index : position, text(piece.id));
        call.id ||= text(piece.id);
        call.isCustom ||= isFields(piece.custom);
        const called = fields(isFields(piece.custom) ? piece.custom : piece.function);
        const input = isFields(piece.custom) ? called.input : called.arguments;
        call.name ||= text(called.name);
        if (typeof input === 'string') call.input += input;
        else if (input !== undefined && input !== null) call.parsedInput = input;
      }
      if (isFields(delta.function_call)) {
        const called: Fields = { ...fields(message.function_call) };
        called.name = text(called.name) || text(delta.function_call.name);
        append(called, 'arguments', delta.function_call.arguments);
        message.function_call = called;
      }
      if (isFields(delta.audio)) {
        const audio: Fields = { ...fields(message.audio) };
        audio.id = text(audio.id) || text(delta.audio.id);
        append(audio, 'transcript', delta.audio.transcript);
        message.audio = audio;
      }
    },
    whole: (): Fields => ({ ...message, content: content.whole(), tool_calls: calls.map(wholeCall) }),
  };
}

function wholeCall({ id, isCustom, name, input, parsedInput }: Call): Fields {
  if (isCustom) return { id, custom: { name, input } };
  return { id, function: { name, arguments: parsedInput === undefined ? input : parsedInput } };
}

function replyOf(head: Fields, raw: Fields, stopReason: string, usage: unknown): Reply {
  return {
    content: blocksOf(raw),
    model: text(head.model),
    response_id: text(head.id),
    stop_reason: stopReason,
    usage: isFields(usage) ? usageOf(usage, text(head.model)) : null,
    usage_verbatim: isFields(usage) ? usage : null,
    ...(text(head.service_tier) !== '' && { service_tier: text(head.service_tier) }),
    complete: false,
    error: null,
  };
}

/** OpenAI counts cached input within the prompt, and reasoning within the completion. Null when nothing is reported. */
function usageOf(usage: Fields, model: string): Usage | null {
  const prompt = tokens(usage.prompt_tokens);
  const completion = tokens(usage.completion_tokens);
  if (prompt === null && completion === null) return null;
  const input = prompt ?? 0;
  const inputDetails = fields(usage.prompt_tokens_details);
  const reported = tokens(fields(usage.completion_tokens_details).reasoning_tokens) ?? 0;
  // xAI and Gemini count reasoning beside the completion, as the total shows; Gemini reports it nowhere else
  const beside = (tokens(usage.total_tokens) ?? 0) - input - (completion ?? 0);
  const apart = beside > 0 && (reported === beside || (reported === 0 && /^(?:models\/)?gemini-/.test(model)));
  const reasoning = apart ? beside : reported;
  const output = (completion ?? 0) + (apart ? reasoning : 0);
  const read = Math.min(tokens(inputDetails.cached_tokens) ?? tokens(usage.prompt_cache_hit_tokens) ?? 0, input);
  return {
    input_tokens: input,
    output_tokens: output,
    cache_read_tokens: read,
    cache_write_5m_tokens: Math.min(tokens(inputDetails.cache_write_tokens) ?? 0, input - read),
    cache_write_1h_tokens: 0,
    reasoning_tokens: Math.min(reasoning, output),
  };
}
