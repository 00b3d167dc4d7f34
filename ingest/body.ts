/** Admission of request bodies: JSON in plain bytes, of a size that is checked before anything is read. */
import type { Context, MiddlewareHandler } from 'hono';
import type { HttpEnv } from '../core/http/routes.ts';
import type { Logger } from '../core/log.ts';
import type { Metrics } from '../core/metrics.ts';
import { MAX_INGEST_BYTES } from '../core/model/ingest.ts';
import { type Body, type ByteSemaphore, readBody } from './read-body.ts';
import { rejectUnread } from './rejection.ts';

type Telemetry = { log: Logger; metrics: Pick<Metrics, 'ingestWrite'> };

/** Refuses a POST that declares too large a body, whatever its path, without reading it. */
export const sizeLimit =
  (telemetry: Telemetry): MiddlewareHandler<HttpEnv> =>
  async (c, next) => {
    if (c.req.method === 'POST' && (declaredBytes(c) ?? 0) > MAX_INGEST_BYTES) return rejectOversize(c, telemetry);
    return next();
  };

/** Counts, logs and answers the refusal; the connection ends with it. */
export const rejectOversize = (c: Context<HttpEnv>, { log, metrics }: Telemetry): Response => {
  metrics.ingestWrite('unknown', 'reject_oversize');
  log.warn(
    {
      request_id: c.get('requestId'),
      content_length: declaredBytes(c),
      limit: MAX_INGEST_BYTES,
      path: c.req.path,
    },
    'Cannot take a body: it exceeds the ingest size limit',
  );
  c.header('connection', 'close');
  return rejectUnread(c, 413, 'request body exceeds the ingest size limit');
};

/** Why the headers show that the body cannot be read as JSON; null: it can be tried. */
export const unreadable = (c: Context<HttpEnv>): string | null => {
  if (!isJson(c.req.header('content-type') ?? ''))
    return 'Cannot read the body: its content type is not application/json';
  const coding = c.req.header('content-encoding') ?? 'identity';
  return coding.trim().toLowerCase() === 'identity'
    ? null
    : 'Cannot read the body: it must come without content coding';
};

/** Reads the body within the room. A sender that waits for `100 Continue` gets it now. */
export const takeBody = (c: Context<HttpEnv>, room: ByteSemaphore): Promise<Body> =>
  readBody(bytesOf(c), { declared: declaredBytes(c), limit: MAX_INGEST_BYTES, room });

/** The bytes of the body. After an early end the unread rest stays on the connection, to be dropped while the response is sent. */
async function* bytesOf(c: Context<HttpEnv>): AsyncGenerator<Uint8Array, void> {
  const { incoming, outgoing } = c.env ?? {};
  if (!incoming) {
    if (c.req.raw.body) yield* c.req.raw.body as unknown as AsyncIterable<Uint8Array>;
    return;
  }
  if (c.req.header('expect') !== undefined) outgoing?.writeContinue();
  yield* incoming.iterator({ destroyOnReturn: false }) as AsyncIterable<Uint8Array>;
}

/** The declared length; null: chunked, or no body. */
const declaredBytes = (c: Context<HttpEnv>): number | null => {
  const declared = c.req.header('content-length') ?? '';
  return /^\d+$/.test(declared) ? Number(declared) : null;
};

/** Whether the type is `application/json` or ends in `+json`. JSON is UTF-8: in another charset it would be read as other characters. */
const isJson = (contentType: string): boolean => {
  const [type = '', ...parameters] = contentType.toLowerCase().split(';');
  if (!/^application\/(?:[a-z0-9!#$&^_.+-]+\+)?json$/.test(type.trim())) return false;
  const charset = parameters.map((parameter) => parameter.trim()).find((parameter) => parameter.startsWith('charset='));
  return charset === undefined || /^charset="?(?:utf-8|us-ascii)"?$/.test(charset);
};
