/** How is a fetch handler put on the network? A server for each host on one port, with limits on what a caller may hold open. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { OperatorError } from '../errors.ts';

export type Served = {
  /** `http://127.0.0.1:8081`, one for each host that could be bound. */
  addresses: string[];
  port: number;
  /** Takes no new connection, lets answers under way finish for so long, then cuts them. */
  close(graceMs: number): Promise<void>;
};

type Listener = {
  fetch: (request: Request, env: HttpBindings) => Response | Promise<Response>;
  hosts: readonly string[];
  port: number; // 0: a free one, the same for every host
  what: string; // 'read API'; said when the port is taken
  /** The body of the answer to a request that is no HTTP; default: a problem. */
  malformed?: { type: string; body: string };
  /** The app itself lets a body come whose sender asks first (`Expect: 100-continue`). Default: every body is let come. */
  asksForBodies?: boolean;
};

const MALFORMED = {
  type: 'application/problem+json',
  body: '{"type":"about:blank","title":"Bad Request","status":400,"error":"Cannot read the request: it is malformed"}',
};

const LIMITS = {
  maxHeaderSize: 32 * 1024,
  requireHostHeader: false, // the guard asks for it, and says so in the listener's own words
  headersTimeout: 15_000, // a head that trickles in
  requestTimeout: 120_000, // a body that trickles in
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 5_000,
};
const IDLE_MS = 300_000; // no byte either way, as with a reader that stopped taking
const CONNECTIONS = 2_048;

/** @throws {OperatorError} when an address is taken or not this machine's */
export async function serveApp({
  fetch,
  hosts,
  port,
  what,
  malformed = MALFORMED,
  asksForBodies = false,
}: Listener): Promise<Served> {
  const listener = getRequestListener((request, env) => fetch(request, env as HttpBindings), {
    overrideGlobalObjects: false,
    errorHandler: () => new Response(malformed.body, { status: 400, headers: { 'content-type': malformed.type } }),
  });
  const open = (): Server => {
    const server = createServer(LIMITS, listener);
    server.maxConnections = CONNECTIONS;
    server.setTimeout(IDLE_MS);
    server.on('checkExpectation', listener); // Node's own answer would be an empty 417
    if (asksForBodies) server.on('checkContinue', listener);
    server.on('clientError', (_error, socket) => {
      if (!socket.writable) return socket.destroy();
      return socket.end(
        `HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-type: ${malformed.type}\r\ncontent-length: ${Buffer.byteLength(malformed.body)}\r\n\r\n${malformed.body}`,
      );
    });
    return server;
  };

  const bound = await bindAll(open, hosts, port, what);
  const first = bound[0];
  if (!first) throw new OperatorError(`Cannot listen for the ${what}: none of its hosts is an address of this machine`);
  return {
    addresses: bound.map(({ host, server }) => `http://${host.includes(':') ? `[${host}]` : host}:${portOf(server)}`),
    port: portOf(first.server),
    close: async (graceMs) => {
      await Promise.all(bound.map(({ server }) => closed(server, graceMs)));
    },
  };
}

type Bound = { host: string; server: Server };

/** Every host on one port. A free port of the first host may be taken on the second: then another one is tried. */
async function bindAll(open: () => Server, hosts: readonly string[], port: number, what: string): Promise<Bound[]> {
  for (let attempt = 1; ; attempt++) {
    const bound: Bound[] = [];
    try {
      for (const host of hosts) {
        const server = open();
        const taken = bound[0] ? portOf(bound[0].server) : port;
        if (await bind(server, host, taken, hosts.length > 1)) bound.push({ host, server });
      }
      return bound;
    } catch (thrown) {
      await Promise.all(bound.map(({ server }) => closed(server, 0)));
      const { code } = thrown as NodeJS.ErrnoException;
      if (code === 'EADDRINUSE' && port === 0 && attempt < 20) continue;
      throw new OperatorError(
        `Cannot listen for the ${what} on port ${port}: ${WHY[code ?? ''] ?? code ?? 'unknown'}`,
        1,
        {
          cause: thrown,
        },
      );
    }
  }
}

const WHY: Record<string, string> = {
  EADDRINUSE: 'it is taken by another process',
  EACCES: 'this user may not listen there',
  EADDRNOTAVAIL: 'the host is no address of this machine',
  ENOTFOUND: 'the host is unknown',
};

/** False when the machine has no such family of addresses, as containers without IPv6. */
const bind = (server: Server, host: string, port: number, others: boolean): Promise<boolean> =>
  new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const absent = error.code === 'EADDRNOTAVAIL' || error.code === 'EAFNOSUPPORT';
      if (absent && others && host === '::1') resolve(false);
      else reject(error);
    });
    server.listen({ host, port, exclusive: true, ipv6Only: others && host.includes(':') }, () => resolve(true));
  });

const portOf = (server: Server): number => (server.address() as AddressInfo).port;

const closed = (server: Server, graceMs: number): Promise<void> =>
  new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections(), graceMs);
    const idle = setInterval(() => server.closeIdleConnections(), 20); // an answer that ends leaves its connection idle
    server.close(() => {
      clearTimeout(cut);
      clearInterval(idle);
      resolve();
    });
    server.closeIdleConnections();
  });
