/**
 * An upstream on this machine that answers by a script and records its requests, to the byte. A script is a list of
 * answers, the last of which repeats, or a function that returns the answer to each request.
 */
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';

export type UpstreamRequest = {
  method: string;
  url: string;
  headers: IncomingHttpHeaders;
  rawHeaders: string[];
  rawTrailers: string[];
  body: Buffer; // what has come by now
  /** Resolves when the request has come in whole. */
  whole: Promise<void>;
  /** Resolves when the exchange is over; true when the other side left before the end. */
  over: Promise<boolean>;
};

/** `rawHeaders` is sent unchanged and in order; only framing that it leaves out is added. */
export type Answer = {
  status?: number;
  reason?: string;
  rawHeaders?: string[];
  body?: string | Uint8Array;
};
/** Called when the head of the request has come; for everything that an `Answer` cannot express. */
export type Answering = (
  request: UpstreamRequest,
  outgoing: ServerResponse,
  incoming: IncomingMessage,
) => void | Promise<void>;
export type Script =
  | readonly (Answer | Answering)[]
  | ((request: UpstreamRequest, index: number) => Answer | Answering);

export type ScriptedUpstream = {
  url: string;
  port: number;
  requests: UpstreamRequest[];
  /** Connections accepted since the start. */
  connections(): number;
  /** Sets the handler of upgrade requests; without one they are cut. */
  onUpgrade(answer: (incoming: IncomingMessage, socket: Duplex, head: Buffer) => void): void;
  close(): Promise<void>;
};

/** @param keepAliveMs how long idle connections stay */
export async function startUpstream(script: Script, { keepAliveMs = 60_000 } = {}): Promise<ScriptedUpstream> {
  const requests: UpstreamRequest[] = [];
  let connections = 0;
  const server = createServer({ keepAliveTimeout: keepAliveMs, requestTimeout: 0, maxHeaderSize: 262_144 });
  const onRequest = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    const request = record(incoming, outgoing);
    requests.push(request);
    const index = requests.length - 1;
    const next = typeof script === 'function' ? script(request, index) : script[Math.min(index, script.length - 1)];
    outgoing.sendDate = false;
    if (typeof next === 'function') void next(request, outgoing, incoming);
    else void request.whole.then(() => send(outgoing, next ?? {}));
  };
  server.on('request', onRequest);
  server.on('checkContinue', onRequest); // a script that wants to continue does so itself
  server.on('connection', () => {
    connections++;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const upgraded = new Set<Duplex>();
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    requests,
    connections: () => connections,
    onUpgrade(answer) {
      server.on('upgrade', (incoming, socket, head) => {
        upgraded.add(socket);
        answer(incoming, socket, head);
      });
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
        for (const socket of upgraded) socket.destroy();
      }),
  };
}

/** Sends an answer unchanged. */
export function send(outgoing: ServerResponse, { status = 200, reason, rawHeaders, body = '' }: Answer): void {
  const bytes = Buffer.from(body as string);
  const headers = rawHeaders ?? ['Content-Type', 'application/json', 'Content-Length', String(bytes.length)];
  outgoing.writeHead(status, reason, headers as never);
  outgoing.end(bytes);
}

/** Answers with the body of the request. */
export const echo: Answering = async (request, outgoing) => {
  await request.whole;
  send(outgoing, { body: request.body });
};

function record(incoming: IncomingMessage, outgoing: ServerResponse): UpstreamRequest {
  const chunks: Buffer[] = [];
  incoming.on('data', (bytes: Buffer) => chunks.push(bytes));
  incoming.on('error', () => {});
  return {
    method: incoming.method ?? '',
    url: incoming.url ?? '',
    headers: incoming.headers,
    rawHeaders: incoming.rawHeaders,
    get rawTrailers() {
      return incoming.rawTrailers;
    },
    get body() {
      return Buffer.concat(chunks);
    },
    whole: new Promise((resolve) => incoming.on('end', () => resolve())),
    over: new Promise((resolve) => outgoing.on('close', () => resolve(!outgoing.writableFinished))),
  };
}
