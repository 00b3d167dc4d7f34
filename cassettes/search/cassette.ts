/** Semantic search over spans. Without an embedder it is admitted all the same, and answers 503. */
import { randomUUID } from 'node:crypto';
import { HTTPException } from 'hono/http-exception';
import type { Cassette, Log } from '../../core/cassette/contract.ts';
import { onError } from '../../core/http/failure.ts';
import { knownQuery } from '../../core/http/known-query.ts';
import { refuseNul } from '../../core/http/nul.ts';
import { problem } from '../../core/http/problem.ts';
import { routes } from '../../core/http/routes.ts';
import { unrouted } from '../../core/http/unrouted.ts';
import { settingsProblem } from './configured.ts';
import { CoreBusy, CoreFailed } from './core-reads.ts';
import { embedSpans } from './embed-spans.ts';
import { EmbeddingFailed, NoEmbedder } from './embedder.ts';
import { manifest, type SearchConfig } from './manifest.ts';
import { migrations } from './migrations.ts';
import { SearchOff } from './relations.ts';
import { BROKEN, BUSY, OFF, type SearchEnv, searchRoutes } from './routes.ts';

const app = routes<SearchEnv>();

app.use(async (c, next) => {
  c.set('requestId', c.req.header('x-request-id') ?? randomUUID());
  await next();
});
app.use(refuseNul());
app.use(knownQuery(app));
searchRoutes(app);

app.get('/ping', (c) => {
  const why = settingsProblem(c.env.CONFIG);
  if (why === null) return c.text('pong');
  return problem(c, 500, 'search-failed', `Cannot search: ${why}`); // the service shows this
});

app.get('/openapi', (c) =>
  c.json({
    ...app.getOpenAPI31Document(
      { openapi: '3.1.0', info: { title: 'Search', version: manifest.cassette.version } },
      { sortComponents: 'alphabetically' },
    ),
    'x-svc-cassette': manifest,
  }),
);

app.notFound(unrouted(app));

app.onError((error, c) => {
  const log = c.env.LOG;
  const request_id = c.get('requestId');
  if (error instanceof SearchOff || error instanceof NoEmbedder) {
    log.warn({ request_id, why: error.message }, 'search is not configured');
    return problem(c, ...OFF);
  }
  if (error instanceof CoreBusy) {
    log.warn({ request_id, why: error.message }, 'the read API has no room for a search');
    c.header('retry-after', '1'); // seconds
    return problem(c, ...BUSY);
  }
  if (error instanceof HTTPException && error.status === 415) return problem(c, ...NO_JSON);
  if (error.name === 'Refusal' || error instanceof HTTPException) return onError(log as unknown as OurLog)(error, c);
  const ours = error instanceof EmbeddingFailed || error instanceof CoreFailed || error.name === 'DatabaseError';
  log.error({ request_id, error: error.name, ...(ours ? { why: error.message } : {}) }, 'a search failed');
  return problem(c, ...BROKEN);
});

const NO_JSON = [400, 'bad-request', 'Cannot read the body: its content type is not application/json'] as const;

/** Only the methods that write lines are used of it. */
type OurLog = Parameters<typeof onError>[0] & Log;

export default {
  manifest,
  migrations,
  fetch: app.fetch as Cassette<SearchConfig>['fetch'],
  scheduled: (event, env, context) => embedSpans(env, event, context),
} satisfies Cassette<SearchConfig>;
