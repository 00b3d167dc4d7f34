/** How does a connection pass that changes its protocol, such as to WebSocket? As raw bytes, once both ends have agreed. */
import { type IncomingMessage, ServerResponse, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { endToEnd, pairs, towardsUpgrade } from './headers.ts';
import type { Upstream } from './upstream.ts';

/** Told of the bytes that pass in the tunnel, in their order, and never waited for. */
export type TunnelObserver = {
  passed(side: 'client' | 'server', bytes: Buffer): void;
  /** That side's connection has ended; once or more often for each. */
  gone(side: 'client' | 'server'): void;
};

type Tunnel = {
  incoming: IncomingMessage;
  socket: Duplex;
  head: Buffer; // what the client sent on the heels of its request
  upstream: Upstream;
  target: string;
  /** Asked when the upstream agrees. @param raw headers of its answer */
  witness(raw: readonly string[]): TunnelObserver | null;
  failure(error: Error): string;
};

/** Asks the upstream for the upgrade. Its refusal goes back as it came. */
export function tunnel({ incoming, socket, head, upstream, target, witness, failure }: Tunnel): void {
  const method = incoming.method ?? 'GET';
  const request = upstream.request(method, target, towardsUpgrade(incoming.rawHeaders, method, upstream.host));
  let answered = false;
  socket.on('error', () => {}); // its 'close' follows
  socket.on('close', () => request.destroy());
  request.on('upgrade', (answer, theirs, rest) => {
    answered = true;
    const lines = pairs(answer.rawHeaders).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`HTTP/1.1 ${answer.statusCode} ${answer.statusMessage}\r\n${lines.join('')}\r\n`, 'latin1');
    join(socket, head, theirs, rest, witness(answer.rawHeaders));
  });
  request.on('response', (answer) => {
    answered = true;
    const outgoing = answerOn(incoming, socket);
    try {
      outgoing.writeHead(answer.statusCode ?? 502, answer.statusMessage, endToEnd(answer.rawHeaders));
    } catch (error) {
      request.destroy();
      return refuse(outgoing, 502, failure(error as Error));
    }
    answer.on('error', () => socket.destroy());
    answer.pipe(outgoing);
  });
  request.on('error', (error) => {
    if (!answered && !socket.destroyed) refuseTunnel(incoming, socket, 502, failure(error));
  });
  request.end();
}

/** Says no to a client that asked for an upgrade, with a JSON document. */
export function refuseTunnel(incoming: IncomingMessage, socket: Duplex, status: number, body: string): void {
  refuse(answerOn(incoming, socket), status, body);
}

/** With the usual words for the status: those that were refused before would be taken again. */
function refuse(outgoing: ServerResponse, status: number, body: string): void {
  const length = String(Buffer.byteLength(body));
  outgoing
    .writeHead(status, STATUS_CODES[status], ['Content-Type', 'application/json', 'Content-Length', length])
    .end(body);
}

function join(ours: Duplex, head: Buffer, theirs: Duplex, rest: Buffer, witness: TunnelObserver | null): void {
  if (rest.length > 0) ours.write(rest);
  if (head.length > 0) theirs.write(head);
  theirs.on('error', () => {}); // its 'close' follows
  theirs.on('close', () => (ours as Socket).destroySoon()); // what came reaches a client that reads slowly
  ours.on('close', () => theirs.destroy());
  ours.pipe(theirs).pipe(ours);
  if (!witness) return;
  if (head.length > 0) witness.passed('client', head);
  if (rest.length > 0) witness.passed('server', rest);
  watch(ours, 'client', witness);
  watch(theirs, 'server', witness);
}

/** After the pipe, so that bytes are on their way before they are looked at. */
function watch(socket: Duplex, side: 'client' | 'server', witness: TunnelObserver): void {
  socket.on('data', (bytes: Buffer) => witness.passed(side, bytes));
  socket.on('end', () => witness.gone(side));
  socket.on('close', () => witness.gone(side));
}

/** An ordinary answer on a socket that Node's server has let go of; the connection ends with it. */
function answerOn(incoming: IncomingMessage, socket: Duplex): ServerResponse {
  const outgoing = new ServerResponse(incoming);
  outgoing.sendDate = false;
  outgoing.shouldKeepAlive = false;
  outgoing.assignSocket(socket as Socket);
  outgoing.on('finish', () => (socket as Socket).destroySoon());
  return outgoing;
}
