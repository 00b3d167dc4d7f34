/** Tells clients apart by what identifies them, so that no credential is stored: a digest in the journal, a keyed hash in the database. */
import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

export type Client = { credential: string; userAgent: string; project: string };

/** SHA-256 in lower-case hex: for the journal, which is written while no database may be there to give a key. */
export const clientDigest = (client: Client): string => hashed(createHash('sha256'), client).digest('hex');

/**
 * The key under which a client of the proxy is stored: the digest hashed with the installation's key, so that whoever has a session
 * and a guess at its credential cannot try it. HMAC-SHA256 in lower-case hex.
 */
export const keyedDigest = (key: Uint8Array, digest: string): string =>
  createHmac('sha256', key).update(digest).digest('hex');

/**
 * The key of a client by itself, under which senders to the ingest API are stored, and which clients of the proxy had in version 0.1.
 * HMAC-SHA256 in lower-case hex.
 * @param key the installation's identity key
 */
export const clientKey = (key: Uint8Array, client: Client): string =>
  hashed(createHmac('sha256', key), client).digest('hex');

/** Each part is hashed after its length, so that no two clients hash the same text. */
function hashed<Hashing extends Hash | Hmac>(hashing: Hashing, { credential, userAgent, project }: Client): Hashing {
  for (const part of [credential, userAgent, project]) hashing.update(`${Buffer.byteLength(part)}:${part}`);
  return hashing;
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
