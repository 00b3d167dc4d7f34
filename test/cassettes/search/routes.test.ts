import * as assert from 'uvu/assert';
import { manifest } from '../../../cassettes/search/manifest.ts';
import { answer, user } from '../../support/call-turn.ts';
import { databaseSuite, type TestDatabase } from '../../support/databases.ts';
import { deriveAll } from '../../support/derive-all.ts';
import { startEmbedder } from '../../support/embedding-server.ts';
import type { Json } from '../../support/read-api.ts';
import { standSearch } from '../../support/search.ts';
import { journalCall, storeCalls } from '../../support/stored-calls.ts';

type Server = Awaited<ReturnType<typeof startEmbedder>>;
type Search = Awaited<ReturnType<typeof standSearch>>;

const posted = (body: unknown, type = 'application/json'): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': type },
  body: typeof body === 'string' ? body : JSON.stringify(body),
});

/** Each call in a session of its own. */
async function storeExchanges(database: TestDatabase, exchanges: readonly (readonly [string, string])[], from = 0) {
  const calls = exchanges.map(([asks, answers], i) =>
    journalCall(`session-${from + i}`, { at: from + i, says: [user(asks)], answers: answer(answers) }),
  );
  await storeCalls(database, calls);
  await deriveAll(database);
}

databaseSuite('search: routes', (test, database) => {
  let server: Server;
  const stood = async (config: Record<string, unknown>, work: (search: Search) => Promise<void>, more = {}) => {
    const search = await standSearch(database(), {
      config: { 'embedding.provider': 'ollama', 'embedding.target': server.url, ...config },
      ...more,
    });
    try {
      assert.is(search.shown()?.state, 'admitted', JSON.stringify(search.shown()?.trouble));
      await work(search);
    } finally {
      await search.close();
    }
  };
  /** For tests that change nothing of it: one with the settings that most have. */
  let usual: Search | undefined;
  const onUsual = async (work: (search: Search) => Promise<void>) => {
    usual ??= await standSearch(database(), {
      config: { 'embedding.provider': 'ollama', 'embedding.target': server.url },
    });
    await work(usual);
  };
  const getAndPost = (search: Search, query = 'apples'): Promise<Response[]> =>
    Promise.all([search.ask(`/spans?query=${query}`), search.ask('/spans', posted({ query }))]);

  test.before(async () => {
    server = await startEmbedder();
  });
  test.after(async () => {
    await usual?.close();
    await server.close();
  });

  test('200: before any embedding exists there are none, and that is no failure', () =>
    stood({}, async (search) => {
      for (const response of await getAndPost(search)) {
        assert.is(response.status, 200);
        const { coverage: _, ...body } = (await response.json()) as Json; // there once embedding has begun
        assert.equal(body, { query: 'apples', results: [], count: 0 });
      }
    }));

  test('200: GET and POST give the nearest spans first, each with its prompt, snippet, model and time', async () => {
    await storeExchanges(database(), [
      ['how do apples grow', 'apples grow on trees'],
      ['how do ships float', 'ships float because water is pushed away'],
      ['where do apples and pears come from', 'from central Asia'],
    ]);
    await stood({}, async (search) => {
      await search.embedded();
      const [fromGet, fromPost] = await Promise.all(
        (await getAndPost(search, 'apples')).map((each) => each.json() as Json),
      );
      assert.equal(fromPost, fromGet);
      assert.is(fromGet.query, 'apples');
      assert.is(fromGet.count, 3);
      const [first, second, third] = fromGet.results;
      const [span] = await database().sql(
        `select session_id, trace_id, span_id from svc_v1.spans
          where kind = 'llm' and input::text like '%apples grow%' or kind = 'llm' and input::text like '%do apples grow%'`,
      );
      assert.equal(first, {
        ...span,
        score: first.score,
        user_prompt: 'how do apples grow',
        snippet: 'how do apples grow apples grow on trees',
        model: 'claude-sonnet-4-5',
        started_at: '2026-11-21T09:00:00.000000Z',
      });
      assert.ok(first.score > second.score && second.score > third.score && first.score <= 1);
      assert.is(second.user_prompt, 'where do apples and pears come from');
    });
  });

  test('a result is one span, however many of its chunks are near', async () => {
    await storeExchanges(database(), [['tell me of kiwis', 'kiwis kiwis kiwis\n'.repeat(2000)]], 10);
    await stood({}, async (search) => {
      const { chunks, embedded } = await search.embedded();
      assert.ok(chunks > embedded + 5);
      const { results } = await search.find('kiwis', 100);
      assert.is(results.length, 4);
      assert.is(new Set(results.map(({ span_id }: Json) => span_id)).size, 4);
    });
  });

  test('top_k: 1 to 100, default 5', async () => {
    await storeExchanges(
      database(),
      Array.from({ length: 120 }, (_, i) => [`number ${i} of many`, `this is answer ${i}`] as const),
      100,
    );
    await stood({}, async (search) => {
      await search.embedded();
      const counts = async (top_k: number | undefined) => {
        const query = top_k === undefined ? '' : `&top_k=${top_k}`;
        const fromGet = await search.ask(`/spans?query=number${query}`);
        const fromPost = await search.ask('/spans', posted({ query: 'number', ...(top_k ? { top_k } : {}) }));
        return [((await fromGet.json()) as Json).results.length, ((await fromPost.json()) as Json).count];
      };
      assert.equal(await counts(undefined), [5, 5]);
      assert.equal(await counts(1), [1, 1]);
      assert.equal(await counts(100), [100, 100]);
    });
  });

  test('top_k=100 returns 100 through the HNSW index', async () => {
    const schema = 'cassette_search';
    const vectors = `select '[' || string_agg(((i * 7919 + j * 104729) % 1000)::text, ',' order by j) || ']' as v
                       from generate_series(1, 384) j`;
    await stood({}, async (search) => {
      await search.embedded();
      const [row] = await database().sql(
        `select count(*)::int as n from ${schema}.span_embeddings where model = 'ollama/embeddinggemma'`,
      );
      assert.ok(Number(row?.n) > 120);
      // chunks of spans that are gone stand between: the index has to go on looking
      await database().sql(
        `insert into ${schema}.embedded_spans (model, trace_id, span_id, session_id, fingerprint, content_hash, state, chunks)
         select 'ollama/embeddinggemma', gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), '', '', 'embedded', 4
           from generate_series(1, 3000)`,
      );
      const [where] = await database().sql(
        `select n.nspname as schema from pg_extension e join pg_namespace n on n.oid = e.extnamespace where extname = 'vector'`,
      );
      await database().sql(
        `insert into ${schema}.span_embeddings (model, trace_id, span_id, chunk, dimensions, snippet, embedding)
         select e.model, e.trace_id, e.span_id, 0, 384, '', x.v::${where?.schema}.vector
           from (select *, row_number() over () as i from ${schema}.embedded_spans where fingerprint = '') e,
                lateral (${vectors}) x`,
      );
      await database().sql(`analyze ${schema}.span_embeddings`);
      const { results } = await search.find('number of many', 100);
      assert.is(results.length, 100);
      const [plan] = await database().sql(
        `explain (format json) select 1 from ${schema}.span_embeddings where model = 'ollama/embeddinggemma' and dimensions = 384
          order by embedding::${where?.schema}.vector(384) operator(${where?.schema}.<=>)
                   (select embedding from ${schema}.span_embeddings limit 1)::${where?.schema}.vector(384) limit 400`,
      );
      assert.match(JSON.stringify(plan), /span_embeddings_384/);
    });
  });

  const BAD_QUERIES: Record<string, string> = {
    'a missing query': '',
    'an empty query': 'query=',
    'a blank query': 'query=%20',
    'a query given twice': 'query=a&query=b',
    'top_k=0': 'query=a&top_k=0',
    'top_k=101': 'query=a&top_k=101',
    'top_k=-1': 'query=a&top_k=-1',
    'top_k=2.5': 'query=a&top_k=2.5',
    'top_k=many': 'query=a&top_k=many',
    'a parameter that it has not': 'query=a&topk=3',
    'an empty top_k': 'query=a&top_k=',
    'top_k given twice': 'query=a&top_k=1&top_k=2',
  };
  const BAD_BODIES: Record<string, unknown> = {
    'a NUL in a filter': { query: 'a', model: 'a\u0000b' },
    'half a surrogate pair in a filter': { query: 'a', project: '\ud800', mode: 'text' },
    'a NUL in the query': { query: 'a\u0000b', mode: 'text' },
    'a missing query': { top_k: 3 },
    'an empty query': { query: '' },
    'a query that is no text': { query: 5 },
    'top_k 0': { query: 'a', top_k: 0 },
    'top_k 101': { query: 'a', top_k: 101 },
    'top_k -1': { query: 'a', top_k: -1 },
    'top_k 2.5': { query: 'a', top_k: 2.5 },
    'top_k as text': { query: 'a', top_k: '5' },
    'a member that is not known': { query: 'a', limit: 5 },
    'a list': ['a'],
    'no JSON': '{"query":',
    'nothing at all': '',
  };
  test('400: GET refuses a missing query and top_k outside 1 to 100', () =>
    onUsual(async (search) => {
      for (const [what, query] of Object.entries(BAD_QUERIES)) await refused(await search.ask(`/spans?${query}`), what);
    }));
  test('400: POST refuses the same, and a body that is not what the contract says', () =>
    onUsual(async (search) => {
      for (const [what, body] of Object.entries(BAD_BODIES))
        await refused(await search.ask('/spans', posted(body)), what);
      await refused(await search.ask('/spans', posted({ query: 'a' }, 'text/plain')), 'another content type');
      await refused(await search.ask('/spans', { method: 'POST' }), 'no content type');
    }));

  test('500: the embedder fails, or cannot be asked', async () => {
    const failing = await startEmbedder({ refuse: () => 500 });
    try {
      for (const target of [failing.url, 'http://127.0.0.1:9'])
        await stood({ 'embedding.target': target }, async (search) => {
          for (const response of await getAndPost(search)) await failed(response, 500, 'search-failed');
        });
    } finally {
      await failing.close();
    }
  });

  const UNCONFIGURED: Record<string, Record<string, unknown>> = {
    'no key for the hosted provider': { 'embedding.provider': 'openai', 'embedding.target': '' },
    'a local model that is not there': { 'embedding.provider': 'local', 'embedding.model': 'no-such-model' },
    'weights that cannot be had': { 'embedding.provider': 'local', models_folder: '/dev/null/models' },
    'a spans_table that does not exist': { spans_table: 'svc_v1.no_such_view' },
    'a span_turns_table that does not exist': { span_turns_table: 'svc_v1.no_such_view' },
    'a spans_table in a schema that is not its own': { spans_table: 'svc.spans' },
    'a spans_table that is no name': { spans_table: "x'; drop table y --" },
  };
  const OWN = ['200', '400', '500', '503'];
  const OFF = 'Cannot search: the embedder, its store or a relation that it reads is missing';
  for (const [what, config] of Object.entries(UNCONFIGURED))
    test(`503: ${what}, and the cassette is in all the same`, () =>
      stood(config, async (search) => {
        for (const response of await getAndPost(search))
          assert.is((await failed(response, 503, 'search-unconfigured')).error, OFF);
      }));

  test('503: there is no database', () =>
    stood(
      {},
      async (search) => {
        for (const response of await getAndPost(search))
          assert.is((await failed(response, 503, 'search-unconfigured')).error, OFF);
      },
      { withDatabase: false },
    ));

  for (const view of ['spans', 'span_turns'])
    test(`503: the view svc_v1.${view} is missing`, () =>
      onUsual(async (search) => {
        await search.embedded();
        await database().sql(`alter view svc_v1.${view} rename to gone`);
        try {
          for (const response of await getAndPost(search))
            assert.is((await failed(response, 503, 'search-unconfigured')).error, OFF);
        } finally {
          await database().sql(`alter view svc_v1.gone rename to ${view}`);
        }
        assert.is((await search.ask('/spans?query=a')).status, 200);
      }));

  test('503: its own table of embeddings is missing', () =>
    onUsual(async (search) => {
      await search.embedded();
      await database().sql('alter table cassette_search.span_embeddings rename to gone');
      try {
        for (const response of await getAndPost(search))
          assert.is((await failed(response, 503, 'search-unconfigured')).error, OFF);
      } finally {
        await database().sql('alter table cassette_search.gone rename to span_embeddings');
      }
    }));

  test('dimensions that contradict the local model keep the cassette out, and nothing else', async () => {
    const config = { 'embedding.dimensions': 768 };
    const search = await standSearch(database(), { config });
    try {
      const { step, reason } = search.shown()?.trouble ?? {};
      assert.is(step, 'health');
      assert.match(reason ?? '', 'embedding.dimensions says 768, and the local model has 384');
      assert.is((await search.ask('/v1/sessions')).status, 200);
    } finally {
      await search.close();
    }
  });

  test('HEAD is like GET, another method is 405 with Allow, another path 404', () =>
    onUsual(async (search) => {
      assert.is((await search.ask('/spans?query=a', { method: 'HEAD' })).status, 200);
      const other = await search.ask('/spans', { method: 'DELETE' });
      assert.is(other.status, 405);
      assert.is(other.headers.get('allow'), 'GET, HEAD, POST');
      assert.is((await search.ask('/nothing')).status, 404);
    }));

  test('the tool follows the name of the installation, reads only, and gives what POST gives', () =>
    stood(
      {},
      async (search) => {
        const [tool] = search.shown()?.document?.tools ?? [];
        assert.is(tool?.full_name, 'recall_search');
        assert.is(tool?.annotations.readOnlyHint, true);
        assert.equal(Object.keys((tool?.inputSchema.properties ?? {}) as object), [
          ...['query', 'top_k', 'mode', 'project', 'agent_name', 'model', 'tool', 'status', 'since', 'until'],
        ]);
        assert.equal(tool?.inputSchema.required, ['query']);
        await search.embedded();
        const rpc = { jsonrpc: '2.0', id: 1, method: 'tools/call' };
        const called = await search.ask('/v1/mcp', {
          ...posted({ ...rpc, params: { name: 'recall_search', arguments: { query: 'apples', top_k: 2 } } }),
          headers: {
            'content-type': 'application/json',
            accept: 'application/json, text/event-stream',
            host: 'localhost',
          },
        });
        const { result } = (await called.json()) as Json;
        assert.equal(result.structuredContent, await search.find('apples', 2));
      },
      { name: 'recall' },
    ));

  test('the contract tells each status of each operation, with an example of each failure', () =>
    onUsual(async (search) => {
      const document: Json = await (await search.ask('/v1/cassettes/search/openapi.json')).json();
      const operations = Object.entries(document.paths as Json).flatMap(([path, methods]: [string, Json]) =>
        Object.entries(methods).map(([method, { operationId, responses }]: [string, Json]) => [
          ...[`${method} ${path}`, operationId, Object.keys(responses).filter((status) => OWN.includes(status))],
        ]),
      );
      assert.equal(operations, [
        ['get /v1/cassettes/search/spans', 'findSpans', OWN],
        ['post /v1/cassettes/search/spans', 'askForSpans', OWN],
        ['get /v1/cassettes/search/status', 'readSearchStatus', ['200', '500', '503']],
      ]);
      const { 503: off } = document.paths['/v1/cassettes/search/spans'].get.responses;
      assert.is(off.content['application/problem+json'].example.error, OFF);
    }));

  test('everything that the manifest declares has a description, and the settings are those of the configuration', () => {
    for (const { key, description } of manifest.config ?? []) assert.ok(description, key);
    assert.equal(
      (manifest.config ?? []).map(({ key }) => key).filter((key) => key.startsWith('embedding.')),
      ['embedding.provider', 'embedding.target', 'embedding.model', 'embedding.dimensions'],
    );
  });
});

async function refused(response: Response, what: string): Promise<void> {
  assert.is(response.status, 400, what);
  await failed(response, 400, 'bad-request');
}

async function failed(response: Response, status: number, code: string): Promise<Json> {
  assert.is(response.status, status, await response.clone().text());
  assert.match(response.headers.get('content-type') ?? '', 'application/problem+json');
  const problem = (await response.json()) as Json;
  assert.is(problem.code, code);
  assert.is(problem.status, status);
  assert.is(problem.error, problem.detail);
  assert.is(problem.request_id, response.headers.get('x-request-id'));
  return problem;
}
