/**
 * Guards a listener by host and origin. Programs on this machine may call it, and hosts that are allowed by name. A web page may
 * not: neither one of a foreign origin, nor one whose host name has been pointed here (DNS rebinding).
 */
import type { IncomingHttpHeaders } from 'node:http';
import { isIP, isIPv4 } from 'node:net';
import type { HonoRequest, MiddlewareHandler } from 'hono';
import { Refusal } from '../errors.ts';

/** The headers that show whether a web page makes the request. Undefined where one was not sent. */
export type RequestOrigin = { host: string | undefined; origin: string | undefined; secFetchSite: string | undefined };
export type Refused = { status: 403; code: 'foreign-host' | 'foreign-origin'; message: string };

/**
 * Why a request is refused; null when it may pass. Ports of `Host` do not count.
 * @param allowedHosts names besides loopback, with or without port, and the address that is bound. When that is `0.0.0.0` or `::`,
 *   Host may be any IP address: it involves no name, so none can have been rebound.
 */
export function refusal(
  { host, origin, secFetchSite }: RequestOrigin,
  allowedHosts: readonly string[],
): Refused | null {
  const target = parseHost(host);
  if (target === null) return foreignHost('Cannot answer: the Host header is missing or malformed');
  if (!isLoopback(target.name) && !isAllowed(target, allowedHosts) && !(isIP(target.name) && bindsAll(allowedHosts)))
    return foreignHost(`Cannot answer as "${target.name}": it is neither loopback nor among allowed_hosts`);

  const originAddress = origin === undefined ? null : parseOrigin(origin);
  const originAllowed = originAddress !== null && isAllowed(originAddress, allowedHosts);
  if (origin !== undefined && !originAllowed && !(originAddress !== null && isSame(originAddress, target)))
    return foreignOrigin('Cannot answer a web page of another origin: its host is not among allowed_hosts');
  if (secFetchSite !== undefined && secFetchSite !== 'same-origin' && secFetchSite !== 'none' && !originAllowed)
    return foreignOrigin('Cannot answer a request that another site made: its host is not among allowed_hosts');
  return null;
}

/** For listeners that work on Node's own objects. */
export function refuseForeign(allowedHosts: readonly string[]): (headers: IncomingHttpHeaders) => Refused | null {
  let lastAllowedHost: string | null = null; // the Host of nearly every call, which no web page makes
  return ({ host, origin, 'sec-fetch-site': site }) => {
    const isProgram = origin === undefined && site === undefined;
    if (isProgram && host === lastAllowedHost) return null;
    const refused = refusal({ host, origin, secFetchSite: one(site) }, allowedHosts);
    if (isProgram && refused === null) lastAllowedHost = host ?? null;
    return refused;
  };
}

/** The headers of every response: no embedding in other sites, no content sniffing, and no caching unless a route allows it. */
export const SECURITY_HEADERS = {
  'cache-control': 'no-store', // conversations do not belong in a cache
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
} as const;

/**
 * For Hono apps. Every response, a refusal too, has the headers of `SECURITY_HEADERS`.
 * @param isDocument whether a path leads to a document without data, which a link on another site may open. Absent: none does
 */
export const guard =
  (allowedHosts: readonly string[], isDocument: (path: string) => boolean = () => false): MiddlewareHandler =>
  async (c, next) => {
    const isLink = isNavigation(c.req) && isDocument(c.req.path);
    const refused = refusal(
      {
        host: c.req.header('host') ?? new URL(c.req.url).host,
        origin: c.req.header('origin'),
        secFetchSite: isLink ? undefined : c.req.header('sec-fetch-site'),
      },
      allowedHosts,
    );
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) c.header(name, value);
    if (refused) throw new Refusal(refused.code, refused.message);
    await next();
  };

/** A person opens an address in a window or tab, of which the page that has the link sees nothing; a frame has another destination. */
const isNavigation = (request: HonoRequest): boolean =>
  request.method === 'GET' &&
  request.header('sec-fetch-mode') === 'navigate' &&
  request.header('sec-fetch-dest') === 'document';

type Address = { name: string; port: string; scheme: string };

const parseHost = (host: string | undefined): Address | null => {
  const match = /^(\[[0-9a-f:.]+\]|[a-z0-9._-]+?)\.?(?::(\d{1,5}))?$/i.exec(host ?? '');
  return match?.[1] ? { name: bare(match[1]), port: match[2] ?? '', scheme: '' } : null;
};

const parseOrigin = (origin: string): Address | null => {
  if (!URL.canParse(origin)) return null;
  const { protocol, hostname, port, origin: itself } = new URL(origin);
  if ((protocol !== 'http:' && protocol !== 'https:') || itself !== origin.toLowerCase()) return null;
  return { name: bare(hostname), port, scheme: protocol };
};

/** `[::1]` as `::1`, in the canonical spelling of URLs. */
const bare = (name: string): string => {
  const lower = name.toLowerCase().replace(/^\[|\]$/g, '');
  return lower.includes(':') && URL.canParse(`http://[${lower}]`)
    ? new URL(`http://[${lower}]`).hostname.slice(1, -1)
    : lower;
};

const isLoopback = (name: string): boolean =>
  name === 'localhost' || name.endsWith('.localhost') || name === '::1' || (isIPv4(name) && name.startsWith('127.'));

const isAllowed = ({ name, port }: Address, allowedHosts: readonly string[]): boolean =>
  allowedHosts.some((allowed) => {
    const entry = isIP(allowed) ? { name: bare(allowed), port: '' } : parseHost(allowed);
    return entry !== null && entry.name === name && (entry.port === '' || entry.port === port);
  });

const bindsAll = (allowedHosts: readonly string[]): boolean =>
  allowedHosts.some((host) => host === '0.0.0.0' || host === '::' || host === '[::]');

const isSame = (origin: Address, host: Address): boolean =>
  origin.name === host.name &&
  (origin.port || DEFAULT_PORT[origin.scheme]) === (host.port || DEFAULT_PORT[origin.scheme]);

const DEFAULT_PORT: Record<string, string> = { 'http:': '80', 'https:': '443' };

const one = (value: string | string[] | undefined) => (Array.isArray(value) ? value.join(', ') : value);

const foreignHost = (message: string): Refused => ({ status: 403, code: 'foreign-host', message });
const foreignOrigin = (message: string): Refused => ({ status: 403, code: 'foreign-origin', message });
