/** The operations of search with their contracts, and the text of each of its failures. */
import { createRoute, type OpenAPIHono } from '@hono/zod-openapi';
import type { Env } from '../../core/cassette/contract.ts';
import { problemOf } from '../../core/http/problem.ts';
import { Failure, json } from '../../core/http/routes.ts';
import { comparedBy } from './changed-sessions.ts';
import { beginLedgerComparison, lastComparison, later, rememberComparison } from './comparisons.ts';
import { embedderOf } from './configured.ts';
import { ledgerOf } from './ledger.ts';
import type { SearchConfig } from './manifest.ts';
import { SearchStatus, SpanHits, SpanQuery, SpanQuestion } from './model.ts';
import { databaseOf, relationsOf } from './relations.ts';
import { searchSpans } from './search-spans.ts';
import { vectorStoreOf } from './vector-store.ts';

export type SearchEnv = { Bindings: Env<SearchConfig>; Variables: { requestId: string } };

/** One sentence for all causes; the log has the cause. */
export const OFF = [
  503,
  'search-unconfigured',
  'Cannot search: the embedder, its store or a relation that it reads is missing',
] as const;
export const BUSY = [
  503,
  'search-busy',
  'Cannot search: too many requests read whole payloads, or the database is not available',
] as const;
export const BROKEN = [500, 'search-failed', 'Cannot search: it failed; the log has more'] as const;

const failure = (what: string, [status, code, sentence]: readonly [number, string, string]) =>
  json(Failure, what, problemOf(status, code, sentence, '019aa5f0-8f1a-7c33-9d0e-3a6f5e0b7c11'));

const failures = {
  500: failure('The search failed', BROKEN),
  503: failure(
    'Search is not configured, or a relation that it reads is missing, which does not pass by itself; or the read API has no room for it now, which does',
    OFF,
  ),
};
const bad = (part: string) =>
  failure('The query is missing, top_k is not from 1 to 100, or a mode or filter is none', [
    ...([400, 'bad-request', `Cannot read the ${part}: "query" is missing`] as const),
  ]);

const findSpans = createRoute({
  method: 'get',
  path: '/api/search/spans',
  operationId: 'findSpans',
  tags: ['search'],
  summary: 'Spans whose words mean what the query means, or that have its words',
  request: { query: SpanQuery },
  responses: {
    200: json(SpanHits, 'The nearest spans; none where nothing is embedded yet'),
    400: bad('query'),
    ...failures,
  },
});

const askForSpans = createRoute({
  method: 'post',
  path: '/api/search/spans',
  operationId: 'askForSpans',
  tags: ['search'],
  summary: 'Search recorded conversations',
  description: [
    'Finds calls of past conversations with language models by meaning, not by words: what a person asked, what was answered,',
    'and what a provider said of a failure; not what tools were given or gave back. With mode "hybrid" or "text" it finds words',
    'as well: identifiers, paths and parts of words, also in what tools were given or gave back, with the place of each.',
    'Each result is one span with its session_id and trace_id, the user_prompt it began with, and where the nearest passage begins.',
  ].join(' '),
  request: { body: { ...json(SpanQuestion, 'What is looked for'), required: true } },
  responses: {
    200: json(SpanHits, 'The nearest spans; none where nothing is embedded yet'),
    400: bad('body'),
    ...failures,
  },
  'x-svc-mcp': { name: 'search', annotations: { readOnlyHint: true } },
});

const readStatus = createRoute({
  method: 'get',
  path: '/api/search/status',
  operationId: 'readSearchStatus',
  tags: ['search'],
  summary: 'How far embedding has come, and what failed',
  responses: { 200: json(SearchStatus, 'Counts of spans and vectors'), ...failures },
});

export const searchRoutes = (app: OpenAPIHono<SearchEnv>) =>
  app
    .openapi(findSpans, async (c) => c.json(await searchSpans(c.env, c.req.valid('query')), 200))
    .openapi(askForSpans, async (c) => c.json(await searchSpans(c.env, c.req.valid('json')), 200))
    .openapi(readStatus, async (c) => {
      const db = databaseOf(c.env);
      const { model } = embedderOf(c.env);
      const ledger = ledgerOf(db, await vectorStoreOf(c.env), relationsOf(c.env.CONFIG), model);
      const compared = later(lastComparison(c.env, 'embed'), lastComparison(c.env, 'count'));
      const comparison = await beginLedgerComparison(c.env, ledger, compared);
      const { status, complete } = await ledger.status(comparison.scope);
      if (complete) rememberComparison(c.env, 'count', comparedBy(comparison, []));
      return c.json(status, 200);
    });
