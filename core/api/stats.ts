/** GET /v1/stats: totals of messages, all or those of a project, agent, model, provider and time window. */
import { createRoute } from '@hono/zod-openapi';
import type { Database } from '../db/database.ts';
import { Failure, guardedRead, json, routes } from '../http/routes.ts';
import { Stats, StatsQuery } from '../model/stats.ts';

const readStats = createRoute({
  method: 'get',
  path: '/v1/stats',
  operationId: 'readStats',
  tags: ['service'],
  summary: 'Counts and totals of the messages that match',
  description: [
    'Stats count messages, while sessions, traces and spans count calls. A message that later calls repeat in their',
    'history is one message; it counts for the project, agent, model and provider of the first call that held it.',
    'Tokens and cost belong to the response of a call. Calls of one session that asked the same and were answered the',
    'same share that answer: stats count it once although each call was billed, where sessions, traces and spans',
    'count each. Tokens of a call whose answer is empty count there and not here. So `turn_count` is messages, where that of a',
    'session is traces, and `total_duration_ns` is the time from the first message to the last of all sessions together, idle or',
    'not, where the durations of traces and spans are those of calls.',
  ].join(' '),
  request: { query: StatsQuery },
  responses: {
    200: json(Stats, 'Totals, zeros where nothing matches'),
    400: json(Failure, 'Bad since or until, or a parameter given twice', [
      'bad-request',
      'Cannot read the query: "model" Invalid input: expected string, received array',
    ]),
    ...guardedRead,
  },
});

export const statsApp = ({ execute }: { execute: Database['execute'] }) =>
  routes().openapi(readStats, async (c) => c.json(await execute('readStats', c.req.valid('query')), 200));
