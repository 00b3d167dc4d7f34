/** What has passed on one side of a wire so far? Messages of HTTP/1.x, read as their bytes come; what is on its way counts byte by byte. */

export type Message = {
  start: string; // the request line or the status line
  headers: [string, string][]; // in the order and case of the wire
  body: Buffer[]; // as it came in, without the framing
  trailers: [string, string][];
  whole: boolean; // it has come to its end
};

export type WireReader = {
  messages: Message[];
  read(bytes: Buffer): void;
  /** Nothing more comes. @param torn in the middle of something, as far as the connection can tell */
  ended(torn: boolean): void;
};

type Options = {
  /** Of the request that a message answers, for answers; the first has 0. */
  methodOf?: (answer: number) => string;
  /** Where the messages are put; connections may share a list. */
  messages?: Message[];
};

type State = 'head' | 'fixed' | 'size' | 'chunk' | 'chunk-end' | 'trailers' | 'until-close' | 'idle';

/** Without `methodOf` it reads requests. */
export function wireReader({ methodOf, messages = [] }: Options = {}): WireReader {
  let rest: Buffer = Buffer.alloc(0);
  let state: State = 'head';
  let left = 0; // bytes of the body, or of the chunk
  let answers = 0;
  let message: Message | null = null;

  const finish = () => {
    if (message) message.whole = true;
    message = null;
    state = 'head';
  };
  const upTo = (mark: string): string | null => {
    const at = rest.indexOf(mark);
    if (at < 0) return null;
    const text = rest.subarray(0, at).toString('latin1');
    rest = rest.subarray(at + mark.length);
    return text;
  };
  const take = () => {
    const bytes = rest.subarray(0, state === 'until-close' ? rest.length : left);
    rest = rest.subarray(bytes.length);
    left -= bytes.length;
    message?.body.push(bytes);
  };
  const begin = (head: string) => {
    const [start = '', ...lines] = head.split('\r\n');
    message = { start, headers: lines.map(headerOf), body: [], trailers: [], whole: false };
    messages.push(message);
    const status = methodOf ? Number(start.split(' ')[1]) : 0;
    const interim = status >= 100 && status < 200;
    const method = methodOf && !interim ? methodOf(answers++) : '';
    const length = headerValue(message, 'content-length');
    if (interim || method === 'HEAD' || status === 204 || status === 304) finish();
    else if (/chunked$/i.test(headerValue(message, 'transfer-encoding') ?? '')) state = 'size';
    else if (length !== null) {
      left = Number(length);
      state = 'fixed';
      if (left === 0) finish();
    } else if (methodOf) state = 'until-close';
    else finish();
  };
  /** Whether there may be more to read in what is there. */
  const step = (): boolean => {
    switch (state) {
      case 'head': {
        const head = upTo('\r\n\r\n');
        if (head !== null) begin(head);
        return head !== null;
      }
      case 'fixed':
        take();
        if (left === 0) finish();
        return left === 0;
      case 'size': {
        const line = upTo('\r\n');
        if (line === null) return false;
        left = Number.parseInt(line, 16);
        state = left === 0 ? 'trailers' : 'chunk';
        return true;
      }
      case 'chunk':
        take();
        if (left === 0) state = 'chunk-end';
        return left === 0;
      case 'chunk-end': {
        const line = upTo('\r\n');
        if (line !== null) state = 'size';
        return line !== null;
      }
      case 'trailers': {
        const line = upTo('\r\n');
        if (line === '') finish();
        else if (line !== null) message?.trailers.push(headerOf(line));
        return line !== null;
      }
      case 'until-close':
        take();
        return false;
      case 'idle':
        return false;
    }
  };
  return {
    messages,
    read(bytes) {
      rest = rest.length > 0 ? Buffer.concat([rest, bytes]) : bytes;
      while (rest.length > 0 && step());
    },
    ended(torn) {
      if (state === 'until-close' && !torn) finish();
      state = 'idle';
    },
  };
}

/** How far the messages have come: equal on both sides of a wire when all that was sent has been received. */
export const progressOf = (messages: readonly Message[]): string =>
  `${messages.length} heads, ${bodyBytes(messages)} bytes, ${messages.filter(({ whole }) => whole).length} ends`;

export const bodyBytes = (messages: readonly Message[]): number =>
  messages.reduce((sum, { body }) => sum + body.reduce((bytes, piece) => bytes + piece.length, 0), 0);

export const headerValue = ({ headers }: Message, wanted: string): string | null =>
  headers.find(([name]) => name.toLowerCase() === wanted)?.[1] ?? null;

/** White space around a value is no part of it (RFC 9110 5.5). */
function headerOf(line: string): [string, string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon), line.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, '')];
}
