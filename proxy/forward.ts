/**
 * Forwards one call: both bodies stream as they come, with backpressure from each side to the other, and a connection that is cut on one
 * side is cut on the other. An observer sees the bytes pass; the call never waits for it. No library does this: those that forward
 * change headers on the way, and none shows where and how a call was cut.
 */
import type { ClientRequest, IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Ending } from '../core/model/coverage.ts';
import { UNREQUESTED_UPGRADE } from './failure.ts';
import { endToEnd, pairs, towardsUpstream } from './headers.ts';
import { sweeping } from './sweep.ts';
import type { Upstream } from './upstream.ts';

/** Called for all that passes, in the order of passing. `ended` is the last call and comes once, when both sides are done. */
export type CallObserver = {
  requestBytes(bytes: Buffer): void;
  /** @param raw headers of the response as they came */
  responseHead(status: number, raw: readonly string[]): void;
  responseBytes(bytes: Buffer): void;
  /** @param requestWhole whether the request had come to its end by then */
  ended(ending: Ending, requestWhole: boolean): void;
};

export type ForwardedCall = {
  incoming: IncomingMessage;
  outgoing: ServerResponse;
  upstream: Upstream;
  target: string;
  observer: CallObserver;
  /** The body of the response to the client when the upstream gives none: a JSON document. */
  failure(error: Error): string;
  /** Time that the proxy itself took until the response head was sent; waiting for client and upstream is not counted. */
  addedMs(ms: number): void;
};

export function forward(exchange: ForwardedCall): void {
  const { incoming, outgoing, upstream, target, observer } = exchange;
  const began = performance.now();
  const method = incoming.method ?? 'GET';
  let ending: Ending = 'client_closed'; // until we know better
  let delivered = false; // the last byte of the response has reached the client's socket
  let settled = false;
  const expectsBody = hasBody(incoming);
  let requestWhole = !expectsBody;
  let request: ClientRequest | null = null;

  const settle = () => {
    if (settled) return;
    settled = true;
    incoming.socket.off('close', abort);
    incoming.socket.off('close', onClientLeft);
    observer.ended(ending, requestWhole);
  };
  const abort = () => {
    request?.destroy();
    settle();
  };
  const onClientLeft = () => {
    if (delivered) return;
    if (ending === 'complete') ending = 'client_closed'; // the response was whole, but the client left before its end
    abort();
  };
  const fail = (error: Error) => {
    if (settled || outgoing.destroyed || outgoing.headersSent) return;
    ending = 'upstream_error';
    sendFailure(outgoing, exchange.failure(error));
    incoming.resume(); // the rest of the request is read and dropped
  };

  outgoing.sendDate = false;
  outgoing.on('finish', () => {
    const { socket } = incoming;
    delivered = !socket.destroyed || socket.writableFinished;
    if (delivered && requestWhole) settle();
    else if (delivered) socket.once('close', abort); // responded early: after this Node reports no cut of the request
  });
  outgoing.on('close', onClientLeft);
  outgoing.on('error', () => {}); // its 'close' follows
  if (!outgoing.socket) onSocketClose(incoming.socket, onClientLeft); // pipelined: a response that waits for others has no 'close'
  try {
    request = upstream.request(method, target, towardsUpstream(incoming.rawHeaders, method, upstream.host));
  } catch (error) {
    outgoing.on('close', settle);
    fail(error as Error);
    return;
  }

  let upstreamResponse: IncomingMessage | null = null;
  let torn = false;
  request.on('error', (error) => {
    // For a body that is delimited by the end of its connection Node emits 'end' after this, as if a reset were an ordinary end
    torn = upstreamResponse?.complete === false;
    fail(error); // once a response has begun, its own events report the rest
  });
  request.on('upgrade', ({ statusCode }, socket) => {
    socket.destroy();
    fail(Object.assign(new Error(`status ${statusCode}`), { code: UNREQUESTED_UPGRADE }));
  });
  request.on('information', ({ statusCode, statusMessage, rawHeaders }) =>
    passInformation(incoming, outgoing, statusCode, statusMessage, rawHeaders),
  );

  if (expectsBody) {
    incoming.on('error', () => {}); // the connection's 'close' follows
    passRequestBody(incoming, request, observer, () => {
      requestWhole = true;
      if (delivered) settle();
    });
  } else request.end();
  const sentMs = performance.now() - began;

  request.on('response', (response) => {
    const respondedAt = performance.now();
    upstreamResponse = response;
    try {
      outgoing.writeHead(response.statusCode ?? 502, response.statusMessage, endToEnd(response.rawHeaders));
    } catch (error) {
      request.destroy();
      fail(error as Error);
      return;
    }
    observer.responseHead(response.statusCode ?? 502, response.rawHeaders);
    passResponseBody(response, outgoing, observer, {
      isTorn: () => torn,
      known(whole) {
        ending = whole ? 'complete' : 'upstream_cut';
      },
    });
    exchange.addedMs(sentMs + performance.now() - respondedAt);
  });
}

