/** What do a client and its upstream say to each other, and when? A script is a list of steps; a step waits until the one before has arrived. */

type Side = 'client' | 'upstream';

/**
 * Bytes that one side writes, or its leaving. What is `held` is followed by nothing before the other side has all of it; what is not
 * is followed at once, so that pieces may arrive together.
 */
export type Step =
  | { by: Side; wire: Buffer; held: boolean }
  | { by: Side; leaves: 'gently' | 'abruptly' }
  | { waitsMs: number };

export type Script = readonly Step[];

type Bytes = string | Uint8Array;
/** Lines as `Name: value`. */
type Headers = readonly string[];

/** Characters are bytes, as they are in heads. Bodies that hold others come as bytes. */
const wireOf = (bytes: Bytes): Buffer =>
  typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : Buffer.from(bytes);

export const client = (...pieces: Bytes[]): Step => written('client', pieces, true);
export const upstream = (...pieces: Bytes[]): Step => written('upstream', pieces, true);
export const upstreamLeaves = (leaves: 'gently' | 'abruptly' = 'gently'): Step => ({ by: 'upstream', leaves });
export const clientLeaves: Step = { by: 'client', leaves: 'abruptly' };
export const pause = (waitsMs: number): Step => ({ waitsMs });

/** Byte after byte, each in a write of its own, none waited for but the last. */
export const byteByByte = (by: Side, ...pieces: Bytes[]): Step[] => {
  const all = Buffer.concat(pieces.map(wireOf));
  return [...all].map((byte, at) => ({ by, wire: Buffer.of(byte), held: at === all.length - 1 }));
};

const written = (by: Side, pieces: Bytes[], held: boolean): Step => ({
  by,
  wire: Buffer.concat(pieces.map(wireOf)),
  held,
});

export const askHead = (target: string, headers: Headers = [], method = 'POST'): string =>
  `${[`${method} ${target} HTTP/1.1`, 'Host: agent.example', ...headers].join('\r\n')}\r\n\r\n`;

export const answerHead = (status: string, headers: Headers = []): string =>
  `${[`HTTP/1.1 ${status}`, ...headers].join('\r\n')}\r\n\r\n`;

/** A turn as an agent asks for it. */
export const asks = (body: Bytes = '{"model":"m"}', headers: Headers = []): Step =>
  client(
    askHead('/v1/messages?beta=true', [
      'Content-Type: application/json',
      ...headers,
      `Content-Length: ${wireOf(body).length}`,
    ]),
    body,
  );

/** A request without a body. */
export const gets = (target = '/v1/models', headers: Headers = [], method = 'GET'): Step =>
  client(askHead(target, headers, method));

/** An answer whose length is told. */
export const answers = (status: string, headers: Headers, body: Bytes = ''): Step =>
  upstream(answerHead(status, [...headers, `Content-Length: ${wireOf(body).length}`]), body);

export const chunk = (bytes: Bytes, extension = ''): Buffer => {
  const body = wireOf(bytes);
  return Buffer.concat([wireOf(`${body.length.toString(16)}${extension}\r\n`), body, wireOf('\r\n')]);
};

export const lastChunk = (trailers: Headers = []): string =>
  `0\r\n${trailers.map((line) => `${line}\r\n`).join('')}\r\n`;

/** An answer in chunks, each held until the one before has reached the client. */
export const streams = (headers: Headers, ...frames: Bytes[]): Step[] => [
  upstream(answerHead('200 OK', [...headers, 'Transfer-Encoding: chunked'])),
  ...frames.map((frame) => upstream(chunk(frame))),
  upstream(lastChunk()),
];

/** The answers of a turn that is streamed in these frames. */
export const eventStream = (...frames: Bytes[]): Step[] => [
  asks('{"stream":true}'),
  ...streams(['Content-Type: text/event-stream; charset=utf-8', 'Cache-Control: no-cache'], ...frames),
];
