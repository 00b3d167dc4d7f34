/** POST /v1/ingest/transcript: stores a file in which a harness keeps its session, before it answers. */
import { createRoute, z } from '@hono/zod-openapi';
import type { Context } from 'hono';
import { type HttpEnv, json, routes } from '../core/http/routes.ts';
import { MAX_INGEST_BYTES } from '../core/model/ingest.ts';
import { TranscriptPart, TranscriptUpload, type TranscriptVerdict } from '../core/model/transcript-upload.ts';
import { Rejection, rejection } from './rejection.ts';
import { type Append, answerRejected, type Taking, take } from './take.ts';

export type AppendTranscript = Append<TranscriptVerdict>;

export type TranscriptsApp = Taking & { append: AppendTranscript };

const AppendedTranscript = z
  .object({
    status: z.literal('accepted'),
    deduped: z
      .boolean()
      .describe('whether these records of this file were here before; they are derived from once more all the same'),
    records: z.int().nonnegative().describe('how many came'),
    session_id: z.uuid(),
    raw_turn_id: z.int(),
    agent_id: z.string().optional().describe("absent of the main thread's file"),
    part: TranscriptPart.optional(),
  })
  .openapi('AppendedTranscript', {
    examples: [
      {
        status: 'accepted',
        deduped: false,
        records: 5,
        session_id: '019fa57e-6d3c-5a51-8a1c-5f2a9f1f7b20',
        raw_turn_id: 13,
        agent_id: 'a9b2a396fff8564e8',
      },
    ],
  });

const appendTranscript = createRoute({
  method: 'post',
  path: '/v1/ingest/transcript',
  operationId: 'appendTranscript',
  tags: ['transcripts'],
  summary: 'Appends one transcript file of a harness, or a part of one; it is stored, once, before the response',
  request: {
    body: {
      required: true,
      description: `At most ${MAX_INGEST_BYTES} bytes, without content coding; a larger file comes in parts`,
      content: { 'application/json': { schema: TranscriptUpload } },
    },
  },
  responses: {
    202: json(AppendedTranscript, 'It is stored'),
    400: json(
      Rejection,
      'The body is malformed, part.index is not below part.count, or a chained part names no prefix; nothing is stored',
    ),
    403: json(Rejection, 'Asked for under a foreign host name, or by a foreign web page'),
    409: json(
      Rejection,
      'A part ends a version of which parts before it are not here; nothing is stored: send all parts',
      'Cannot keep the transcript: records before these are not stored; send the file from its beginning',
    ),
    410: json(
      Rejection,
      'Its session was purged; nothing is stored, now or later',
      'Cannot keep the transcript: its session was purged',
    ),
    413: json(Rejection, 'The body exceeds the size limit; it was not read'),
    415: json(Rejection, 'The body is no JSON by its content type, or has a content coding'),
    422: json(
      Rejection,
      'The database cannot hold what it says of itself; nothing is stored',
      'Cannot keep the transcript: the database cannot hold what it says of itself',
    ),
    500: json(Rejection, 'Internal error'),
    503: json(
      Rejection,
      'Nothing can be accepted now; ask again',
      'Cannot keep the transcript: the database is not available',
    ),
  },
});

/** Transcripts are counted as a provider of their own. */
const PROVIDER = 'transcript';

export const transcriptsApp = (deps: TranscriptsApp) => {
  const app = routes<HttpEnv>();
  app.openAPIRegistry.registerPath(appendTranscript); // beside a plain handler: `openapi()` would parse the body on this thread
  app.post(appendTranscript.path, (c) =>
    take(c, deps, {
      what: 'transcript',
      provider: PROVIDER,
      append: deps.append,
      answer: (verdict, bytes) => answer(c, verdict, bytes, deps),
    }),
  );
  return app;
};

function answer(c: Context<HttpEnv>, verdict: TranscriptVerdict, bytes: number, deps: TranscriptsApp): Response {
  const { metrics } = deps;
  switch (verdict.kind) {
    case 'accepted': {
      const { raw_turn_id, session_id, deduped, summary } = verdict;
      metrics.ingestWrite(PROVIDER, deduped ? 'duplicate' : 'accepted');
      if (!deduped) metrics.ingestBody(PROVIDER, bytes);
      return c.json(
        {
          status: 'accepted',
          deduped,
          records: summary.records,
          session_id,
          raw_turn_id,
          ...(!summary.main && { agent_id: summary.agent_id }),
          ...(summary.part && { part: summary.part }),
        },
        202,
      );
    }
    case 'unstorable':
      metrics.ingestWrite(PROVIDER, 'failed');
      return rejection(c, 422, 'unstorable', verdict.error);
    case 'incomplete':
      metrics.ingestWrite(PROVIDER, 'reject_incomplete');
      return rejection(c, 409, 'incomplete', verdict.error);
    case 'purged':
      metrics.ingestWrite(PROVIDER, 'reject_purged');
      return rejection(c, 410, 'purged', verdict.error);
    case 'malformed':
    case 'unavailable':
      return answerRejected(c, verdict, PROVIDER, deps);
  }
}
