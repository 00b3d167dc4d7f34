/** POST /v1/ingest: a turn that a trusted client has captured itself is kept before it is answered. (Seed, 'Ingest API'.) */
import { createRoute, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { DatabaseError } from '../core/errors.ts';
import { type HttpEnv, json, routes } from '../core/http/routes.ts';
import type { Log } from '../core/log.ts';
import type { Metrics } from '../core/metrics.ts';
import { IngestTurn, type IngestVerdict, MAX_INGEST_BYTES } from '../core/model/ingest.ts';
import { rejectOversize, takeBody, unreadable } from './body.ts';
import type { Room } from './read-body.ts';
import { Rejection, rejection, rejectUnread } from './rejection.ts';

/**
 * Keeps a turn for good and says where it stands. The body's buffer may be moved to another thread: it is not looked at again.
 * @param subject who sent it, as a trusted gateway has it; null where nobody says so
 * @throws {DatabaseError} transient: it was not kept and may be sent again
 */
export type AppendTurn = (body: Uint8Array<ArrayBuffer>, subject: string | null) => Promise<IngestVerdict>;

export type TurnsApp = {
  append: AppendTurn;
  /** Whether `x-svc-auth-subject` was set by a gateway; else anybody could claim another's name, and it is dropped. */
  trustCallerHeader: boolean;
  room: Room;
  log: Log;
  metrics: Pick<Metrics, 'ingestWrite' | 'ingestBody' | 'ingestWait'>;
};

const AppendedTurn = z
  .object({
    status: z.literal('accepted'),
    raw_turn_id: z.int(),
    session_id: z.uuid(),
    request_id: z.string().describe('`meta.request_id`, or the one that was minted for a turn without'),
    deduped: z.boolean().describe('whether a turn of this request_id was here before; it stays as it was'),
  })
  .openapi('AppendedTurn', {
    examples: [
      {
        status: 'accepted',
        raw_turn_id: 12,
        session_id: '019fa57e-6d3c-5a51-8a1c-5f2a9f1f7b20',
        request_id: '7f3d0c9e',
        deduped: false,
      },
    ],
  });

const appendTurn = createRoute({
  method: 'post',
  path: '/v1/ingest',
  operationId: 'appendTurn',
  tags: ['turns'],
  summary: 'Appends one completed turn; it is kept when this answers, and once for each meta.request_id',
  request: {
    body: {
      required: true,
      description: `At most ${MAX_INGEST_BYTES} bytes, without content coding`,
      content: { 'application/json': { schema: IngestTurn } },
    },
  },
  responses: {
    202: json(AppendedTurn, 'It is kept'),
    400: json(Rejection, 'The body is malformed; nothing is kept'),
    403: json(Rejection, 'Asked for under a foreign host name, or by a foreign web page'),
    413: json(Rejection, 'The body exceeds the size limit; it was not read'),
    415: json(Rejection, 'The body is no JSON by its content type, or has a content coding'),
    422: json(Rejection, 'It is kept, but nobody can read a turn in it yet'),
    500: json(Rejection, 'Internal error'),
    503: json(Rejection, 'Nothing can be accepted now; ask again'),
  },
});

export const turnsApp = (deps: TurnsApp) => {
  const app = routes<HttpEnv>();
  app.openAPIRegistry.registerPath(appendTurn); // beside a plain handler: `openapi()` would parse the body on this thread
  app.post(appendTurn.path, (c) => take(c, deps));
  return app;
};

async function take(c: Context<HttpEnv>, deps: TurnsApp): Promise<Response> {
  const { metrics, room } = deps;
  const why = unreadable(c);
  if (why) {
    metrics.ingestWrite('unknown', 'reject_media_type');
    return rejectUnread(c, 415, why);
  }
  const body = await takeBody(c, room);
  if (body.kind !== 'whole') return rejectBody(c, body.kind, deps);
  const bytes = body.bytes.byteLength; // asked now: what was moved to another thread has no length here
  try {
    return answer(c, await appended(body.bytes, c, deps), bytes, deps);
  } finally {
    room.give(bytes);
  }
}

function rejectBody(c: Context<HttpEnv>, kind: 'oversize' | 'busy' | 'cut', deps: TurnsApp): Response {
  switch (kind) {
    case 'oversize':
      return rejectOversize(c, deps);
    case 'busy':
      deps.metrics.ingestWrite('unknown', 'busy');
      c.header('retry-after', '1');
      return rejectUnread(c, 503, 'Cannot take the turn: too many bodies are under way; ask again');
    case 'cut': // answered all the same, though hardly anybody listens
      deps.metrics.ingestWrite('unknown', 'reject_envelope');
      return rejection(c, 400, 'bad-request', 'Cannot read the body: it ended before it was whole');
  }
}

async function appended(body: Uint8Array<ArrayBuffer>, c: Context<HttpEnv>, deps: TurnsApp): Promise<IngestVerdict> {
  const { append, metrics, trustCallerHeader } = deps;
  const began = performance.now();
  try {
    const verdict = await append(body, (trustCallerHeader && c.req.header('x-svc-auth-subject')) || null);
    metrics.ingestWait((performance.now() - began) / 1000);
    return verdict;
  } catch (thrown) {
    metrics.ingestWrite('unknown', thrown instanceof DatabaseError && thrown.transient ? 'unavailable' : 'failed');
    throw thrown;
  }
}

function answer(c: Context<HttpEnv>, verdict: IngestVerdict, bytes: number, { metrics }: TurnsApp): Response {
  switch (verdict.kind) {
    case 'accepted': {
      const { raw_turn_id, session_id, request_id, deduped, provider } = verdict;
      metrics.ingestWrite(provider, deduped ? 'duplicate' : 'accepted');
      if (!deduped) metrics.ingestBody(provider, bytes);
      return c.json({ status: 'accepted', raw_turn_id, session_id, request_id, deduped }, 202);
    }
    case 'unusable':
      metrics.ingestWrite(verdict.provider, 'unusable');
      return rejection(c, 422, 'unusable', `${verdict.error} (kept as raw turn ${verdict.raw_turn_id})`);
    case 'malformed':
      metrics.ingestWrite('unknown', 'reject_envelope');
      return rejection(c, 400, 'bad-request', verdict.error);
    case 'unavailable':
      metrics.ingestWrite('unknown', 'unavailable');
      c.header('retry-after', '1');
      return rejection(c, 503, 'unavailable', verdict.error);
  }
}
