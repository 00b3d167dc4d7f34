/** POST /v1/ingest: stores a turn that a trusted client has captured itself, before it answers. */
import { createRoute, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { IngestTurn } from '../core/engine/ingest/ingest-turn.ts';
import { type HttpEnv, json, routes } from '../core/http/routes.ts';
import { type IngestVerdict, MAX_INGEST_BYTES } from '../core/model/ingest.ts';
import { Rejection, rejection } from './rejection.ts';
import { type Append, answerRejected, type Taking, take } from './take.ts';

export type AppendTurn = Append<IngestVerdict>;

export type TurnsApp = Taking & { append: AppendTurn };

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
  summary: 'Appends one completed turn; it is stored before the response, once for each meta.request_id',
  request: {
    body: {
      required: true,
      description: `At most ${MAX_INGEST_BYTES} bytes, without content coding`,
      content: { 'application/json': { schema: IngestTurn } },
    },
  },
  responses: {
    202: json(AppendedTurn, 'It is stored'),
    400: json(Rejection, 'The body is malformed; nothing is stored'),
    403: json(Rejection, 'Asked for under a foreign host name, or by a foreign web page'),
    413: json(Rejection, 'The body exceeds the size limit; it was not read'),
    415: json(Rejection, 'The body is no JSON by its content type, or has a content coding'),
    422: json(
      Rejection,
      'It is stored, but cannot be read as a turn: its provider is unknown, or it has no answer, say',
    ),
    500: json(Rejection, 'Internal error'),
    503: json(Rejection, 'Nothing can be accepted now; ask again'),
  },
});

export const turnsApp = (deps: TurnsApp) => {
  const app = routes<HttpEnv>();
  app.openAPIRegistry.registerPath(appendTurn); // beside a plain handler: `openapi()` would parse the body on this thread
  app.post(appendTurn.path, (c) =>
    take(c, deps, {
      what: 'turn',
      provider: 'unknown',
      append: deps.append,
      answer: (verdict, bytes) => answer(c, verdict, bytes, deps),
    }),
  );
  return app;
};

function answer(c: Context<HttpEnv>, verdict: IngestVerdict, bytes: number, deps: TurnsApp): Response {
  const { metrics } = deps;
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
    case 'unavailable':
      return answerRejected(c, verdict, 'unknown', deps);
  }
}
