/** The form of a body: which of the ways to show it fit, by its bytes and what its headers say. */
import { createParser } from 'eventsource-parser';
import { Numeral } from '../../../parts/json-row-list.ts';

export type BodyView = 'text' | 'json' | 'events' | 'hex';

/** `name` is the event's own, or its type where the data has one; `data` as it was sent. */
export type BodyEvent = { name: string; id: string; data: string };

export type BodyForm = { views: BodyView[]; text: string | null; json: { value: unknown } | null; events: BodyEvent[] };

const MOST_JSON_CHARACTERS = 32_000_000;
const MOST_EXACT_CHARACTERS = 2_000_000; // each value of which is looked at a second time

/** @param bytes decoded @param contentType as its header says it, '' for none */
export function bodyForm(bytes: Uint8Array, contentType: string): BodyForm {
  const text = textOf(bytes);
  if (text === null) return { views: ['hex'], text: null, json: null, events: [] };
  const json = jsonOf(text);
  const events = json ? [] : eventsOf(text, contentType);
  const views: BodyView[] = [];
  if (json) views.push('json');
  if (events.length > 0) views.push('events');
  return { views: [...views, 'text', 'hex'], text, json, events };
}

/** null: not UTF-8, or with NUL in it, which no text has. */
function textOf(bytes: Uint8Array): string | null {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
    return text.includes('\0') ? null : text;
  } catch {
    return null;
  }
}

export function jsonOf(text: string): { value: unknown } | null {
  if (text.length > MOST_JSON_CHARACTERS || !/^\s*[[{"]/.test(text)) return null;
  try {
    return { value: parsed(text) };
  } catch {
    return null;
  }
}

/** With the digits of its numbers as they were recorded, where that takes neither long nor more depth than there is. */
function parsed(text: string): unknown {
  try {
    if (text.length <= MOST_EXACT_CHARACTERS) return exactly(text, numeral);
  } catch {
    // nested too deeply for the second look, or no JSON
  }
  return JSON.parse(text) as unknown;
}

type Reviver = (key: string, value: unknown, context?: { source?: string }) => unknown;
const exactly = JSON.parse as (text: string, reviver: Reviver) => unknown;

/** A number as it was recorded, where a number of ours has other digits, as 1234567890123456789 would. Not every browser says. */
const numeral: Reviver = (_key, value, { source } = {}) =>
  typeof value === 'number' && source !== undefined && String(value) !== source ? new Numeral(source) : value;

/** Of an event stream, or of JSON lines. */
function eventsOf(text: string, contentType: string): BodyEvent[] {
  if (/ndjson|jsonl/i.test(contentType)) return jsonLines(text);
  if (!/event-stream/i.test(contentType) && !/^(?:event|data|id|retry|):/.test(text)) return [];
  const events: BodyEvent[] = [];
  const parser = createParser({
    onEvent: ({ event, id, data }) => events.push({ name: event ?? typeIn(data), id: id ?? '', data }),
  });
  // one kind of line end: the parser looks for both at each line, which is quadratic where only one occurs
  const lines = text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text;
  parser.feed(lines.endsWith('\n\n') ? lines : `${lines}\n\n`); // one that was cut off has no end, and is shown
  return events;
}

const jsonLines = (text: string): BodyEvent[] =>
  text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => ({ name: typeIn(line), id: '', data: line }));

/** The `type` of a JSON object, by its beginning, so that a long one is not parsed for its row. */
const typeIn = (data: string): string => /^\s*\{\s*"type"\s*:\s*"([\w.:-]{1,80})"/.exec(data.slice(0, 200))?.[1] ?? '';
