/** Reduced answers: in the shape of a sender that has read the provider's answer itself. */
import type { ContentBlock } from '../model/content-block.ts';
import type { Reply } from '../model/reply.ts';
import type { Usage } from '../model/usage.ts';
import { Unreadable } from './format.ts';
import { assertShallow, type Fields, fields, isFields, parseForeign, text, tokens } from './json.ts';
import { callBlocks } from './openai-responses-items.ts';
import { bodyText } from './sse.ts';

/** The content type under which such an answer is stored, since no provider sends it. */
export const REDUCED_TYPE = 'application/vnd.svc.reply+json';

/**
 * True for an answer without content: none at all, or the object of zeros that senders emit which did not read the answer. A model
 * and a time alone are no answer.
 */
export function isEmptyReply(reduced: unknown): boolean {
  if (!isFields(reduced)) return isBlank(reduced);
  const message = fields(reduced.message);
  const values = [message.role, message.content, reduced.stop_reason, errorIn(fields(reduced.extra)), usageIn(reduced)];
  return values.every(isBlank);
}

/**
 * The reduced shape as a reply: `{model, message: {role, content[]}, stop_reason, usage, extra: {id, error, incomplete, partial}}`.
 * @throws {Unreadable} when it is empty, a block has no type, or it is nested too deep to be hashed
 */
export function reducedReply(body: Uint8Array): Reply {
  const reduced = documentIn(body);
  if (!isFields(reduced)) throw new Unreadable('Cannot read a reduced answer: it is no JSON object');
  if (isEmptyReply(reduced)) throw new Unreadable('Cannot read a reduced answer: it says nothing');
  const extra = fields(reduced.extra);
  return {
    content: blocksIn(fields(reduced.message).content),
    model: text(reduced.model),
    response_id: text(extra.id),
    stop_reason: text(reduced.stop_reason),
    usage: usageIn(reduced),
    usage_verbatim: isFields(reduced.usage) ? reduced.usage : null,
    complete: extra.incomplete !== true && extra.partial !== true,
    error: errorIn(extra),
  };
}

function documentIn(body: Uint8Array): unknown {
  let document: unknown;
  try {
    document = parseForeign(bodyText(body));
  } catch {
    throw new Unreadable('Cannot read a reduced answer: it is no JSON'); // the parser's own message quotes the text
  }
  assertShallow(document, 'a reduced answer');
  return document;
}

const isBlank = (value: unknown): boolean =>
  value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0);

function blocksIn(content: unknown): ContentBlock[] {
  if (isBlank(content)) return [];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (Array.isArray(content)) return content.flatMap(blocks);
  throw new Unreadable('Cannot read a reduced answer: its content is neither text nor blocks');
}

/** A sender passes on items of OpenAI's Responses that it did not know whole, as `content`: only they hold what they call. */
function blocks(raw: unknown): ContentBlock[] {
  const own = block(raw);
  const item = isFields(own.content) && own.tool_use_id === undefined ? callBlocks(own.type, own.content) : null;
  return item ?? [own];
}

const TEXTS = [
  'text',
  'image_url',
  'image_base64',
  'media_type',
  'tool_use_id',
  'tool_name',
  'tool_result_id',
  'tool_output',
  'thinking',
  'thinking_signature',
] as const;

/** The shape's blocks are ours. Senders leave out what is empty; a call without input gets an empty one, as providers send it. */
function block(raw: unknown): ContentBlock {
  if (!isFields(raw) || text(raw.type) === '') {
    throw new Unreadable('Cannot read a reduced answer: a content block has no type');
  }
  const type = text(raw.type);
  const input = raw.tool_input ?? (type === 'tool_use' || type === 'server_tool_use' ? {} : undefined);
  return {
    type,
    ...Object.fromEntries(TEXTS.filter((key) => typeof raw[key] === 'string').map((key) => [key, raw[key]])),
    ...(input !== undefined && { tool_input: input }),
    ...(typeof raw.is_error === 'boolean' && { is_error: raw.is_error }),
    ...(raw.content !== undefined && raw.content !== null && { content: raw.content }),
  };
}

/** `{type, message}`, or a message alone. */
function errorIn({ error }: Fields): Reply['error'] {
  if (isFields(error)) return { type: text(error.type) || 'error', message: text(error.message) };
  return text(error) === '' ? null : { type: 'error', message: text(error) };
}

/** Null when nothing is reported: senders leave out zeros. The prompt includes what was read from and written to the cache. */
function usageIn(reduced: Fields): Usage | null {
  const usage = fields(reduced.usage);
  const input = tokens(usage.prompt_tokens) ?? 0;
  const output = tokens(usage.completion_tokens) ?? 0;
  const read = tokens(usage.cache_read_input_tokens) ?? 0;
  const written = tokens(usage.cache_creation_input_tokens) ?? 0;
  if (input + output + read + written === 0) return null;
  return {
    input_tokens: Math.max(input, read + written),
    output_tokens: output,
    cache_read_tokens: read,
    cache_write_5m_tokens: written, // the shape does not hold for how long
    cache_write_1h_tokens: 0,
    reasoning_tokens: 0,
  };
}
