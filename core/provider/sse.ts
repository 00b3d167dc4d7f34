/** The server-sent events in the copy of a stream, out of bytes that may end anywhere. */
import { createParser } from 'eventsource-parser';
import type { Reply } from '../model/reply.ts';
import { Unreadable } from './format.ts';
import { parsed } from './json.ts';

/** The text of a body: UTF-8 without its byte order mark; what is no UTF-8, such as a character cut in two, is U+FFFD. */
export const bodyText = (body: Uint8Array): string => new TextDecoder().decode(body);

/**
 * The shape of a body: by its content type where its first characters do not contradict that (errors come as plain documents
 * under a stream's content type), else by its first characters. Null when it is neither, as when a content coding was not undone.
 */
export function bodyShape(body: string, contentType: string): 'stream' | 'document' | null {
  const start = /^\s*(.{0,8})/s.exec(body.slice(0, 4096))?.[1] ?? '';
  if (start.startsWith('{') || start.startsWith('[')) return 'document';
  if (/^(?::|event|data|id\b|id:|retry)/.test(start)) return 'stream';
  const isStreamType = /^\s*text\/event-stream\b/i.test(contentType);
  const cutInFirstWord = ['event', 'data', 'id', 'retry'].some((word) => word.startsWith(start));
  return isStreamType && cutInFirstWord ? 'stream' : null;
}

/** How a format reads its answers; `what` names one: 'a chat answer'. */
type AnswerReaders = { what: string; streamed(answer: string): Reply; oneShot(document: unknown): Reply };

/** Reads an answer in whichever of the two shapes it came; `oneShot` gets undefined for what is no JSON. @throws {Unreadable} it has neither */
export function replyIn(body: Uint8Array, contentType: string, { what, streamed, oneShot }: AnswerReaders): Reply {
  const answer = bodyText(body);
  switch (bodyShape(answer, contentType)) {
    case 'stream':
      return streamed(answer);
    case 'document':
      return oneShot(parsed(answer));
    default:
      throw new Unreadable(`Cannot read ${what}: it is neither a stream nor a document`);
  }
}

/**
 * Each event's `data`, in order. CRLF and CR end lines as LF does; comments, unknown fields and events without data are left out;
 * the last event counts although its closing blank line is missing.
 */
export function eventData(body: string): string[] {
  const data: string[] = [];
  const parser = createParser({ onEvent: (event) => data.push(event.data) });
  // one kind of line end: the parser looks for both at each line, which is quadratic where only one occurs
  parser.feed(body.includes('\r') ? body.replace(/\r\n?/g, '\n') : body);
  parser.feed('\n\n');
  return data;
}

/** An event of a stream: its JSON, `'done'` for OpenAI's closing mark, `'unreadable'` for JSON that is broken elsewhere than at the cut. */
export type StreamEvent = { json: unknown } | 'done' | 'unreadable';

/** The events of a stream of JSON. Data that does not begin like JSON (keep-alives) is left out, and so is a cut last event. */
export function streamEvents(body: string): StreamEvent[] {
  const data = eventData(body);
  return data.flatMap((entry, i): StreamEvent[] => {
    const json = entry.trim();
    if (json === '[DONE]') return ['done'];
    if (!json.startsWith('{') && !json.startsWith('[')) return [];
    const value = parsed(json);
    if (value !== undefined) return [{ json: value }];
    return i === data.length - 1 ? [] : ['unreadable'];
  });
}
