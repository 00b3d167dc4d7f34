/**
 * Cuts a request body at the elements of its top-level arrays, to the byte, so that what an agent re-sends is stored once. No library
 * does this: those that cut by content follow a rolling hash, and a slice here has to be a message that is read by itself.
 */
import { isObject } from '../parse-json.ts';
import { Unreadable } from '../provider/format.ts';
import { cutArrays } from '../provider/formats.ts';
import { parseForeign } from '../provider/json.ts';
import {
  afterMark,
  afterSpace,
  afterString,
  afterValue,
  bufferOf,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from './json-scan.ts';

/** The key of a top-level array whose elements are pieces of their own: those of the wire formats, and `records` of a transcript. */
export type Section = string;
export type Piece = { section: Section | null; start: number; end: number };

/** `regular`: no section's key is repeated, so that the cut can be reused for a body that begins or ends alike. */
export type Cut = { pieces: Piece[]; regular: boolean };

/** Called after each element. Where the rest equals that of a body cut before: its pieces, moved to this body's offsets; null: not yet. */
export type Rejoin = (section: Section, at: number, before: readonly Piece[]) => Piece[] | null;

/** Deeper JSON is stored, but neither cut nor read: the code that reads it recurses. */
const MAX_DEPTH = 512;
/** A body of more than `mostPieces` elements stays in one piece: a row for each would cost more than it saves. */
type BodyKind = { sections: readonly Section[]; mostDepth: number; mostPieces: number };
/** A request to a provider; `records` in it are a member like any other. */
const REQUEST: BodyKind = {
  sections: cutArrays,
  mostDepth: MAX_DEPTH,
  mostPieces: 32_768, // more messages than are read (read-turn.ts)
};
/** Each record is read by itself, so one that is nested too deep must not keep the others from being pieces. */
const TRANSCRIPT: BodyKind = { sections: ['records'], mostDepth: Number.POSITIVE_INFINITY, mostPieces: 65_536 };

/**
 * The pieces of a body in order; together they are the body, byte for byte. An element's piece holds the separator before it
 * (comma, white space), so that appended elements leave the earlier pieces as they were; what lies between is `section: null`.
 * Of a repeated key only the last array is cut, as JSON parsers see it. A body that is not a JSON object is one piece.
 */
export const sliceBody = (body: Uint8Array): Piece[] => cutOf(body).pieces;

/** The same for a transcript upload: each of its records is a piece. (transcript-slices.ts) */
export const cutRecords = (body: Uint8Array): Piece[] =>
  scan(bufferOf(body), [], null, TRANSCRIPT)?.pieces ?? inOne(body);

/** As `sliceBody`, with what `core/capture/shared-slices.ts` needs. Resumes after the last of `known`, which is an element's piece. */
export function cutOf(body: Uint8Array, known: readonly Piece[] = [], rejoin: Rejoin | null = null): Cut {
  return scan(bufferOf(body), [...known], rejoin, REQUEST) ?? { pieces: inOne(body), regular: false };
}

const inOne = (body: Uint8Array): Piece[] =>
  body.byteLength === 0 ? [] : [{ section: null, start: 0, end: body.byteLength }];

/** The value of an element's piece. @throws {Unreadable} when it is not JSON */
export function parseElement(piece: Uint8Array): unknown {
  const bytes = bufferOf(piece);
  let at = afterSpace(bytes, 0);
  if (bytes[at] === COMMA) at = afterSpace(bytes, at + 1);
  return parsed(bytes.subarray(at));
}

/** The parsed body with its cut arrays empty. @throws {Unreadable} when it is not a JSON object, or nested too deep */
export function skeletonOf(body: Uint8Array, pieces: readonly Piece[]): Record<string, unknown> {
  const glue = pieces.filter(({ section }) => section === null).map(({ start, end }) => body.subarray(start, end));
  const bytes = glue.length === 1 && glue[0] ? bufferOf(glue[0]) : Buffer.concat(glue);
  const at = afterMark(bytes);
  const value = parsed(bytes.subarray(at));
  if (!isObject(value)) {
    throw new Unreadable('Cannot read the body: it is not a JSON object');
  }
  if (afterValue(bytes, afterSpace(bytes, at), MAX_DEPTH) === -1)
    throw new Unreadable('Cannot read the body: it is nested too deep');
  return value;
}

function parsed(bytes: Buffer): unknown {
  try {
    return parseForeign(bytes.toString('utf8'));
  } catch {
    throw new Unreadable('Cannot read the body: it is not JSON'); // the parser's own message quotes the text
  }
}

/** A scan under way. `glueStart`: the offset behind the last element that was cut. */
type Scanning = Pick<BodyKind, 'mostDepth' | 'mostPieces'> & {
  body: Buffer;
  pieces: Piece[];
  rejoin: Rejoin | null;
  glueStart: number;
};

/** null: not a JSON object, torn, nested too deep, or of too many elements. */
function scan(
  body: Buffer,
  pieces: Piece[],
  rejoin: Rejoin | null,
  { sections, mostDepth, mostPieces }: BodyKind,
): Cut | null {
  let regular = true;
  const scanning: Scanning = { body, pieces, rejoin, mostDepth, mostPieces, glueStart: 0 };
  const firstOf = firstPieces(pieces);
  let at: number;

  const resumeAt = pieces.at(-1);
  if (resumeAt?.section) {
    const after = cutArray(scanning, resumeAt.section, resumeAt.end, true);
    if (after === 'rejoined') return { pieces, regular };
    if (after === -1) return null;
    at = afterSpace(body, after);
    if (body[at] === COMMA) at = afterSpace(body, at + 1);
    else if (body[at] !== CLOSE_BRACE) return null;
  } else {
    at = afterSpace(body, afterMark(body));
    if (body[at] !== OPEN_BRACE) return null;
    at = afterSpace(body, at + 1);
  }

  while (body[at] !== CLOSE_BRACE) {
    if (body[at] !== QUOTE) return null;
    const keyEnd = afterString(body, at);
    if (keyEnd === -1) return null;
    const section = sectionNamed(body, at, keyEnd, sections);
    at = afterSpace(body, keyEnd);
    if (body[at] !== COLON) return null;
    at = afterSpace(body, at + 1);
    if (section && uncut(pieces, section, firstOf)) regular = false;
    if (section && body[at] === OPEN_BRACKET) {
      const before = pieces.length;
      const after = cutArray(scanning, section, at + 1, false);
      if (after === 'rejoined') return { pieces, regular };
      if (pieces.length > before) firstOf.set(section, before + 1); // behind what lies before the array
      at = after;
    } else {
      at = afterValue(body, at, mostDepth);
    }
    if (at === -1) return null;
    at = afterSpace(body, at);
    if (body[at] === CLOSE_BRACE) break;
    if (body[at] !== COMMA) return null;
    at = afterSpace(body, at + 1);
  }
  if (at >= body.length || afterSpace(body, at + 1) !== body.length) return null;
  pieces.push({ section: null, start: scanning.glueStart, end: body.length });
  return { pieces: regular ? pieces : joined(pieces), regular };
}

/** Where the pieces of each section begin: they stand one behind the other, and a search at each of many keys would cost their product. */
function firstPieces(pieces: readonly Piece[]): Map<Section, number> {
  const firstOf = new Map<Section, number>();
  for (const [index, { section }] of pieces.entries())
    if (section && !firstOf.has(section)) firstOf.set(section, index);
  return firstOf;
}

/** Takes back the cuts of a section whose key is repeated. @returns whether there were any */
function uncut(pieces: readonly Piece[], section: Section, firstOf: Map<Section, number>): boolean {
  const first = firstOf.get(section);
  if (first === undefined) return false;
  firstOf.delete(section);
  for (let i = first; pieces[i]?.section === section; i++) (pieces[i] as Piece).section = null;
  return true;
}

/** Cuts the elements from `from` to the closing bracket; returns the offset after it, -1 when torn, 'rejoined' when done. */
function cutArray(scanning: Scanning, section: Section, from: number, resumed: boolean): number | 'rejoined' {
  const { body, pieces, rejoin, mostDepth, mostPieces } = scanning;
  let last = from;
  let first = !resumed;
  for (;;) {
    let next = afterSpace(body, last);
    if (body[next] === CLOSE_BRACKET) {
      if (!first) scanning.glueStart = last;
      return next + 1;
    }
    if (first) {
      pieces.push({ section: null, start: scanning.glueStart, end: from });
    } else {
      if (body[next] !== COMMA) return -1;
      next = afterSpace(body, next + 1);
    }
    const end = afterValue(body, next, mostDepth);
    if (end === -1 || pieces.length >= mostPieces) return -1;
    pieces.push({ section, start: last, end });
    last = end;
    first = false;
    const rest = rejoin?.(section, end, pieces);
    if (rest) {
      for (const piece of rest) pieces.push(piece);
      return 'rejoined';
    }
  }
}

/** The section that a key names, however the key is spelt. */
function sectionNamed(body: Buffer, start: number, end: number, sections: readonly Section[]): Section | null {
  let key = body.toString('latin1', start + 1, end - 1);
  if (key.includes('\\')) {
    try {
      key = JSON.parse(body.toString('utf8', start, end)) as string;
    } catch {
      return null;
    }
  }
  return sections.find((section) => section === key) ?? null;
}

/** Adjacent pieces without a section become one. */
function joined(pieces: readonly Piece[]): Piece[] {
  const out: Piece[] = [];
  for (const piece of pieces) {
    const last = out.at(-1);
    if (last && last.section === null && piece.section === null) last.end = piece.end;
    else out.push({ ...piece });
  }
  return out;
}
