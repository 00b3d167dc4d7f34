/**
 * Compresses text responses that are complete before they are sent, in a coding that the caller accepts; streams never. By hand, since
 * Hono's own middleware would hold a stream back until its end.
 */
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { MiddlewareHandler } from 'hono';
import type { HttpEnv } from './routes.ts';

type Coding = 'br' | 'gzip';

const LARGE_BYTES = 100_000;
const WORTH_BYTES = 1024; // a smaller body fits into one packet anyway
const TEXT =
  /^(?:text\/(?!event-stream)|application\/(?:[\w.-]+\+)?json(?:;|$)|application\/javascript|image\/svg\+xml)/i;

/**
 * Sets the content length of texts, compressed or not, so that HEAD has the headers of GET. Leaves streams alone, and whatever is
 * encoded already.
 */
export const compress = (): MiddlewareHandler<HttpEnv> => async (c, next) => {
  await next();
  const { res } = c;
  const coding = acceptedCoding(c.req.header('accept-encoding'));
  const headers = new Headers(res.headers);
  if (res.status === 304) {
    vary(headers);
    if (coding) weaken(headers); // as the tag of the compressed response that the caller has
    c.res = undefined;
    c.res = new Response(null, { status: 304, headers });
    return;
  }
  if (!res.body || c.get('streamed') || !isPlainText(headers)) return;
  const bytes = new Uint8Array(await res.arrayBuffer());
  const chosen = bytes.byteLength >= WORTH_BYTES ? coding : null;
  const body = chosen ? await CODERS[chosen](bytes) : bytes;
  vary(headers);
  if (chosen) {
    headers.set('content-encoding', chosen);
    weaken(headers);
  }
  headers.set('content-length', String(body.byteLength));
  c.res = undefined; // else its headers would override the new ones
  c.res = new Response(body, { status: res.status, headers });
};

const isPlainText = (headers: Headers): boolean =>
  TEXT.test(headers.get('content-type') ?? '') &&
  !headers.has('content-encoding') &&
  !headers.has('transfer-encoding') &&
  !/\bno-transform\b/i.test(headers.get('cache-control') ?? '');

const CODERS: Record<Coding, (bytes: Uint8Array) => Promise<Uint8Array<ArrayBuffer>>> = {
  br: (bytes) =>
    promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: qualityFor(bytes) } }).then(owned),
  gzip: (bytes) => promisify(gzip)(bytes).then(owned),
};

/** Of a large body the last twentieth would take three times as long as all the rest. */
const qualityFor = ({ byteLength }: Uint8Array): number => (byteLength > LARGE_BYTES ? 2 : 4);

const owned = (bytes: Buffer): Uint8Array<ArrayBuffer> => bytes as Uint8Array<ArrayBuffer>; // zlib shares no memory

/** The same document in another coding is another sequence of bytes, so its tag has to be a weak one. */
const weaken = (headers: Headers): void => {
  const etag = headers.get('etag');
  if (etag && !etag.startsWith('W/')) headers.set('etag', `W/${etag}`);
};

const vary = (headers: Headers): void => {
  const named = (headers.get('vary') ?? '').split(',').map((name) => name.trim().toLowerCase());
  if (!named.includes('*') && !named.includes('accept-encoding')) headers.append('vary', 'accept-encoding');
};

/** The supported coding with the caller's highest quality value, of equals the smaller one; null: none. (RFC 9110, 12.5.3.) */
export const acceptedCoding = (header: string | undefined): Coding | null => {
  const qualities = new Map<string, number>();
  for (const entry of (header ?? '').toLowerCase().split(',')) {
    const [name = '', ...parameters] = entry.split(';').map((part) => part.trim());
    const q = parameters.find((parameter) => parameter.startsWith('q='));
    qualities.set(name === 'x-gzip' ? 'gzip' : name, q === undefined ? 1 : Number(q.slice(2)) || 0);
  }
  const qualityOf = (coding: Coding) => qualities.get(coding) ?? qualities.get('*') ?? 0;
  const best = qualityOf('gzip') > qualityOf('br') ? 'gzip' : 'br';
  return qualityOf(best) > 0 ? best : null;
};
