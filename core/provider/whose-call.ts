/** The provider that a client means to call, recognised by the path and the key where the address does not name it. */
import type { IncomingHttpHeaders } from 'node:http';
import { nearest } from '../config/nearest.ts';
import { ProviderId } from '../model/provider.ts';

const PATHS: readonly [ProviderId, RegExp][] = [
  ['anthropic', /^\/v1\/(?:messages(?:\/.*)?|complete)$/],
  ['openai', /^\/v1\/(?:chat\/completions|completions|responses(?:\/.*)?|embeddings|models(?:\/.*)?)$/],
  ['ollama', /^\/api\/(?:chat|generate|embed|embeddings|tags|show|ps|pull|version)$/],
];

/** The provider that has such a path; null: none that we know. @param path without query and our prefix */
export const providerOfPath = (path: string): ProviderId | null =>
  PATHS.find(([, pattern]) => pattern.test(path))?.[0] ?? null;

/** The provider that issued the key that a client sends; null: no hosted provider that we know. */
export function providerOfKey({ authorization = '', 'x-api-key': key = '' }: IncomingHttpHeaders): ProviderId | null {
  const keys = [String(key).trim(), authorization.replace(/^Bearer\s+/i, '').trim()];
  if (keys.some((one) => one.startsWith('sk-ant-'))) return 'anthropic';
  return keys.some((one) => one.startsWith('sk-')) ? 'openai' : null;
}

/** The provider that the prefix of a path names, or nearly names (`exact: false`); null: it is no prefix of ours, nor nearly one. */
export function prefixIn(path: string): { provider: ProviderId; exact: boolean; rest: string } | null {
  const [, first = '', rest = ''] = /^\/([^/]+)(\/.*)?$/.exec(path) ?? [];
  const exact = ProviderId.safeParse(first);
  if (exact.success) return { provider: exact.data, exact: true, rest };
  const meant = /^\/(?:v1|api)\//.test(rest) ? nearest(first, ProviderId.options) : null;
  return meant === null ? null : { provider: meant as ProviderId, exact: false, rest };
}

/** The base URL for a provider's clients. @param origin of the capture proxy: `http://localhost:8080` */
export const baseAt = (origin: string, provider: ProviderId): string =>
  `${origin}/${provider}${provider === 'openai' ? '/v1' : ''}`;
