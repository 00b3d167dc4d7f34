/** The wire format of OpenAI Responses: `POST …/responses`, streamed and in one piece, from OpenAI and as Codex uses it. */
import type { Message } from '../model/bucket.ts';
import type { ContentBlock } from '../model/content-block.ts';
import type { Reply } from '../model/reply.ts';
import type { Usage } from '../model/usage.ts';
import { Unreadable, type WireFormat } from './format.ts';
import { assertShallow, type Fields, fields, isFields, limit, text, tokens } from './json.ts';
import { jsonLines } from './ndjson.ts';
import { errorIn } from './openai-error.ts';
import { itemIds, itemMessage, referencedItem } from './openai-responses-items.ts';
import { openaiResponsesPrompt } from './openai-responses-prompt.ts';
import { failure, streamedResponse } from './openai-responses-stream.ts';
import { openaiTerms, SEARCH_PREVIEW } from './openai-terms.ts';
import { bodyText, replyIn, type StreamEvent, streamEvents } from './sse.ts';

export const openaiResponses: WireFormat<'openai.responses'> = {
  id: 'openai.responses',
  provider: 'openai',
  usualPath: '/v1/responses',
  overWebSocket: true,
  echoesThinking: false,
  echoesToolIds: true,
  prompt: openaiResponsesPrompt,
  messagesKey: 'input',
  systemKey: null,
  toolsKey: 'tools',
  joinsAnswer: true,
  // not even with `generate: false`, which Codex sends ahead: it holds the messages that the next request continues
  isNoOp: () => false,
  matches: (method, path) => method.toUpperCase() === 'POST' && /(?:^|\/)responses\/*$/.test(path),
  requestHead(skeleton, counts) {
    const conversation = isFields(skeleton.conversation) ? skeleton.conversation.id : skeleton.conversation;
    const head = {
      model: text(skeleton.model),
      stream: skeleton.stream === true,
      max_tokens: limit(skeleton.max_output_tokens),
      tool_count: counts.tools,
      conversation_id: text(conversation),
      previous_response_id: text(skeleton.previous_response_id),
    };
    const hasInput = Array.isArray(skeleton.input) || typeof skeleton.input === 'string';
    const continues = head.conversation_id !== '' || head.previous_response_id !== '' || isFields(skeleton.prompt);
    if (!hasInput && (!continues || skeleton.messages !== undefined)) {
      throw new Unreadable('Cannot read a Responses request: it has no input');
    }
    return head;
  },
  // `instructions` is a parameter of the call and no message, as Anthropic's `system` is
  systemPrompts: ({ instructions }) => [instructions],
  messagesOutside: ({ input }) =>
    typeof input === 'string' ? [{ role: 'user', content: input === '' ? [] : [{ type: 'text', text: input }] }] : [],
  message,
  referenceIn: referencedItem,
  reply,
  stopReasons: { ended: ['stop'], cut: ['max_output_tokens', 'content_filter'], tools: ['tool_calls'] },
  // https://platform.openai.com/docs/api-reference/responses/object
  callKey: ({ response_id }) => ['openai', response_id],
  terms: openaiTerms,
};

function message(element: unknown): Message {
  if (!isFields(element)) throw new Unreadable('Cannot read an item: it is no object');
  assertShallow(element, 'an item');
  return itemMessage(element);
}

function reply(body: Uint8Array, contentType: string): Reply {
  if (/^\s*application\/x-ndjson\b/i.test(contentType)) return streamReply(socketEvents(bodyText(body)));
  return replyIn(body, contentType, { what: 'a Responses answer', streamed, oneShot });
}

const unfinished = new Set(['queued', 'in_progress']); // in the background: its answer is fetched later

function oneShot(document: unknown): Reply {
  if (!isFields(document)) throw new Unreadable('Cannot read a Responses answer: it is no JSON object');
  if (document.object === 'response') {
    const status = text(document.status);
    return { ...replyOf(document, status), complete: !unfinished.has(status) };
  }
  const error = errorIn(document) ?? detail(document);
  if (error === null) throw new Unreadable('Cannot read a Responses answer: it is no response');
  return { ...replyOf({}, ''), complete: true, error };
}

/** `{detail: "…"}`, with which ChatGPT's backend refuses requests of Codex. */
const detail = (answer: Fields): Reply['error'] =>
  text(answer.detail) === '' ? null : { type: 'error', message: text(answer.detail) };

const streamed = (answer: string): Reply => streamReply(streamEvents(answer));

/** Over a WebSocket each event is a message of its own, and is stored as a line. */
const socketEvents = (answer: string): StreamEvent[] =>
  jsonLines(answer).flatMap((line) => (line === 'cut' ? [] : [line]));

/** The events build the response that a call without streaming would have sent; from there on both are read alike. */
function streamReply(events: readonly StreamEvent[]): Reply {
  const { response, ended, error } = streamedResponse(events);
  const streamedReply = replyOf(response, ended ? text(response.status) : '');
  return { ...streamedReply, complete: ended, error: streamedReply.error ?? error };
}

/** @param status of the response; '' while unknown */
function replyOf(response: Fields, status: string): Reply {
  const output = Array.isArray(response.output) ? response.output : [];
  const content = output.flatMap((item) => message(ofAssistant(item)).content);
  return {
    content,
    model: text(response.model),
    response_id: text(response.id),
    ...(response.store === true && { item_ids: itemIds(output) }),
    stop_reason: stopReason(response, status, content),
    usage: isFields(response.usage) ? usageOf(response.usage) : null,
    usage_verbatim: isFields(response.usage) ? response.usage : null,
    ...(text(response.service_tier) !== '' && { service_tier: text(response.service_tier) }),
    ...searchTool(response.tools),
    complete: false,
    error: errorOf(response, status),
  };
}

/** The answer repeats the tools of its request; the calls of `web_search` and of its preview look alike. */
function searchTool(tools: unknown): Pick<Reply, 'search_tool'> {
  const types = (Array.isArray(tools) ? tools : []).map((tool) => text(fields(tool).type));
  const search_tool = types.find((type) => type.startsWith(SEARCH_PREVIEW));
  return search_tool === undefined ? {} : { search_tool };
}

/** All messages of an answer are the assistant's, whether or not they name the role. */
const ofAssistant = (item: unknown): unknown =>
  isFields(item) && item.type === 'message' ? { ...item, role: 'assistant' } : item;

/** The status in more detail: what cut the answer short, or whether the client is to run tools before the model continues. */
function stopReason(response: Fields, status: string, content: readonly ContentBlock[]): string {
  if (status === 'incomplete') return text(fields(response.incomplete_details).reason) || status;
  if (status !== 'completed') return status;
  const answered = new Set(content.map(({ tool_result_id }) => tool_result_id));
  const waits = content.some(({ type, tool_use_id }) => type === 'tool_use' && !answered.has(tool_use_id));
  return waits ? 'tool_calls' : 'stop';
}

function errorOf(response: Fields, status: string): Reply['error'] {
  if (isFields(response.error)) return failure(response.error);
  return errorIn(response) ?? (status === 'failed' ? { type: status, message: '' } : null);
}

/** OpenAI counts cached input within the input, and reasoning within the output. Null when nothing is reported. */
function usageOf(usage: Fields): Usage | null {
  const input = tokens(usage.input_tokens);
  const output = tokens(usage.output_tokens);
  if (input === null && output === null) return null;
  const details = fields(usage.input_tokens_details);
  const read = Math.min(tokens(details.cached_tokens) ?? 0, input ?? 0);
  return {
    input_tokens: input ?? 0,
    output_tokens: output ?? 0,
    cache_read_tokens: read,
    cache_write_5m_tokens: Math.min(tokens(details.cache_write_tokens) ?? 0, (input ?? 0) - read),
    cache_write_1h_tokens: 0,
    reasoning_tokens: Math.min(tokens(fields(usage.output_tokens_details).reasoning_tokens) ?? 0, output ?? 0),
  };
}
