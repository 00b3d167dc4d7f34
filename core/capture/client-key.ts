/** Which client is it? A keyed hash, so that two clients can be told apart and no credential is kept. */
import { createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

export type Client = { credential: string; userAgent: string; project: string };

/**
 * HMAC-SHA256 in lower-case hex. Each part is hashed with its length, so that no two clients share a text.
 * @param key the installation's identity key
 */
export function clientKey(key: Uint8Array, { credential, userAgent, project }: Client): string {
  const hmac = createHmac('sha256', key);
  for (const part of [credential, userAgent, project]) hmac.update(`${Buffer.byteLength(part)}:${part}`);
  return hmac.digest('hex');
}

/** What the client shows to be let in at the provider: the first header that has it; '' when it shows nothing. */
export function credentialOf(headers: IncomingHttpHeaders): string {
  for (const name of ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key']) {
    const value = headers[name];
    if (value) return String(value);
  }
  return '';
}
