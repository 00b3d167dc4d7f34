/**
 * How does one call pass? Both bodies stream as they come, each side's pace rules the other, and an end that is torn on one
 * side is torn on the other. A witness sees the bytes go by and is never waited for.
 */
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import type { Ending } from '../core/model/coverage.ts';
import { endToEnd, pairs, towardsUpstream } from './headers.ts';
import { sweeping } from './sweep.ts';
import type { Upstream } from './upstream.ts';

/** Told of all that passes, in the order of passing; `ended` is the last, once, when both sides are done with the call. */
export type CallObserver = {
  asked(bytes: Buffer): void;
  /** @param raw headers of the answer as they came */
  answered(status: number, raw: readonly string[]): void;
  replied(bytes: Buffer): void;
  /** @param requestWhole whether the request had come to its end by then */
  ended(ending: Ending, requestWhole: boolean): void;
};

export type ForwardedCall = {
  incoming: IncomingMessage;
  outgoing: ServerResponse;
  upstream: Upstream;
  target: string;
  witness: CallObserver;
  /** What the client reads when no answer comes: a JSON document. */
  failure(error: Error): string;
  /** Time that the call spent in here until the answer's head was on its way, waiting for others not counted. */
  addedMs(ms: number): void;
};

export function forward(exchange: ForwardedCall): void {
  const { incoming, outgoing, upstream, target, witness } = exchange;
  const began = performance.now();
  const method = incoming.method ?? 'GET';
  let ending: Ending = 'client_closed'; // until we know better
  let handedOver = false; // the answer's last byte has reached the client's socket
  let settled = false;
  const expectsBody = hasBody(incoming);
  let requestWhole = !expectsBody;
  let request: ClientRequest | null = null;

  const settle = () => {
    if (settled) return;
    settled = true;
    incoming.socket.off('close', leave);
    witness.ended(ending, requestWhole);
  };
  const leave = () => {
    request?.destroy();
    settle();
  };
  const fail = (error: Error) => {
    if (settled || outgoing.destroyed || outgoing.headersSent) return;
    ending = 'upstream_error';
    answerFailure(outgoing, exchange.failure(error));
    incoming.resume(); // what is still being sent has nowhere to go
  };

  outgoing.sendDate = false;
  outgoing.on('finish', () => {
    const { socket } = incoming;
    handedOver = !socket.destroyed || socket.writableFinished;
    if (handedOver && requestWhole) settle();
    else if (handedOver) socket.once('close', leave); // answered early: Node no longer tells of a request cut after this
  });
  try {
    request = upstream.request(method, target, towardsUpstream(incoming.rawHeaders, method, upstream.host));
  } catch (error) {
    outgoing.on('close', settle);
    fail(error as Error);
    return;
  }

  outgoing.on('close', () => {
    if (handedOver) return;
    if (ending === 'complete') ending = 'client_closed'; // the answer was whole, but nobody waited for its end
    leave();
  });
  outgoing.on('error', () => {}); // its 'close' follows
  let answered: IncomingMessage | null = null;
  let torn = false;
  request.on('error', (error) => {
    // Of a body that lasts as long as its connection Node says after this that it has ended: a reset is an end to it
    torn = answered?.complete === false;
    fail(error); // once an answer has begun its own events tell the rest
  });
  request.on('information', ({ statusCode, statusMessage, rawHeaders }) =>
    passInformation(incoming, outgoing, statusCode, statusMessage, rawHeaders),
  );

  if (expectsBody) {
    incoming.on('error', () => {}); // the connection's 'close' follows
    passRequestBody(incoming, request, witness, () => {
      requestWhole = true;
      if (handedOver) settle();
    });
  } else request.end();
  const sentMs = performance.now() - began;

  request.on('response', (answer) => {
    const answeredAt = performance.now();
    answered = answer;
    try {
      outgoing.writeHead(answer.statusCode ?? 502, answer.statusMessage, endToEnd(answer.rawHeaders));
    } catch (error) {
      request.destroy();
      fail(error as Error);
      return;
    }
    witness.answered(answer.statusCode ?? 502, answer.rawHeaders);
    passAnswerBody(answer, outgoing, witness, {
      isTorn: () => torn,
      known(whole) {
        ending = whole ? 'complete' : 'upstream_cut';
      },
    });
    exchange.addedMs(sentMs + performance.now() - answeredAt);
  });
}

