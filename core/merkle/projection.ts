/**
 * The part of a message that is hashed. What a harness changes each time it sends the same message again stays out of the hash:
 * its tags, white space, thinking signatures, cache marks, defaults of tool inputs. The message itself is stored as it came.
 * Which tags those are, `core/harness` says; they are removed one name at a time, in their order: the hash depends on it.
 */
import type { Message } from '../model/bucket.ts';
import type { ContentBlock } from '../model/content-block.ts';
import { isObject } from '../parse-json.ts';
import { canonicalJson } from './canonical-json.ts';

/**
 * The hashed text of a message: RFC 8785 JSON of `{content, role, type: 'message'}` with each block projected. `is_error` is
 * always present, every other field only when it is not empty; a text block of which nothing remains is left out.
 */
export function canonicalMessage(message: Message, tags: readonly string[]): string {
  // block by block, so that the garbage of each can be collected before the next: there may be a hundred thousand
  const blocks = message.content
    .filter((block) => block.type !== 'text' || projectedText(block.text ?? '', tags) !== '')
    .map((block) => canonicalJson(projected(block, tags)));
  return `{"content":[${blocks.join(',')}],"role":${canonicalJson(message.role)},"type":"message"}`;
}

function projected(block: ContentBlock, tags: readonly string[]): Record<string, unknown> {
  const members: Record<string, unknown> = {
    text: projectedText(block.text ?? '', tags),
    image_url: block.image_url,
    image_base64: block.image_base64,
    media_type: block.media_type,
    tool_use_id: block.tool_use_id,
    tool_name: block.tool_name,
    tool_input: isObject(block.tool_input) ? pruned(block.tool_input) : finite(block.tool_input),
    tool_result_id: block.tool_result_id,
    tool_output: projectedText(block.tool_output ?? '', tags),
    thinking: block.thinking,
    content: finite(withoutCacheControl(block.content)),
  };
  const present = Object.entries(members).filter(([, value]) => !isEmpty(value));
  return { type: block.type, is_error: block.is_error ?? false, ...Object.fromEntries(present) };
}

/** Text without the spans of tags and without differences of white space. Linear in the text's length. */
export const projectedText = (text: string, tags: readonly string[]): string => tidied(withoutTags(text, tags));

/** Text without `<tag>…</tag>` for each tag; a tag that is never closed removes the rest. */
export const withoutTags = (text: string, tags: readonly string[]): string =>
  text.includes('<') ? tags.reduce((rest, tag) => withoutSpans(rest, tag), text) : text;

/**
 * Removes spans as if each removal were followed by a search from the start: a tag that only arises where a removed span joins
 * its neighbours counts too. Text is never joined on the way, which would be quadratic.
 */
function withoutSpans(text: string, tag: string): string {
  const open = `<${tag}>`;
  const close = `</${tag}>`;
  let start = text.indexOf(open);
  if (start < 0) return text;
  const chunks: string[] = [text.slice(0, start)];
  let seam = seamOf(chunks, open.length - 1); // the end of the kept text, where the next chunk may complete a tag
  for (;;) {
    const end = text.indexOf(close, start + open.length);
    if (end < 0) return chunks.join('');
    const at = end + close.length;
    const joined = (seam + text.slice(at, at + open.length - 1)).indexOf(open);
    if (joined >= 0) {
      drop(chunks, seam.length - joined);
      start = at - (seam.length - joined); // so that `start + open.length` is the end of the joined tag
      seam = seamOf(chunks, open.length - 1);
      continue;
    }
    start = text.indexOf(open, at);
    const chunk = text.slice(at, start < 0 ? text.length : start);
    if (chunk !== '') chunks.push(chunk);
    if (start < 0) return chunks.join('');
    seam = seamOf(chunks, open.length - 1);
  }
}

function seamOf(chunks: readonly string[], length: number): string {
  let seam = '';
  for (let i = chunks.length - 1; i >= 0 && seam.length < length; i--) seam = (chunks[i] ?? '') + seam;
  return length < seam.length ? seam.slice(seam.length - length) : seam;
}

function drop(chunks: string[], count: number): void {
  let left = count;
  while (left > 0) {
    const last = chunks.pop() ?? '';
    if (last.length > left) chunks.push(last.slice(0, last.length - left));
    left -= Math.min(left, last.length);
    if (chunks.length === 0) return;
  }
}

/** CRLF is LF, no blanks at a line's end, no empty lines, nothing around the whole. */
function tidied(text: string): string {
  const lines = text.includes('\n') ? text.replaceAll('\r\n', '\n').split('\n') : [text];
  if (lines.length === 1) return trimmed(text);
  return trimmed(
    lines
      .map((line, i) => (i < lines.length - 1 ? withoutTrailingBlanks(line) : line))
      .filter((line) => line !== '')
      .join('\n'),
  );
}

function withoutTrailingBlanks(line: string): string {
  let end = line.length;
  while (end > 0 && (line[end - 1] === ' ' || line[end - 1] === '\t')) end--;
  return end === line.length ? line : line.slice(0, end);
}

/** White space as Unicode has it (`White_Space`): unlike `trim`, NEL is and the byte order mark is not. */
export function trimmed(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isSpace(text.charCodeAt(start))) start++;
  while (end > start && isSpace(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

const isSpace = (code: number) =>
  code === 32 ||
  (code >= 9 && code <= 13) ||
  (code > 127 &&
    (code === 0x85 ||
      code === 0xa0 ||
      code === 0x1680 ||
      (code >= 0x2000 && code <= 0x200a) ||
      code === 0x2028 ||
      code === 0x2029 ||
      code === 0x202f ||
      code === 0x205f ||
      code === 0x3000));

/** A tool's input without keys that hold nothing (null, false, 0, '', [], {}): harnesses leave such defaults out when they send it again. */
const pruned = (input: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(input)
      .map(([key, value]): [string, unknown] => [key, isObject(value) ? pruned(value) : finite(value)])
      .filter(([, value]) => !isEmpty(value) && value !== false && value !== 0),
  );

/** JSON.parse makes Infinity of 1e400, which canonical JSON refuses; as in JSON.stringify it becomes null. */
function finite(value: unknown): unknown {
  if (typeof value === 'number') return Number.isFinite(value) ? value : null;
  return mapped(value, finite);
}

/** The value without `cache_control` members at any depth: a client moves them from message to message. */
export function withoutCacheControl(value: unknown): unknown {
  if (!isObject(value)) return mapped(value, withoutCacheControl);
  const entries = Object.entries(value).filter(([key]) => key !== 'cache_control');
  return Object.fromEntries(entries.map(([key, member]) => [key, withoutCacheControl(member)]));
}

function mapped(value: unknown, change: (member: unknown) => unknown): unknown {
  if (Array.isArray(value)) return value.map(change);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, change(member)]));
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (Array.isArray(value)) return value.length === 0;
  return isObject(value) && Object.keys(value).length === 0;
}
