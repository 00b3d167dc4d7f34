/** Reading of untrusted JSON: narrowing that never throws, for all wire formats. */

import { parseJson } from '../parse-json.ts';
import { Unreadable } from './format.ts';

export type Fields = Record<string, unknown>;

/** Deeper values would overflow the stack of what hashes and stores them later. */
const deepest = 512;

/** More tokens than any call can have: a larger figure is not a count. */
const mostTokens = 1e12;

/**
 * @example
 * isFields({ model: 'gpt-5' }); // => true
 * isFields([1]); // => false
 */
export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * The value if it is an object, else one without fields.
 * @example
 * fields({ model: 'gpt-5' }); // => { model: 'gpt-5' }
 * fields('gpt-5'); // => {}
 */
export const fields = (value: unknown): Fields => (isFields(value) ? value : {});

/**
 * The value if it is a string, else the empty string.
 * @example
 * text('gpt-5'); // => 'gpt-5'
 * text(5); // => ''
 */
export const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The value if it is a count of tokens, else null. */
export const tokens = (value: unknown): number | null =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= mostTokens ? value : null;

/** The value if it fits the database's `integer`, else null. */
export const limit = (value: unknown): number | null =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value < 2 ** 31 ? value : null;

/** The parser takes some 50 bytes for each level that is open, before it finds that the text is no JSON. */
const deepestParsed = 1_000_000;

/** `parseJson` for untrusted text: its memory is bounded. @throws {SyntaxError} no JSON, or nested more than a million deep */
export function parseForeign(json: string): unknown {
  if (nestsDeeper(json, deepestParsed)) throw new SyntaxError('Cannot parse JSON: it is nested too deep');
  return parseJson(json);
}

/** The parsed text; undefined when it is no JSON or nested too deep. */
export function parsed(json: string): unknown {
  if (nestsDeeper(json, deepest)) return undefined;
  try {
    return parseJson(json);
  } catch {
    return undefined;
  }
}

/** Whether more than `most` brackets are open at some place of the text, those in strings apart. Reads it once, without recursion. */
function nestsDeeper(json: string, most: number): boolean {
  if (json.length <= most) return false;
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) {
      at = closingQuote(json, at);
      if (at === -1) return false;
    } else if (code === OPEN_BRACKET || code === OPEN_BRACE) {
      if (++depth > most) return true;
    } else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) depth--;
  }
  return false;
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d];

/** The index of the quote that ends the string which begins at `at`; -1 when it does not end. */
function closingQuote(json: string, at: number): number {
  for (let quote = json.indexOf('"', at + 1); quote !== -1; quote = json.indexOf('"', quote + 1)) {
    let before = quote - 1;
    while (json.charCodeAt(before) === BACKSLASH) before--;
    if ((quote - before) % 2 === 1) return quote;
  }
  return -1;
}

/**
 * The texts of the objects and arrays in an array that may end early, as far as each came whole. Reads it once, without recursion.
 * @example
 * wholeElements('[{"n":1},{"n":2'); // => ['{"n":1}']
 */
export function wholeElements(json: string): string[] {
  const found: string[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) {
      at = closingQuote(json, at);
      if (at === -1) break;
    } else if (code === OPEN_BRACKET || code === OPEN_BRACE) {
      if (depth++ === 1) start = at;
    } else if (code === CLOSE_BRACKET || code === CLOSE_BRACE) {
      if (--depth === 1) found.push(json.slice(start, at + 1));
    }
  }
  return found;
}

/**
 * A tool's arguments, which providers send as JSON text. No text is no arguments; text that is no JSON (a torn stream, a model's
 * mistake) stays readable as `{_unparsed: text}`.
 */
export function toolInput(json: string): unknown {
  if (json.trim() === '') return {};
  const value = parsed(json);
  return value === undefined ? { _unparsed: json } : value;
}

/** @throws {Unreadable} when the value is nested so deep that it cannot be hashed or stored */
export function assertShallow(value: unknown, what: string): void {
  if (!isShallow(value)) throw new Unreadable(`Cannot read ${what}: it is nested more than ${deepest} deep`);
}

function isShallow(value: unknown, left = deepest): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (left === 0) return false;
  if (Array.isArray(value)) {
    for (const member of value) if (!isShallow(member, left - 1)) return false;
    return true;
  }
  for (const key in value) if (!isShallow((value as Fields)[key], left - 1)) return false;
  return true;
}
