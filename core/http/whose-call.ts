/** The provider that a client means to call, recognised by the path and the key where the address does not name it. */
import type { IncomingHttpHeaders } from 'node:http';
import { nearest } from '../config/nearest.ts';
import { ProviderId } from '../provider/provider-ids.ts';
import { providerById, providers } from '../provider/providers.ts';

/** The provider that has such a path; null: none that we know. @param path without query and our prefix */
export const providerOfPath = (path: string): ProviderId | null =>
  providers.find(({ paths }) => paths.test(path))?.id ?? null;

/** The provider whose clients alone send a header that the request has; null: none. */
export const providerOfHeaders = (has: (header: string) => boolean): ProviderId | null =>
  providers.find(({ ownHeader }) => ownHeader !== null && has(ownHeader))?.id ?? null;

const KEY_HEADERS = [...new Set(providers.map(({ keyHeader }) => keyHeader ?? 'authorization'))];

/** The provider that issued the key that a client sends; null: no hosted provider that we know. */
export function providerOfKey(headers: IncomingHttpHeaders): ProviderId | null {
  const keys = KEY_HEADERS.map((name) =>
    String(headers[name] ?? '')
      .replace(/^Bearer\s+/i, '')
      .trim(),
  );
  return providers.find(({ key }) => key !== null && keys.some((one) => key.test(one)))?.id ?? null;
}

/** The provider that the prefix of a path names, or nearly names (`exact: false`); null: it is no prefix of ours, nor nearly one. */
export function prefixIn(path: string): { provider: ProviderId; exact: boolean; rest: string } | null {
  const [, first = '', rest = ''] = /^\/([^/]+)(\/.*)?$/.exec(path) ?? [];
  const exact = ProviderId.safeParse(first);
  if (exact.success) return { provider: exact.data, exact: true, rest };
  const meant = /^\/(?:v1(?:alpha|beta)?|api)\//.test(rest) ? nearest(first, ProviderId.options) : null;
  return meant === null ? null : { provider: meant as ProviderId, exact: false, rest };
}

/** The base URL for a provider's clients. @param origin of the capture proxy: `http://localhost:8080` */
export const baseAt = (origin: string, provider: ProviderId): string =>
  `${origin}/${provider}${providerById(provider).basePath}`;
