/** The client's key: a keyed hash of what identifies it, so that clients can be told apart and no credential is stored. */
import { createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

export type Client = { credential: string; userAgent: string; project: string };

/**
 * HMAC-SHA256 in lower-case hex. Each part is hashed after its length, so that no two clients hash the same text.
 * @param key the installation's identity key
 */
export function clientKey(key: Uint8Array, { credential, userAgent, project }: Client): string {
  const hmac = createHmac('sha256', key);
  for (const part of [credential, userAgent, project]) hmac.update(`${Buffer.byteLength(part)}:${part}`);
  return hmac.digest('hex');
}

/**
 * The client's credential for the provider: the value of the first header that has one, else `key` of the query, where Gemini takes
 * it; '' without any.
 * @param url path and query as sent
 */
export function credentialOf(headers: IncomingHttpHeaders, url = ''): string {
  for (const name of ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key']) {
    const value = headers[name];
    if (value) return String(value);
  }
  return /[?&]key=([^&#]*)/.exec(url)?.[1] ?? '';
}
