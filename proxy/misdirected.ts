/** Calls that no upstream of theirs could serve: they are answered with the right address instead. */
import type { IncomingMessage } from 'node:http';
import type { Config } from '../core/config/schema.ts';
import { baseAt, prefixIn, providerOfKey, providerOfPath } from '../core/http/whose-call.ts';
import { type ProviderId, UPSTREAMS } from '../core/provider/provider-ids.ts';
import { providerById } from '../core/provider/providers.ts';
import type { Route } from './routes.ts';

export type Misdirected = { status: 404 | 421; provider: ProviderId; message: string };

type Proxy = Pick<Config['proxy'], 'provider' | 'upstream' | 'upstreams'>;

/**
 * Null: the call goes to its upstream unchanged. So does every path under a prefix, and every bare path whose upstream is local or was
 * configured, since such an upstream may serve any path. Otherwise a bare path may begin with a misspelt prefix, or a call may carry the
 * key of another hosted provider, which must not reach this one.
 */
export function misdirected(route: Route, incoming: IncomingMessage, proxy: Proxy): Misdirected | null {
  const { bare, path, upstream } = route;
  if (!bare || proxy.upstream !== '' || upstream !== UPSTREAMS[proxy.provider]) return null;
  const prefix = prefixIn(path);
  if (prefix) {
    const address = baseAt(originOf(incoming), prefix.provider);
    const message = `Cannot pass the call on: nothing is at this path; calls to ${prefix.provider} go to ${address}`;
    return { status: 404, provider: prefix.provider, message };
  }
  const owner = providerOfKey(incoming.headers);
  const takesAnyKey = providerById(proxy.provider).key === null;
  if (takesAnyKey || owner === null || owner === proxy.provider) return null;
  const address = baseAt(originOf(incoming), owner);
  const message = `Cannot pass the call on to ${nameOf(upstream)}: its key is of ${owner}; calls to ${owner} go to ${address}`;
  return { status: 421, provider: owner, message };
}

/** The provider whose error format the client understands; for a bare path it follows from the path. */
export const speakerOf = ({ provider, bare, path }: Route): ProviderId =>
  (bare ? providerOfPath(path) : null) ?? provider;

/** The address that the client of a bare path should have called, when the path is of another provider than the upstream's; else ''. */
export function betterAddress(route: Route, incoming: IncomingMessage): string {
  const speaker = speakerOf(route);
  if (!route.bare || speaker === route.provider) return '';
  return `; calls to ${speaker} go to ${baseAt(originOf(incoming), speaker)}`;
}

/** An upstream as it may be shown: its address may hold a password before the host, or a key in its path. */
export function nameOf(upstream: string): string {
  const { protocol, host } = new URL(upstream);
  return `${protocol}//${host}`;
}

/** The origin of this proxy, as the client addresses it. */
const originOf = ({ headers, socket }: IncomingMessage): string =>
  `http://${headers.host ?? `localhost:${socket.localPort}`}`;
