/** Serves a fetch handler on the network: a server for each host on one port, with limits on what a caller may hold open. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { v7 } from 'uuid';
import { answerUnread } from './answer-unread.ts';
import { targetBelow } from './base-path.ts';
import { bindServers, type ListenAt } from './bind.ts';
import { SECURITY_HEADERS } from './guards.ts';
import { whenSent } from './linger.ts';
import { PROBLEM_TYPE, problemOf } from './problem.ts';

export type Served = {
  /** `http://127.0.0.1:8081`, one for each host that could be bound. */
  addresses: string[];
  port: number;
  /** Accepts no new connection, lets pending responses finish for `graceMs`, then cuts them. */
  close(graceMs: number): Promise<void>;
};

type Listener = ListenAt & {
  fetch: (request: Request, env: HttpBindings) => Response | Promise<Response>;
  what: string; // 'read API'; for the error when the port is taken
  /** The response to a request that reaches no handler. Default: a problem. */
  complaint?: Complaint;
  /** True: the app decides on a body whose sender asks first (`Expect: 100-continue`). Default: every body is accepted. */
  asksForBodies?: boolean;
  /** The prefix of a reverse proxy, as `/svc`: the app sees paths without it. Absent: none. */
  basePath?: string;
  /** Overrides of the default limits. */
  limits?: Partial<Limits>;
};

/** Content type and body of a failure response, for a message that may be sent. */
export type Complaint = (status: number, message: string, requestId: string) => { type: string; body: string };

const asProblem: Complaint = (status, message, requestId) => ({
  type: PROBLEM_TYPE,
  body: JSON.stringify(problemOf(status, CODES[status] ?? 'bad-request', message, requestId)),
});

const CODES: Record<number, string> = {
  408: 'too-slow',
  431: 'head-too-large',
  500: 'internal',
};

type Limits = {
  /** For a request's head, from the connection's start, or from the first byte of a later request. */
  headMs: number;
  /** For a whole request, head and body. */
  requestMs: number;
  /** Between two requests. */
  keepAliveMs: number;
  /** Without a byte in either direction, as with a reader that stopped reading; but where the reader waits for a handler's next byte. */
  idleMs: number;
  /** How often the first two are checked. */
  checkMs: number;
};
const LIMITS: Limits = {
  headMs: 15_000,
  requestMs: 120_000,
  keepAliveMs: 125_000, // longer than reverse proxies keep idle connections (nginx and load balancers 60 s), so that they hang up first
  idleMs: 300_000,
  checkMs: 5_000,
};
const PROBE_AFTER_MS = 60_000;
const HEAD_BYTES = 32 * 1024;
const HEADERS = 200;
const CONNECTIONS = 2_048;

/** @throws {OperatorError} when an address is in use or not this machine's */
export async function serveApp({
  fetch,
  what,
  complaint = asProblem,
  asksForBodies = false,
  basePath = '',
  limits,
  ...at
}: Listener): Promise<Served> {
  const { headMs, requestMs, keepAliveMs, idleMs, checkMs } = { ...LIMITS, ...limits };
  const listener = getRequestListener((request, env) => fetch(request, env as HttpBindings), {
    overrideGlobalObjects: false,
    errorHandler: (thrown) => {
      const status = thrown instanceof Error && thrown.name === 'RequestError' ? 400 : 500;
      const { headers, body } = failureResponse(complaint, status);
      return new Response(body, { status, headers });
    },
  });
  const exchanges = openExchanges();
  const serve = (incoming: IncomingMessage, outgoing: ServerResponse) => {
    exchanges.note({ incoming, outgoing });
    if (basePath !== '') incoming.url = targetBelow(basePath, incoming.url ?? '/');
    if (incoming.rawHeaders.length <= 2 * HEADERS) return listener(incoming, outgoing);
    const { headers, body } = failureResponse(complaint, 431);
    outgoing.writeHead(431, { ...headers, connection: 'close' });
    outgoing.write(body);
    return whenSent(incoming, () => outgoing.end());
  };
  const open = (): Server => {
    const server = createServer(
      {
        maxHeaderSize: HEAD_BYTES,
        requireHostHeader: false, // the guard requires it, and responds in the listener's own envelope
        headersTimeout: headMs,
        requestTimeout: requestMs,
        keepAliveTimeout: keepAliveMs,
        connectionsCheckingInterval: checkMs,
        keepAlive: true, // a peer that vanished is noticed, however long its response takes
        keepAliveInitialDelay: PROBE_AFTER_MS,
      },
      serve,
    );
    server.maxHeadersCount = 0; // Node would silently drop those past its limit, perhaps one that a guard checks
    server.maxConnections = CONNECTIONS;
    server.setTimeout(idleMs, (socket) => {
      if (exchanges.isAtWork(socket)) socket.setTimeout(idleMs);
      else socket.destroy();
    });
    server.on('checkExpectation', serve); // Node's own answer would be an empty 417
    if (asksForBodies) server.on('checkContinue', serve);
    server.on(
      'clientError',
      answerUnread((status) => failureResponse(complaint, status), exchanges.isResponseDue),
    );
    return server;
  };

  const bound = await bindServers(open, at, what);
  return {
    addresses: bound.map(({ url }) => url),
    port: bound[0]?.port ?? 0,
    close: async (graceMs) => {
      await Promise.all(bound.map(({ server }) => closed(server, graceMs)));
    },
  };
}

const MESSAGES: Record<number, string> = {
  400: 'Cannot read the request: it is malformed',
  408: 'Cannot read the request: it came too slowly',
  431: 'Cannot read the request: its head is too large',
  500: 'Internal error',
};

/** With the headers of every response, and a new request id: what the caller sent cannot be relied on. */
const failureResponse = (complaint: Complaint, status: number) => {
  const requestId = v7();
  const { type, body } = complaint(status, MESSAGES[status] ?? '', requestId);
  return { headers: { ...SECURITY_HEADERS, 'x-request-id': requestId, 'content-type': type }, body };
};

type Exchange = { incoming: IncomingMessage; outgoing: ServerResponse };

/** The unfinished exchanges of each connection; a client may send the next request before the response to the last one. */
function openExchanges() {
  const open = new WeakMap<object, Set<Exchange>>();
  return {
    note: (exchange: Exchange) => {
      const { socket } = exchange.incoming;
      const unfinished = open.get(socket) ?? new Set();
      open.set(socket, unfinished.add(exchange));
      exchange.outgoing.on('close', () => unfinished.delete(exchange));
    },
    /** Whether the next byte is the handler's: it has a whole request, and the reader has taken all that there is of the response. */
    isAtWork: (socket: Socket) => {
      const [first] = open.get(socket) ?? []; // responses go out in the order of their requests
      return first?.incoming.complete === true && first.outgoing.writableLength === 0;
    },
    /** Whether a response has begun, or a complete request still awaits one. */
    isResponseDue: (socket: Socket) =>
      [...(open.get(socket) ?? [])].some(({ incoming, outgoing }) => incoming.complete || outgoing.headersSent),
  };
}

const closed = (server: Server, graceMs: number): Promise<void> =>
  new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections(), graceMs);
    const idle = setInterval(() => server.closeIdleConnections(), 20); // the end of a response leaves its connection idle
    server.close(() => {
      clearTimeout(cut);
      clearInterval(idle);
      resolve();
    });
    server.closeIdleConnections();
  });
