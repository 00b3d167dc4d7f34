/** Makes visible what a text hides: control characters, turned directions, characters without width, and smuggled tag characters. */

/** A run of a text. `hidden`: what stands for something that would not be seen; `means`: what it is, in words. */
export type VisiblePart = { text: string; hidden?: { means: string } };

const TAGS = '\\u{E0000}-\\u{E007F}';
const CONTROLS = '\\x00-\\x08\\x0B-\\x1F\\x7F-\\x9F';
const DIRECTIONS = '\\u061C\\u200E\\u200F\\u202A-\\u202E\\u2066-\\u2069';
const WIDTHLESS =
  '\\u00AD\\u034F\\u115F\\u1160\\u17B4\\u17B5\\u180B-\\u180F\\u200B\\u200C\\u2060-\\u2065\\u206A-\\u206F\\u3164\\uFEFF\\uFFA0\\uFFF9-\\uFFFB';
const SELECTORS = '\\u{E0100}-\\u{E01EF}';
/** The joiner of emoji (U+200D) and the selectors of their colour (U+FE00-FE0F) are left: they belong to what is seen. */
const HIDDEN = new RegExp(`[${TAGS}]+|[${SELECTORS}]+|[${CONTROLS}${DIRECTIONS}${WIDTHLESS}]`, 'gu');
const CRLF = /\r\n/g;
/** A flag of a region (as Scotland's) is written with tags, after a black flag. */
const FLAG = /\u{1F3F4}$/u;

/** Whether `visibleParts` would mark something. */
export const hidesText = (text: string): boolean => visibleParts(text).some(({ hidden }) => hidden !== undefined);

/** The text in runs, in order; those that are seen as they are come whole. */
export function visibleParts(text: string): VisiblePart[] {
  const lines = text.includes('\r\n') ? text.replace(CRLF, '\n') : text;
  const parts: VisiblePart[] = [];
  let end = 0;
  for (const { 0: found, index } of lines.matchAll(HIDDEN)) {
    if (isFlag(lines.slice(Math.max(0, index - 2), index), found)) continue;
    if (index > end) parts.push({ text: lines.slice(end, index) });
    parts.push(shown(found));
    end = index + found.length;
  }
  if (end < lines.length) parts.push({ text: lines.slice(end) });
  return parts;
}

/** The text in one run, with what it hides written out: for titles, file names and the clipboard of labels. */
export const visibleText = (text: string): string =>
  visibleParts(text)
    .map((part) => part.text)
    .join('');

function shown(found: string): VisiblePart {
  const point = found.codePointAt(0) ?? 0;
  if (point >= 0xe0000 && point <= 0xe007f) {
    const words = ascii(found, 0xe0000);
    return { text: `⟦hidden: "${words}"⟧`, hidden: { means: 'text in tag characters, which nobody sees' } };
  }
  if (point >= 0xe0100) {
    const words = [...found].map((one) => ((one.codePointAt(0) ?? 0) - 0xe0100 + 16).toString(16)).join(' ');
    return { text: `⟦hidden bytes: ${words}⟧`, hidden: { means: 'bytes in variation selectors, which nobody sees' } };
  }
  if (point < 0x20)
    return { text: String.fromCodePoint(0x2400 + point), hidden: { means: `control character ${hex(point)}` } };
  if (point === 0x7f) return { text: '␡', hidden: { means: 'control character U+007F' } };
  return { text: `⟦${hex(point)}⟧`, hidden: { means: meaning(point) } };
}

function meaning(point: number): string {
  if (point < 0xa0) return 'control character';
  if (point === 0x061c || point === 0x200e || point === 0x200f || (point >= 0x202a && point <= 0x202e))
    return 'turns the direction of writing';
  if (point >= 0x2066 && point <= 0x2069) return 'turns the direction of writing';
  return 'a character without width';
}

/** Tag characters as what they spell; those that spell nothing as a point. */
const ascii = (tags: string, base: number): string =>
  [...tags]
    .map((one) => (one.codePointAt(0) ?? 0) - base)
    .map((code) => (code >= 0x20 && code < 0x7f ? String.fromCharCode(code) : code === 0x7f ? '' : '·'))
    .join('');

const isFlag = (before: string, tags: string): boolean =>
  FLAG.test(before) && /^[\u{E0030}-\u{E0039}\u{E0061}-\u{E007A}]{2,7}\u{E007F}$/u.test(tags);

const hex = (point: number): string => `U+${point.toString(16).toUpperCase().padStart(4, '0')}`;
