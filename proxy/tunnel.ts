/** Connections that change their protocol, such as to WebSocket: they pass as raw bytes once both ends have agreed. */
import { type IncomingMessage, ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { endToEnd, pairs, towardsUpgrade } from './headers.ts';
import type { Upstream } from './upstream.ts';

/** Called with the bytes that pass in the tunnel, in their order; the tunnel never waits for it. */
export type TunnelObserver = {
  received(side: 'client' | 'server', bytes: Buffer): void;
  /** The connection to that side has ended; called once or more often for each side. */
  ended(side: 'client' | 'server'): void;
};

type Tunnel = {
  incoming: IncomingMessage;
  socket: Duplex;
  head: Buffer; // what the client sent directly after its request
  upstream: Upstream;
  target: string;
  /** Called when the upstream agrees. @param raw headers of its response */
  observe(raw: readonly string[]): TunnelObserver | null;
  failure(error: Error): string;
};

/** Requests the upgrade from the upstream. A refusal goes back to the client unchanged. */
export function tunnel({ incoming, socket, head, upstream, target, observe, failure }: Tunnel): void {
  const method = incoming.method ?? 'GET';
  const request = upstream.request(method, target, towardsUpgrade(incoming.rawHeaders, method, upstream.host));
  let responded = false;
  socket.on('error', () => {}); // its 'close' follows
  socket.on('close', () => request.destroy());
  request.on('upgrade', (response, upstreamSocket, upstreamHead) => {
    responded = true;
    const lines = pairs(response.rawHeaders).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`HTTP/1.1 ${response.statusCode} ${response.statusMessage}\r\n${lines.join('')}\r\n`, 'latin1');
    join(socket, head, upstreamSocket, upstreamHead, observe(response.rawHeaders));
  });
  request.on('response', (response) => {
    responded = true;
    const outgoing = responseOn(incoming, socket);
    try {
      outgoing.writeHead(response.statusCode ?? 502, response.statusMessage, endToEnd(response.rawHeaders));
    } catch (error) {
      request.destroy();
      return refuse(outgoing, 502, failure(error as Error));
    }
    response.on('error', () => socket.destroy());
    response.pipe(outgoing);
  });
  request.on('error', (error) => {
    if (!responded && !socket.destroyed) refuseTunnel(incoming, socket, 502, failure(error));
  });
  request.end();
}

/** Refuses an upgrade, with a JSON document. */
export function refuseTunnel(incoming: IncomingMessage, socket: Duplex, status: number, body: string): void {
  refuse(responseOn(incoming, socket), status, body);
}

/** Sets the standard reason phrase: otherwise Node would reuse one that it refused before. */
function refuse(outgoing: ServerResponse, status: number, body: string): void {
  const length = String(Buffer.byteLength(body));
  outgoing
    .writeHead(status, STATUS_CODES[status], ['Content-Type', 'application/json', 'Content-Length', length])
    .end(body);
}

function join(
  clientSocket: Duplex,
  head: Buffer,
  upstreamSocket: Duplex,
  upstreamHead: Buffer,
  observer: TunnelObserver | null,
): void {
  if (upstreamHead.length > 0) clientSocket.write(upstreamHead);
  if (head.length > 0) upstreamSocket.write(head);
  upstreamSocket.on('error', () => {}); // its 'close' follows
  upstreamSocket.on('close', () => (clientSocket as Socket).destroySoon()); // what has come still reaches a client that reads slowly
  clientSocket.on('close', () => upstreamSocket.destroy());
  clientSocket.pipe(upstreamSocket).pipe(clientSocket);
  if (!observer) return;
  if (head.length > 0) observer.received('client', head);
  if (upstreamHead.length > 0) observer.received('server', upstreamHead);
  watch(clientSocket, 'client', observer);
  watch(upstreamSocket, 'server', observer);
}

/** Called after `pipe`, so that bytes are forwarded before they are observed. */
function watch(socket: Duplex, side: 'client' | 'server', observer: TunnelObserver): void {
  socket.on('data', (bytes: Buffer) => observer.received(side, bytes));
  socket.on('end', () => observer.ended(side));
  socket.on('close', () => observer.ended(side));
}

/** An ordinary response on a socket that Node's server has detached; the connection ends with it. */
function responseOn(incoming: IncomingMessage, socket: Duplex): ServerResponse {
  const outgoing = new ServerResponse(incoming);
  outgoing.sendDate = false;
  outgoing.shouldKeepAlive = false;
  outgoing.assignSocket(socket as Socket);
  outgoing.on('finish', () => (socket as Socket).destroySoon());
  return outgoing;
}
