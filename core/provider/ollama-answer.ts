/** Ollama's answers: a stream of JSON lines or one document, recognised by the bytes, since each is sent under the other's content type. */
import type { Reply } from '../model/reply.ts';
import { noUsage, type Usage } from '../model/usage.ts';
import { Unreadable } from './format.ts';
import { type Fields, fields, isFields, parsed, text, tokens } from './json.ts';
import { jsonLines } from './ndjson.ts';
import { contentOf } from './ollama-message.ts';
import { bodyText } from './sse.ts';

/**
 * @param messageIn the message, or the piece of one, in an object of the answer; null when it holds none
 * @throws {Unreadable} when the bytes are neither an answer nor an error
 */
export function ollamaAnswer(
  body: Uint8Array,
  contentType: string,
  messageIn: (chunk: Fields) => Fields | null,
): Reply {
  const answer = bodyText(body);
  const document = parsed(answer);
  const lines = document === undefined ? jsonLines(answer) : [{ json: fields(document) }];
  let model = '';
  let stopReason = '';
  let done = false;
  let figures: Fields | null = null;
  let error: Reply['error'] = null;
  let isAnswer = isStreamType(contentType) && lines.every((line) => line === 'cut');
  const growing = growingMessage();

  for (const line of lines) {
    if (line === 'unreadable') {
      error ??= { type: 'unreadable_event', message: 'Cannot read a line of the stream: it is no JSON object' };
    }
    const chunk = fields(typeof line === 'string' ? null : line.json);
    const message = messageIn(chunk);
    const failed = errorIn(chunk);
    isAnswer ||= message !== null || failed !== null || typeof chunk.done === 'boolean';
    model ||= text(chunk.model);
    stopReason = text(chunk.done_reason) || stopReason;
    done ||= chunk.done === true;
    figures = figuresIn(chunk) ?? figures;
    error = failed ?? error;
    if (message) growing.add(message);
  }
  if (!isAnswer) throw new Unreadable('Cannot read an Ollama answer: it is neither a stream nor a document of its own');
  const isError = document !== undefined && error !== null;
  return {
    content: contentOf(growing.whole()),
    model,
    response_id: '',
    stop_reason: stopReason || (done ? 'stop' : ''),
    usage: figures && usageOf(figures),
    usage_verbatim: figures,
    complete: isError || (done && error === null),
    error,
  };
}

/** Only the content type distinguishes a stream that was cut within its first line from a torn document. */
const isStreamType = (contentType: string): boolean => /^\s*application\/(?:x-)?ndjson\b/i.test(contentType);

/**
 * A message under way. Each tool call comes whole and is one more: models may ask for a function twice, and their calls' index
 * is of no use, since for many models all are numbered 0.
 */
function growingMessage() {
  let thinking = '';
  let content = '';
  const images: unknown[] = [];
  const calls: unknown[] = [];
  return {
    add(piece: Fields): void {
      thinking += text(piece.thinking);
      content += text(piece.content);
      if (Array.isArray(piece.images)) for (const image of piece.images) images.push(image);
      if (Array.isArray(piece.tool_calls)) for (const call of piece.tool_calls) calls.push(call);
    },
    whole: (): Fields => ({ thinking, content, images, tool_calls: calls }),
  };
}

/** Ollama's errors are plain text; gateways before it send objects. Null when it is no error. */
function errorIn({ error }: Fields): Reply['error'] {
  if (isFields(error)) return { type: text(error.type) || 'error', message: text(error.message) };
  return text(error) === '' ? null : { type: 'error', message: text(error) };
}

/** The counts and durations in the last line; null when it has none. Durations are nanoseconds. */
function figuresIn(chunk: Fields): Fields | null {
  const figures = Object.entries(chunk).filter(
    ([key, value]) => /_(?:count|duration)$/.test(key) && typeof value === 'number',
  );
  return figures.length === 0 ? null : Object.fromEntries(figures);
}

/** Ollama leaves out a count of 0: older versions have none for a prompt that was cached whole. Null when neither is present. */
function usageOf(figures: Fields): Usage | null {
  const input = tokens(figures.prompt_eval_count);
  const output = tokens(figures.eval_count);
  if (input === null && output === null) return null;
  return { ...noUsage, input_tokens: input ?? 0, output_tokens: output ?? 0 };
}
