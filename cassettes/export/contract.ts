/** The contract of the export cassette: its routes with their parameters, and every status that they answer. */
import { createRoute, z } from '@hono/zod-openapi';
import { Failure, json } from '../../core/http/routes.ts';
import { ExportLines } from './model.ts';
import { instantOf } from './window.ts';

export const NO_DATABASE = 'Cannot export: this service runs without a database';
export const NO_SESSION = 'Cannot export the session: there is none with this id';
export const NOT_LOADED = 'Cannot export: what is stored could not be loaded; the log has more';

const BAD_DETAIL = 'must be spans or traces';
const BAD_STAMP =
  'must be an RFC 3339 timestamp such as 2026-07-27T09:30:00Z or 2026-07-27T11:30:00%2B02:00 ("+" written as %2B)';
const BAD_ID = 'must be the UUID of a session';

const Detail = z
  .enum(['spans', 'traces'], { error: BAD_DETAIL })
  .default('spans')
  .describe('`traces`: turn headers only, no spans and no links');

const stamp = (description: string) =>
  z
    .string()
    .optional()
    .transform((text, context) => {
      const instant = text === undefined ? null : instantOf(text);
      if (text === undefined || instant !== null) return instant;
      context.addIssue(BAD_STAMP);
      return z.NEVER;
    })
    .openapi({ type: 'string', format: 'date-time', description });

const Id = z
  .guid({ error: BAD_ID })
  .toLowerCase()
  .openapi({ type: 'string', format: 'uuid', examples: ['7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10'] });

const lines = (description: string, filename: string) => ({
  description,
  // Typed as a Record: the handler's types take any name that begins with `application/` and ends in `json` for JSON.
  content: { 'application/x-ndjson': { schema: ExportLines } } as Record<string, { schema: typeof ExportLines }>,
  headers: {
    'content-disposition': {
      description: `How the file is called: ${filename}, with -traces before .jsonl where the detail is traces`,
      required: true,
      schema: { type: 'string' as const },
    },
  },
});

const failures = {
  500: json(Failure, 'What is stored could not be loaded', ['export-failed', NOT_LOADED]),
  501: json(Failure, 'There is no database', ['no-database', NO_DATABASE]),
};

export const exportSessions = createRoute({
  method: 'get',
  path: '/api/export/sessions',
  operationId: 'exportSessions',
  tags: ['export'],
  summary: 'All sessions that were active in a window of time, one line of JSON each',
  description:
    'Those seen last come first. Sessions with a turn that started in the window are exported whole, with their turns outside of it. ' +
    'Which ones, and their order, is fixed when the export begins. An answer is never shortened: where one cannot be finished its ' +
    'connection is cut.',
  request: {
    query: z.object({
      since: stamp(
        'sessions with a turn started at or after it; at most, and by default, 30 days ago, else it is 30 days ago',
      ),
      until: stamp('sessions with a turn started before it; not after `since`: there are none'),
      detail: Detail,
    }),
  },
  responses: {
    200: lines(
      'The export, one session a line',
      'sessions-last-30-days-<date>.jsonl, or sessions-<date>-to-<date>.jsonl when since or until is given, dates in UTC',
    ),
    400: json(Failure, 'Malformed since or until, or an unrecognised detail', [
      'bad-request',
      `Cannot read the query: "detail" ${BAD_DETAIL}`,
    ]),
    ...failures,
  },
});

export const exportSession = createRoute({
  method: 'get',
  path: '/api/export/sessions/{id}',
  operationId: 'exportSession',
  tags: ['export'],
  summary: 'One session as one line of JSON',
  description:
    'What fails within the first 8 MiB is answered as a failure. Beyond, the connection is cut; nothing is ever left out to make it fit.',
  request: { params: z.object({ id: Id }), query: z.object({ detail: Detail }) },
  responses: {
    200: lines('The session', 'session-<id>-<date>.jsonl, today in UTC'),
    400: json(Failure, 'An unrecognised detail, or an id that is missing or no UUID', [
      'bad-request',
      `Cannot read the path: "id" ${BAD_ID}`,
    ]),
    404: json(Failure, 'No such session', ['session-unknown', NO_SESSION]),
    ...failures,
  },
});

export const MISSING_ID = `Cannot read the path: "id" ${BAD_ID}`;

const Pong = z.object({ status: z.literal('ok'), cassette: z.string() }).openapi('Pong', {
  examples: [{ status: 'ok', cassette: 'export' }],
});
export const ping = createRoute({
  method: 'get',
  path: '/ping',
  operationId: 'ping',
  tags: ['export'],
  summary: 'Whether it is there',
  responses: { 200: json(Pong, 'It is') },
});
