/**
 * The client side of the proxy: one pool of connections per upstream, and requests that leave as they came: path, header
 * order, case and repetition. It uses Node's own client, which writes a raw header list unchanged and passes on 1xx responses and
 * trailers; undici refuses `expect`, sets `host` first and `content-length` last, and breaks off at an early 100.
 */
import { type AgentOptions, type ClientRequest, Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { bareHost, type Egress, forwardProxyOf, proxyAuthorization, tunnelAgent } from './egress.ts';
import { forOneUpstream } from './idle-connections.ts';

/** `headers` is a raw list and is sent unchanged, so its `Host` must have the value of `host`. */
export type Upstream = {
  host: string;
  request(method: string, target: string, headers: string[]): ClientRequest;
};

export type Upstreams = {
  /** @param address scheme, host, port and base path, as configured */
  at(address: string): Upstream;
  close(): void;
};

/** The limit for the headers of one response; providers send long lists of limits. Node's 16 KiB would turn such a response into a 502. */
export const MAX_HEADER_BYTES = 131_072;

/** Below the 5 s after which common model servers close without notice; hosted ones wait a minute, and a TLS handshake is expensive. */
const IDLE_MS = { 'http:': 4_000, 'https:': 30_000 };

/** Requests have no limit in number or time. Extra certificate authorities come from Node's own NODE_EXTRA_CA_CERTS. */
export function openUpstreams(egress: Egress): Upstreams {
  const opened = new Map<string, Upstream>();
  const agents: HttpAgent[] = [];
  return {
    at(address) {
      const existing = opened.get(address);
      if (existing) return existing;
      const { agent, upstream } = openUpstream(new URL(address), egress);
      forOneUpstream(agent);
      agents.push(agent);
      opened.set(address, upstream);
      return upstream;
    },
    close() {
      for (const agent of agents) agent.destroy();
    },
  };
}

function openUpstream(address: URL, egress: Egress): { agent: HttpAgent; upstream: Upstream } {
  const secure = address.protocol === 'https:';
  const proxy = forwardProxyOf(address, egress);
  const options = {
    keepAlive: true,
    maxSockets: Number.POSITIVE_INFINITY,
    maxFreeSockets: 256,
    timeout: IDLE_MS[secure ? 'https:' : 'http:'], // of idle connections: on busy ones the event has no listener
    autoSelectFamilyAttemptTimeout: 1_000, // Node's 250 ms gives up on far hosts that have several addresses
  };
  const basePath = address.pathname.replace(/\/+$/, '');
  const pathOf = (target: string) => (target === '*' ? '*' : basePath + target);
  if (proxy && !secure) return throughPlainProxy(address, proxy, options, pathOf);

  const agent = secure ? (proxy ? tunnelAgent(proxy, options) : new HttpsAgent(options)) : new HttpAgent(options);
  const send = secure ? httpsRequest : httpRequest;
  const host = bareHost(address);
  const port = address.port || (secure ? 443 : 80);
  return {
    agent,
    upstream: {
      host: address.host,
      request: (method, target, headers) =>
        withAllHeaders(
          send({ agent, host, port, method, path: pathOf(target), headers, maxHeaderSize: MAX_HEADER_BYTES }),
        ),
    },
  };
}

/** Plain http goes through a forward proxy with the absolute URL as target. */
function throughPlainProxy(address: URL, proxy: URL, options: AgentOptions, pathOf: (target: string) => string) {
  const secure = proxy.protocol === 'https:';
  const agent = secure ? new HttpsAgent(options) : new HttpAgent(options);
  const authorization = proxyAuthorization(proxy);
  const forwarded = authorization ? ['Proxy-Authorization', authorization] : [];
  const upstream: Upstream = {
    host: address.host,
    request: (method, target, headers) =>
      withAllHeaders(
        (secure ? httpsRequest : httpRequest)({
          agent,
          host: bareHost(proxy),
          port: proxy.port || (secure ? 443 : 80),
          method,
          path: `http://${address.host}${pathOf(target)}`,
          headers: [...headers, ...forwarded],
          maxHeaderSize: MAX_HEADER_BYTES,
        }),
      ),
  };
  return { agent, upstream };
}

/** Keeps all headers of the response: Node would silently drop those after the first thousand. Their bytes are limited. */
function withAllHeaders(request: ClientRequest): ClientRequest {
  request.maxHeadersCount = 0;
  return request;
}
