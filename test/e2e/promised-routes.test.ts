/** A walk over one service: the routes that clients of any version rely on answer with the statuses that a client can bring about. */
import * as assert from 'uvu/assert';
import { startEmbedder } from '../support/embedding-server.ts';
import { plainTurn } from '../support/post-turns.ts';
import { claimOfEachRecord, startScriptedLlm } from '../support/scripted-llm.ts';
import { eventually, read, type Service } from '../support/serve.ts';
import { record, SESSION } from '../support/transcript-uploads.ts';
import { onEachDatabase } from '../support/whole-service.ts';

// biome-ignore lint/suspicious/noExplicitAny: answers of any shape
type Json = any;

const TOKEN = 'planted-internal-token';
const NOBODY = '00000000-0000-4000-8000-000000000000';
const today = () => new Date().toISOString().slice(0, 10);

/** `method path`, the status, a body, and who asks, as a gateway in front of the service says it. */
type Row = [route: string, status: number, body?: unknown, subject?: string];

async function request(base: string, [route, status, body, subject]: Row): Promise<Response> {
  const [method = '', path = ''] = route.split(' ');
  const response = await fetch(`${base}${path}`, {
    method,
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(subject === undefined ? {} : { 'x-svc-auth-subject': subject }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  assert.is(response.status, status, `${route}: ${await response.clone().text()}`);
  return response;
}

/** Each is answered with its status, and each refusal with JSON whose field `error` is a sentence. */
async function answers(base: string, rows: readonly Row[]): Promise<void> {
  for (const row of rows) {
    const response = await request(base, row);
    if (row[1] < 400) await response.arrayBuffer();
    else assert.type(((await response.json()) as Json).error, 'string', row[0]);
  }
}

const name = async (base: string, route: string) =>
  /filename="(.*)"/.exec((await request(base, [`GET ${route}`, 200])).headers.get('content-disposition') ?? '')?.[1];

const firstSession = async ({ api }: Service): Promise<string> =>
  (await read<Json>(`${api}/v1/sessions?limit=50`)).items.find(({ display_title }: Json) =>
    display_title.includes('departs today'),
  ).id;

onEachDatabase(
  'promised routes',
  (test) => {
    test('operators: what was admitted, the demo, a derivation', async ({ service: { api, internal } }) => {
      await answers(api, [
        ['POST /v1/admin/seed/demo', 200],
        ['POST /v1/admin/derive/run', 200],
      ]);
      await eventually('the cassettes', async () =>
        (await read<Json>(`${api}/v1/cassettes`)).cassettes.every(({ state }: Json) => state === 'admitted'),
      );
      assert.is((await fetch(`${internal}/internal/readiness/evidence`)).status, 401);
      const headers = { authorization: `Bearer ${TOKEN}` };
      const evidence = (await (await fetch(`${internal}/internal/readiness/evidence`, { headers })).json()) as Json;
      assert.equal(
        evidence.cassettes.map((cassette: Json) => cassette.name),
        ['export', 'search', 'skills'],
      );
      const repair = { harness_id: 'mine', harness_session_id: 'other', reason: 'a walk' };
      const session = await firstSession({ api } as Service);
      const [turn] = (await read<Json>(`${api}/v1/sessions/${session}/raw_turns`)).items;
      const route = 'POST /v1/admin/raw-turns/attribution-repair';
      await answers(api, [
        [route, 400, repair],
        [route, 404, { ...repair, raw_turn_id: 999_999_999 }],
      ]);
      const whole = { ...repair, raw_turn_id: turn.raw_turn_id };
      assert.is(((await (await request(api, [route, 200, whole])).json()) as Json).projections_pending, undefined);
    });

    test('the read API', async ({ service }) => {
      const { api } = service;
      const session = await firstSession(service);
      const { traces } = await read<Json>(`${api}/v1/sessions/${session}/traces`);
      const trace_id = traces[0].trace.trace_id;
      const { spans } = await read<Json>(`${api}/v1/traces/${trace_id}`);
      const span_id = spans[0].span_id;
      await answers(api, [
        ['GET /', 200],
        ['GET /ping', 200],
        ['GET /openapi', 200],
        ['GET /swagger', 200],
        ['GET /metrics', 200],
        [`GET /v1/sessions/${session}`, 200],
        [`GET /v1/sessions/${session}/raw_turns`, 200],
        ['GET /v1/traces', 200],
        [`GET /v1/traces/${trace_id}`, 200],
        [`GET /v1/traces/${trace_id}/spans/${span_id}`, 200],
        [
          'GET /v1/stats?project=a&agent_name=b&model=c&provider=d&since=2020-01-01T00:00:00Z&until=2030-01-01T00:00:00Z',
          200,
        ],
        ['GET /v1/cassettes/search/openapi.json', 200],
        ['GET /v1/sessions?limit=0', 400],
        ['GET /v1/sessions?cursor=nonsense', 400],
        ['GET /v1/sessions/not-a-uuid', 404],
        ['GET /v1/stats?since=never', 400],
        [`GET /v1/sessions/${NOBODY}`, 404],
        [`GET /v1/traces/${NOBODY}`, 404],
        [`GET /v1/traces/${trace_id}/spans/${NOBODY}`, 404],
        ['GET /v1/search', 404],
        ['GET /v1/sessions/summary', 404],
        ['GET /v1/cassettes/nobody/openapi.json', 404],
        ['GET /v1/cassettes/nobody/at/all', 404],
      ]);
      const first = await read<Json>(`${api}/v1/sessions?limit=1`);
      const second = await read<Json>(`${api}/v1/sessions?limit=1&cursor=${encodeURIComponent(first.next_cursor)}`);
      assert.is.not(first.items[0].id, second.items[0].id);
      const stats = await read<Json>(`${api}/v1/stats`);
      const counts = ['session_count', 'turn_count', 'root_count', 'completed_count', 'total_cost', 'input_tokens'];
      for (const count of [...counts, 'output_tokens', 'total_duration_ns', 'tool_calls'])
        assert.ok(stats[count] > 0, `${count}: ${stats[count]}`);
    });

    test('the ingest API', async ({ service: { ingest } }) => {
      await answers(ingest, [
        ['GET /ping', 200],
        ['GET /openapi', 200],
        ['POST /v1/ingest', 202, JSON.parse(plainTurn('walk'))],
        ['POST /v1/ingest/transcript', 202, { session: SESSION, records: [record(0)] }],
        ['POST /v1/ingest', 400, {}],
        ['POST /v1/ingest/transcript', 400, { session: SESSION }],
        ['POST /v1/ingest', 413, { filler: 'x'.repeat(15_400_000) }],
        ['GET /v1/sessions', 404],
      ]);
      const metrics = await (await fetch(`${ingest}/metrics`)).text();
      assert.match(metrics, /^svc_ingest_writes_total\{provider="unknown",status="reject_oversize"\} 1$/m);
    });

    test('export', async ({ service }) => {
      const base = `${service.api}/v1/cassettes/export`;
      const session = await firstSession(service);
      const since = new Date(Date.now() - 86_400_000).toISOString();
      assert.is(await name(base, '/sessions'), `sessions-last-30-days-${today()}.jsonl`);
      assert.is(await name(base, '/sessions?detail=traces'), `sessions-last-30-days-${today()}-traces.jsonl`);
      assert.is(await name(base, `/sessions?since=${since}`), `sessions-${since.slice(0, 10)}-to-${today()}.jsonl`);
      assert.is(await name(base, `/sessions/${session}`), `session-${session}-${today()}.jsonl`);
      assert.is(await name(base, `/sessions/${session}?detail=traces`), `session-${session}-${today()}-traces.jsonl`);
      await answers(base, [
        ['GET /sessions?since=yesterday', 400],
        ['GET /sessions?until=1', 400],
        ['GET /sessions?detail=everything', 400],
        ['GET /sessions/not-a-uuid', 400],
        [`GET /sessions/${NOBODY}`, 404],
      ]);
    });

    test('search, by HTTP and by MCP', async ({ service: { api } }) => {
      const base = `${api}/v1/cassettes/search`;
      const query = 'when does the ferry depart';
      const found = await eventually('what is embedded', async () => {
        const answer = await read<Json>(`${base}/spans?query=${encodeURIComponent(query)}&top_k=3`);
        return answer.count === 3 && answer;
      });
      assert.equal(Object.keys(found.results[0]).slice(0, 4), ['session_id', 'trace_id', 'span_id', 'score']);
      assert.is(found.query, query);
      await answers(base, [
        ['POST /spans', 200, { query, top_k: 100 }],
        ['GET /spans', 400],
        ['GET /spans?query=x&top_k=0', 400],
        ['GET /spans?query=x&top_k=101', 400],
        ['POST /spans', 400, { top_k: 5 }],
      ]);
      const mcp = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
      const response = await fetch(`${api}/v1/mcp`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        body: JSON.stringify(mcp),
      });
      assert.match(await response.text(), /"name":"search_/);
    });

    test('skills', async ({ service }) => {
      const base = `${service.api}/v1/cassettes/skills`;
      const session = await firstSession(service);
      const skill = { name: 'Walking', description: 'How to walk', content: '# Walk', tags: ['feet'] };
      const { id } = (await (await request(base, ['POST ', 201, skill])).json()) as Json;
      const made = await (await request(base, ['POST /generate', 201, { sessionIds: [session] }])).json();
      const hers = (await (await request(base, ['POST ', 201, skill, 'ada'])).json()) as Json;
      const own = (await (await request(base, [`POST /${id}/duplicate`, 201, {}])).json()) as Json;
      await answers(base, [
        ['GET ', 200],
        ['GET ?limit=100&q=walk&scope=team&sort=downloads', 200],
        [`GET ?session_id=${session}`, 200],
        [`GET /${id}`, 200],
        [`PUT /${id}`, 200, { ...skill, name: 'Walking on' }],
        [`GET /${id}/skill.md`, 200],
        [`POST /${id}/versions`, 201, {}],
        [`POST /${id}/versions`, 201, {}],
        [`GET /${id}/versions`, 200],
        [`DELETE /${(made as Json).id}`, 204],
        [`DELETE /${own.id}`, 204],
        [`PUT /${hers.id}`, 200, skill, 'grace'],
        [`DELETE /${hers.id}`, 403, undefined, 'grace'],
        [`DELETE /${hers.id}`, 204, undefined, 'ada'],
        ['GET ?cursor=nonsense', 400],
        ['POST ', 400, { name: 1 }],
        ['POST /generate', 400, { sessionIds: [] }],
        [`PUT /${id}`, 400, { name: 1 }],
        ['POST /generate', 404, { sessionIds: [NOBODY] }],
        [`GET /${NOBODY}`, 404],
        [`PUT /${NOBODY}`, 404, skill],
        [`DELETE /${NOBODY}`, 404],
        [`POST /${NOBODY}/duplicate`, 404, {}],
        [`POST /${NOBODY}/versions`, 404, {}],
        [`GET /${NOBODY}/skill.md`, 404],
      ]);
      const { versions } = await read<Json>(`${base}/${id}/versions`);
      assert.equal(
        versions.map(({ versionNumber }: Json) => versionNumber),
        [2, 1],
      );
    });

    test.run();
  },
  async () => {
    const [embedder, llm] = [await startEmbedder(), await startScriptedLlm(claimOfEachRecord)];
    return {
      env: {
        SVC_CASSETTES_BUILT_IN: 'true',
        SVC_EMBEDDING_PROVIDER: 'openai',
        SVC_EMBEDDING_TARGET: `${embedder.url}/v1`,
        SVC_CASSETTE_SKILLS_LLM_BASE_URL: llm.url,
        SVC_CASSETTE_SKILLS_LLM_API_KEY: 'key-of-the-model',
        SVC_INTERNAL_LISTEN: '127.0.0.1:0',
        SVC_INTERNAL_TOKEN: TOKEN,
        SVC_API_TRUST_CALLER_HEADER: 'true',
      },
      close: async () => {
        await embedder.close();
        await llm.close();
      },
    };
  },
);
