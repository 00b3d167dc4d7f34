/** GET /v1/stats and /v1/stats/series: totals of messages, all or those of a project, agent, model, provider and window; whole or in time. */
import { createRoute } from '@hono/zod-openapi';
import type { Database } from '../db/database.ts';
import { Refusal } from '../errors.ts';
import { Failure, guardedRead, json, routes } from '../http/routes.ts';
import { Stats, StatsQuery } from '../model/stats.ts';
import { type SeriesFilter, SeriesQuery, StatsSeries } from '../model/stats-series.ts';

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

const readStatsSeries = createRoute({
  method: 'get',
  path: '/v1/stats/series',
  operationId: 'readStatsSeries',
  tags: ['service'],
  summary: 'Tokens and cost of the messages that match, by day or hour and by model, project, agent or provider',
  description: [
    'Counts what `/v1/stats` counts, by the same rules: for the same filter the cells of all points add up to its totals exactly.',
    'Keys are the twelve with the highest cost, then the most tokens; the others are summed up as `other`. A key without a price',
    'has `cost_usd` 0 and `unpriced_tokens`.',
  ].join(' '),
  request: { query: SeriesQuery },
  responses: {
    200: json(StatsSeries, 'The buckets in which anything matches'),
    400: json(Failure, 'Bad since or until, or hours of a window that is too long', [
      'bad-request',
      'Cannot read hours: the window must have a since and be at most 8 days long; read days (bucket=day), or pass a later since',
    ]),
    ...guardedRead,
  },
});

const MOST_HOURS = 8 * 24;

/** Hours are read from the messages themselves, so there is an end to how many. */
export function boundedSeries(filter: SeriesFilter, now = Date.now()): SeriesFilter {
  const { bucket, since, until } = filter;
  const end = until === null ? now : Date.parse(until);
  if (bucket === 'day' || (since !== null && end - Date.parse(since) <= MOST_HOURS * 3_600_000)) return filter;
  throw new Refusal(
    'bad-request',
    'Cannot read hours: the window must have a since and be at most 8 days long; read days (bucket=day), or pass a later since',
  );
}

export const statsApp = ({ execute }: { execute: Database['execute'] }) =>
  routes()
    .openapi(readStats, async (c) => c.json(await execute('readStats', c.req.valid('query')), 200))
    .openapi(readStatsSeries, async (c) =>
      c.json(await execute('readStatsSeries', boundedSeries(c.req.valid('query'))), 200),
    );
