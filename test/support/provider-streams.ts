/** Streams of providers: server-sent events as the two formats frame them, for tests of their readers. */

/** Named events, as Anthropic sends them: the name is the payload's `type`. */
export const namedEvents = (payloads: readonly { type: string }[]): string =>
  payloads.map((payload) => `event: ${payload.type}\ndata: ${JSON.stringify(payload)}\n\n`).join('');

/** Nameless events closed by `[DONE]`, as OpenAI sends them. */
export const chunkEvents = (chunks: readonly unknown[]): string =>
  `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`;

export const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);

/** The text in pieces of the given length. */
export const pieces = (text: string, length: number): string[] =>
  Array.from({ length: Math.ceil(text.length / length) }, (_, i) => text.slice(i * length, (i + 1) * length));