/** As many requests may wait on one connection as a client cares to send: that is no leak of listeners. */
function onSocketClose(socket: Socket, listener: () => void): void {
  socket.setMaxListeners(0);
  socket.on('close', listener);
}

const SHORT_BYTES = 8_192;

/**
 * Writes a chunk of a body. A short first chunk is written as Latin-1 text, a character for each byte: Node sends text in one write with
 * the head that it still buffers, but bytes in a second write, which costs the kernel more than the copy.
 * @returns whether more may follow at once
 */
const writeChunk = (to: ClientRequest | ServerResponse, bytes: Buffer, isFirst: boolean): boolean =>
  isFirst && bytes.length <= SHORT_BYTES ? to.write(bytes.toString('latin1'), 'latin1') : to.write(bytes);

const hasBody = ({ headers }: IncomingMessage) =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';

function passRequestBody(
  incoming: IncomingMessage,
  request: ClientRequest,
  observer: CallObserver,
  onEnd: () => void,
): void {
  let began = false;
  const sweep = sweeping();
  incoming.on('data', (bytes: Buffer) => {
    const isFirst = !began;
    began = true;
    if (!request.destroyed && !writeChunk(request, bytes, isFirst)) incoming.pause();
    observer.requestBytes(bytes);
    sweep(bytes);
  });
  incoming.on('end', () => {
    onEnd();
    if (request.destroyed) return;
    if (incoming.rawTrailers.length > 0) request.addTrailers(pairs(incoming.rawTrailers));
    request.end();
  });
  request.on('drain', () => incoming.resume());
  request.on('close', () => {
    if (!incoming.readableEnded) incoming.resume(); // the rest of a request whose response came early
  });
  // A body that came with its head is sent with it; when the body is still to come, the head is sent at once.
  process.nextTick(() => {
    if (!began && !incoming.readableEnded) request.flushHeaders();
  });
}

function passResponseBody(
  response: IncomingMessage,
  outgoing: ServerResponse,
  observer: CallObserver,
  { isTorn, known }: { isTorn(): boolean; known(whole: boolean): void },
): void {
  let began = false;
  let whole = false;
  const sweep = sweeping();
  response.on('data', (bytes: Buffer) => {
    const isFirst = !began;
    began = true;
    if (!writeChunk(outgoing, bytes, isFirst)) response.pause();
    observer.responseBytes(bytes);
    sweep(bytes);
  });
  outgoing.on('drain', () => response.resume());
  response.on('end', () => {
    if (isTorn()) return;
    whole = true;
    known(true);
    if (response.rawTrailers.length > 0) outgoing.addTrailers(pairs(response.rawTrailers));
    outgoing.end();
  });
  response.on('error', () => {}); // its 'close' follows
  response.on('close', () => {
    if (whole || outgoing.destroyed) return;
    known(false);
    cut(outgoing);
  });
  process.nextTick(() => {
    if (!began && !response.readableEnded && !outgoing.destroyed) outgoing.flushHeaders();
  });
}

/** Cuts the connection to the client as the upstream cut its own: what has come is delivered, then it ends in the middle of the response. */
function cut(outgoing: ServerResponse): void {
  outgoing.flushHeaders();
  const socket = outgoing.socket;
  if (socket) socket.destroySoon();
  else outgoing.destroy(); // pipelined: this response never gets the connection
}

/** Bytes that wait for the client. Beyond that what comes before a response is dropped: Node's client cannot hold up who sends it. */
const MAX_WAITING_BYTES = 262_144;

/** Passes on `100 Continue`, early hints and the like, which only the upstream sends. */
function passInformation(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  status: number,
  reason: string,
  rawHeaders: readonly string[],
): void {
  if (outgoing.headersSent || incoming.httpVersion === '1.0') return;
  if (status === 100 && incoming.headers.expect !== undefined) {
    outgoing.writeContinue(); // by Node's own method, so that Node keeps the connection
    return;
  }
  const { socket } = outgoing;
  if (!socket || socket.writableLength > MAX_WAITING_BYTES) return;
  const lines = pairs(rawHeaders).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`HTTP/1.1 ${status} ${reason}\r\n${lines.join('')}\r\n`, 'latin1');
}

function sendFailure(outgoing: ServerResponse, body: string): void {
  const headers = ['Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(body))];
  outgoing.writeHead(502, 'Bad Gateway', headers); // with the reason given, else Node would reuse one that it refused before
  outgoing.end(body);
}
