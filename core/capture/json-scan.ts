/**
 * Finds where JSON values end: offsets within bytes, without parsing and without recursion. No library does this: parsers return
 * values, and what is stored are the bytes as they came.
 */

export const QUOTE = 0x22;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_BRACKET = 0x5b;
export const CLOSE_BRACKET = 0x5d;
export const OPEN_BRACE = 0x7b;
export const CLOSE_BRACE = 0x7d;
const BACKSLASH = 0x5c;

/**
 * Offset after a JSON value; -1 when it is torn, empty or nested deeper than `mostDepth`. Brackets are counted, not matched: the
 * parser does that.
 */
export function afterValue(body: Buffer, at: number, mostDepth: number): number {
  const first = body[at];
  if (first === QUOTE) return afterString(body, at);
  if (first !== OPEN_BRACE && first !== OPEN_BRACKET) return afterScalar(body, at);
  let depth = 0;
  for (let i = at; i < body.length; ) {
    const byte = body[i];
    if (byte === QUOTE) {
      i = afterString(body, i);
      if (i === -1) return -1;
      continue;
    }
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (++depth > mostDepth) return -1;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      if (--depth === 0) return i + 1;
    }
    i++;
  }
  return -1;
}

function afterScalar(body: Buffer, at: number): number {
  let i = at;
  for (; i < body.length; i++) {
    const byte = body[i];
    if (byte === COMMA || byte === CLOSE_BRACKET || byte === CLOSE_BRACE || isSpace(byte)) break;
  }
  return i === at ? -1 : i;
}

/** Offset after the string whose opening quote stands at `at`; -1 when it does not end. Short ones by hand, long ones by memchr. */
export function afterString(body: Buffer, at: number): number {
  let i = at + 1;
  for (const near = Math.min(i + 24, body.length); i < near; i++) {
    const byte = body[i];
    if (byte === QUOTE) return i + 1;
    if (byte === BACKSLASH) i++;
  }
  for (;;) {
    const quote = body.indexOf(QUOTE, i);
    if (quote === -1) return -1;
    let before = quote - 1;
    while (before >= i && body[before] === BACKSLASH) before--;
    if (((quote - 1 - before) & 1) === 0) return quote + 1;
    i = quote + 1;
  }
}

export function afterSpace(body: Buffer, at: number): number {
  let i = at;
  while (isSpace(body[i])) i++;
  return i;
}

const isSpace = (byte: number | undefined) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/** Offset after a byte order mark, which is stored but skipped when the body is read. */
export const afterMark = (body: Buffer) => (body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? 3 : 0);

/** The same bytes as a Buffer, which can search and decode them. */
export const bufferOf = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
