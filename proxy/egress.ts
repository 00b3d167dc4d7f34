/** The way by which a call leaves: straight, or through the forward proxy that the environment names. */
import { type AgentOptions, request as httpRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as tlsConnect } from 'node:tls';
import { OperatorError } from '../core/errors.ts';

/** As in `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`; '' is unset. */
export type Egress = { httpProxy: string; httpsProxy: string; noProxy: string };

export const noEgress: Egress = { httpProxy: '', httpsProxy: '', noProxy: '' };

/**
 * The forward proxy for an upstream, or null for a direct connection. This machine itself is never reached through a proxy.
 * @throws {OperatorError} when the environment names something that is no http proxy
 */
export function forwardProxyOf(upstream: URL, { httpProxy, httpsProxy, noProxy }: Egress): URL | null {
  const named = upstream.protocol === 'https:' ? httpsProxy : httpProxy;
  if (named === '' || isLoopback(upstream.hostname) || isExempt(upstream, noProxy)) return null;
  const text = named.includes('://') ? named : `http://${named}`;
  const proxy = URL.canParse(text) ? new URL(text) : null;
  if (!proxy || !/^https?:$/.test(proxy.protocol)) {
    const variable = upstream.protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
    throw new OperatorError(`Cannot use ${variable}: it must be an http:// or https:// address`);
  }
  return proxy;
}

/** The `Proxy-Authorization` for a forward proxy, from the user part of its address; null when there is none. */
export function proxyAuthorization(proxy: URL): string | null {
  if (proxy.username === '') return null;
  const user = `${decodeURIComponent(proxy.username)}:${decodeURIComponent(proxy.password)}`;
  return `Basic ${Buffer.from(user).toString('base64')}`;
}

/** An agent whose TLS connections run through a CONNECT tunnel. */
export function tunnelAgent(proxy: URL, options: AgentOptions): HttpsAgent {
  const agent = new HttpsAgent(options);
  agent.createConnection = (opts, callback) => {
    const { host, port, servername } = opts as { host: string; port: number | string; servername?: string };
    openTunnel(proxy, host, port).then(
      (socket) =>
        callback?.(null, tlsConnect({ ...(opts as object), socket: socket as Socket, servername: servername ?? host })),
      (error: Error) => callback?.(error, undefined as unknown as Duplex),
    );
    return undefined;
  };
  return agent;
}

function openTunnel(proxy: URL, host: string, port: number | string): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const authority = `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
    const authorization = proxyAuthorization(proxy);
    const request = (proxy.protocol === 'https:' ? httpsRequest : httpRequest)({
      host: bareHost(proxy),
      port: proxy.port || (proxy.protocol === 'https:' ? 443 : 80),
      method: 'CONNECT',
      path: authority,
      headers: { host: authority, ...(authorization && { 'proxy-authorization': authorization }) },
      agent: false,
    });
    request.once('connect', (response, socket, head) => {
      if (response.statusCode === 200) {
        if (head.length > 0) socket.unshift(head);
        resolve(socket);
      } else {
        socket.destroy();
        const refused = new Error(`Cannot open a tunnel: the forward proxy answered ${response.statusCode}`);
        reject(Object.assign(refused, { code: 'EPROXY' }));
      }
    });
    request.once('error', reject);
    request.end();
  });
}

/** The host of a URL as sockets expect it: without the brackets of IPv6. */
export const bareHost = (url: URL): string => url.hostname.replace(/^\[|\]$/g, '');

const isLoopback = (host: string) => /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/i.test(host);

/** `NO_PROXY`: names with or without a port; a name covers what is below it, with or without a leading dot; `*` is everything. */
function isExempt(upstream: URL, noProxy: string): boolean {
  const port = upstream.port || (upstream.protocol === 'https:' ? '443' : '80');
  const host = upstream.hostname.toLowerCase();
  return noProxy
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => {
      if (entry === '*') return true;
      const [, name = '', only = port] = (isIP(entry) === 6 ? null : /^(.*?)(?::(\d+))?$/.exec(entry)) ?? ['', entry];
      const suffix = name.replace(/^\*?\./, '');
      return only === port && (host === suffix || host === `[${suffix}]` || host.endsWith(`.${suffix}`));
    });
}
