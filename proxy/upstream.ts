/**
 * How is a provider called? One pool of connections per upstream, and requests that leave as they are given: path, header
 * order, case and repetition. Node's own client, since it writes a raw header list as it stands and hands on 1xx answers and
 * trailers; undici refuses `expect`, sets `host` first and `content-length` last, and breaks off at an early 100.
 */
import { type AgentOptions, type ClientRequest, Agent as HttpAgent, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { bareHost, type Egress, forwardProxyOf, proxyAuthorization, tunnelAgent } from './egress.ts';
import { forOneUpstream } from './idle-connections.ts';

/** `headers` is a raw list. `host` is what its `Host` must say, since the list is sent as it stands. */
export type Upstream = {
  host: string;
  request(method: string, target: string, headers: string[]): ClientRequest;
};

export type Upstreams = {
  /** @param address scheme, host, port and base path, as configured */
  at(address: string): Upstream;
  close(): void;
};

/** Of one answer; providers send long lists of limits. Node's 16 KiB would turn such an answer into a 502. */
export const MAX_HEADER_BYTES = 131_072;

/** Below the 5 s after which common model servers hang up without a word; hosted ones wait a minute and TLS is dear. */
const IDLE_MS = { 'http:': 4_000, 'https:': 30_000 };

/** Without limit in number or time. Extra authorities come from Node's own NODE_EXTRA_CA_CERTS. */
export function openUpstreams(egress: Egress): Upstreams {
  const opened = new Map<string, Upstream>();
  const agents: HttpAgent[] = [];
  return {
    at(address) {
      const known = opened.get(address);
      if (known) return known;
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
    timeout: IDLE_MS[secure ? 'https:' : 'http:'], // of idle connections: nobody listens for it on busy ones
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

/** Plain http goes through a forward proxy with its whole address as target. */
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

/** Of an answer Node would leave out those after the first thousand, unsaid. Their bytes are limited. */
function withAllHeaders(request: ClientRequest): ClientRequest {
  request.maxHeadersCount = 0;
  return request;
}