const SHORT_BYTES = 8_192;

/**
 * Writes on a piece of a body. What comes first and is short goes as Latin-1 text, a character for each byte: Node sends text in one piece
 * with the head that it still holds back, and bytes as a second one, which costs the kernel more than the copy.
 * @returns whether more may follow at once
 */
const pass = (to: ClientRequest | ServerResponse, bytes: Buffer, isFirst: boolean): boolean =>
  isFirst && bytes.length <= SHORT_BYTES ? to.write(bytes.toString('latin1'), 'latin1') : to.write(bytes);

const hasBody = ({ headers }: IncomingMessage) =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';

function passRequestBody(
  incoming: IncomingMessage,
  request: ClientRequest,
  witness: CallObserver,
  ended: () => void,
): void {
  let began = false;
  const swept = sweeping();
  incoming.on('data', (bytes: Buffer) => {
    const isFirst = !began;
    began = true;
    if (!request.destroyed && !pass(request, bytes, isFirst)) incoming.pause();
    witness.asked(bytes);
    swept(bytes);
  });
  incoming.on('end', () => {
    ended();
    if (request.destroyed) return;
    if (incoming.rawTrailers.length > 0) request.addTrailers(pairs(incoming.rawTrailers));
    request.end();
  });
  request.on('drain', () => incoming.resume());
  request.on('close', () => {
    if (!incoming.readableEnded) incoming.resume(); // the rest of a request that was answered early
  });
  // A body that came with its head leaves with it; one that is still to come does not hold its head back.
  process.nextTick(() => {
    if (!began && !incoming.readableEnded) request.flushHeaders();
  });
}

function passAnswerBody(
  answer: IncomingMessage,
  outgoing: ServerResponse,
  witness: CallObserver,
  { isTorn, known }: { isTorn(): boolean; known(whole: boolean): void },
): void {
  let began = false;
  let whole = false;
  const swept = sweeping();
  answer.on('data', (bytes: Buffer) => {
    const isFirst = !began;
    began = true;
    if (!pass(outgoing, bytes, isFirst)) answer.pause();
    witness.replied(bytes);
    swept(bytes);
  });
  outgoing.on('drain', () => answer.resume());
  answer.on('end', () => {
    if (isTorn()) return;
    whole = true;
    known(true);
    if (answer.rawTrailers.length > 0) outgoing.addTrailers(pairs(answer.rawTrailers));
    outgoing.end();
  });
  answer.on('error', () => {}); // its 'close' follows
  answer.on('close', () => {
    if (whole || outgoing.destroyed) return;
    known(false);
    cut(outgoing);
  });
  process.nextTick(() => {
    if (!began && !answer.readableEnded && !outgoing.destroyed) outgoing.flushHeaders();
  });
}

/** The same cut for the client: what has come reaches it, then the connection ends in the middle of the answer. */
function cut(outgoing: ServerResponse): void {
  outgoing.flushHeaders();
  const socket = outgoing.socket;
  if (socket) socket.destroySoon();
  else outgoing.destroy(); // pipelined: its turn on the connection never comes
}

/** `100 Continue`, early hints and the like are the upstream's to give. */
function passInformation(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  status: number,
  reason: string,
  rawHeaders: readonly string[],
): void {
  if (outgoing.headersSent || incoming.httpVersion === '1.0') return;
  if (status === 100 && incoming.headers.expect !== undefined) {
    outgoing.writeContinue(); // so that Node knows, and keeps the connection
    return;
  }
  const lines = pairs(rawHeaders).map(([name, value]) => `${name}: ${value}\r\n`);
  outgoing.socket?.write(`HTTP/1.1 ${status} ${reason}\r\n${lines.join('')}\r\n`, 'latin1');
}

function answerFailure(outgoing: ServerResponse, body: string): void {
  const headers = ['Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(body))];
  outgoing.writeHead(502, 'Bad Gateway', headers); // named, since one that was refused before would be taken again
  outgoing.end(body);
}
