/** The proxy's listeners: a server per host on one port, without a time limit that an upstream could run into. */
import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { answerUnread } from '../core/http/answer-unread.ts';
import { bindServers, type ListenAt } from '../core/http/bind.ts';
import { type IsIdle, type ProxyDeps, proxyHandler, proxyUpgrade } from './app.ts';
import { MAX_HEADER_BYTES } from './upstream.ts';

export type RunningProxy = {
  /** As `http://127.0.0.1:8080`, in the order of the hosts. */
  addresses: string[];
  /** Accepts nothing new, lets calls under way finish for up to `graceMs`, then cuts them. A WebSocket without one ends at once. */
  close(graceMs: number): Promise<void>;
};

/**
 * Listens on each host; port 0 is one free port for all of them. A loopback family that this machine lacks is left out.
 * @throws {OperatorError} a port is taken or may not be used, or there is no way to an upstream
 */
export async function startProxy(deps: ProxyDeps, at: ListenAt): Promise<RunningProxy> {
  const { upstream, upstreams } = deps.config.proxy;
  for (const address of [upstream, ...Object.values(upstreams)]) if (address !== '') deps.upstreams.at(address);
  const tunnels: Tunnels = new Map();
  const sockets = new Set<Socket>();
  const open = () => {
    const server = proxyServer(deps, tunnels);
    server.on('connection', (socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
    });
    return server;
  };
  const bound = await bindServers(open, at, 'capture proxy');
  return {
    addresses: bound.map(({ url }) => url),
    async close(graceMs) {
      const idleTunnels = endIdle(tunnels);
      const cutTunnels = setTimeout(() => {
        for (const socket of tunnels.keys()) socket.destroy();
      }, graceMs);
      for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy(); // for Node these are not idle
      await Promise.all(bound.map(({ server }) => closeServer(server, graceMs)));
      clearTimeout(cutTunnels);
      clearInterval(idleTunnels);
    },
  };
}

/** Open connections of another protocol than HTTP. One that is not read is never known to be idle. */
type Tunnels = Map<Duplex, IsIdle>;

const LOOK_MS = 100;

/** Ends those without a turn under way, and the others after their last: found so twice, since what has just come may not be read yet. */
function endIdle(tunnels: Tunnels): NodeJS.Timeout {
  let before: readonly Duplex[] = [];
  return setInterval(() => {
    const idle = [...tunnels].flatMap(([socket, isIdle]) => (isIdle() ? socket : []));
    for (const socket of idle) if (before.includes(socket)) (socket as Socket).destroySoon();
    before = idle;
  }, LOOK_MS);
}

/** `shouldUpgradeCallback` exists in Node from 24.9, which reads a body beside an upgrade offer itself, before 'upgrade'; so it decides first. */
const SERVER_OPTIONS: ServerOptions & { shouldUpgradeCallback(incoming: IncomingMessage): boolean } = {
  shouldUpgradeCallback: (incoming) => !staysHttp(incoming),
  requestTimeout: 0, // an upload takes as long as it takes
  headersTimeout: 120_000,
  keepAliveTimeout: 125_000, // longer than clients keep idle connections (Go and Rust 90 s), so that they hang up first
  maxHeaderSize: MAX_HEADER_BYTES,
  noDelay: true,
};

/** Node's own server, without an adapter to fetch: a Request and a promise for each call would cost a tenth of all that the proxy does. */
function proxyServer(deps: ProxyDeps, tunnels: Tunnels): Server {
  const handle = proxyHandler(deps);
  const upgrade = proxyUpgrade(deps);
  const latest = new WeakMap<Socket, ServerResponse>();
  const server = createServer(SERVER_OPTIONS, (incoming, outgoing) => {
    latest.set(incoming.socket, outgoing);
    if (!server.listening) outgoing.shouldKeepAlive = false; // closing: this response is the last on the connection
    handle(incoming, outgoing);
  });
  server.maxHeadersCount = 0; // Node would silently drop those after the first thousand; their bytes are limited
  const asRequest = (incoming: IncomingMessage, outgoing: ServerResponse) => server.emit('request', incoming, outgoing);
  server.on('checkContinue', asRequest); // the upstream decides whether to continue
  server.on('checkExpectation', asRequest);
  server.on(
    'clientError',
    answerUnread(
      () => ({ headers: {}, body: '' }), // the provider of this client is unknown
      (socket) => {
        const last = latest.get(socket);
        return last !== undefined && !last.writableFinished && (last.req.complete || last.headersSent);
      },
    ),
  );
  server.on('upgrade', (incoming, socket, head) => {
    if (staysHttp(incoming)) {
      serveWithoutUpgrade(server, incoming, socket, head);
      return;
    }
    tunnels.set(socket, () => false);
    socket.on('close', () => tunnels.delete(socket));
    upgrade(incoming, socket, head, (isIdle) => {
      if (tunnels.has(socket)) tunnels.set(socket, isIdle);
    });
  });
  return server;
}

/** Upgrade offers that may be ignored: HTTP/2 without TLS, or any beside a body, which must be read as HTTP first. */
const staysHttp = ({ headers }: IncomingMessage) =>
  /\bh2c\b/i.test(headers.upgrade ?? '') ||
  headers['transfer-encoding'] !== undefined ||
  (headers['content-length'] ?? '0') !== '0';

/** Node before 24.9 accepts every upgrade once 'upgrade' has a listener; so the request is put back without its offer and parsed again. */
function serveWithoutUpgrade(server: Server, incoming: IncomingMessage, socket: Duplex, head: Buffer): void {
  const lines = [`${incoming.method} ${incoming.url} HTTP/${incoming.httpVersion}`];
  for (let i = 0; i + 1 < incoming.rawHeaders.length; i += 2) {
    const name = incoming.rawHeaders[i] as string;
    if (!/^(connection|upgrade|http2-settings)$/i.test(name)) lines.push(`${name}: ${incoming.rawHeaders[i + 1]}`);
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]));
  server.emit('connection', socket);
}

function closeServer(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const idle = setInterval(() => server.closeIdleConnections(), 50);
    const late = setTimeout(() => server.closeAllConnections(), graceMs);
    server.close(() => {
      clearInterval(idle);
      clearTimeout(late);
      resolve();
    });
    server.closeIdleConnections();
  });
}
