import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DatabaseError } from '../../core/errors.ts';
import { type IngestVerdict, MAX_INGEST_BYTES } from '../../core/model/ingest.ts';
import { ingestContract } from '../../ingest/app.ts';
import { operationsOf, schemaCheck } from '../support/openapi-fuzz/document.ts';
import type { Json } from '../support/read-api.ts';
import { KEPT, post, SIZE_ANSWER, standIngest, writes } from './stand.ts';

const test = suite('ingest API');

const says = (verdict: IngestVerdict) => ({ append: () => Promise.resolve(verdict) });
const fails = (thrown: unknown) => ({ append: () => Promise.reject(thrown) });

test('/ping says ok', async () => {
  const response = await standIngest().app.request('/ping');
  assert.equal([response.status, await response.json()], [200, { status: 'ok' }]);
});

test('a turn that is kept is answered 202 with where it stands', async () => {
  const { app, taken } = standIngest();
  const response = await post(app, '{"provider":"anthropic"}');
  assert.is(response.status, 202);
  assert.equal(await response.json(), {
    status: 'accepted',
    raw_turn_id: 12,
    session_id: KEPT.session_id,
    request_id: 'r1',
    deduped: false,
  });
  assert.is(Buffer.from(taken[0]?.body ?? []).toString(), '{"provider":"anthropic"}');
});

test('the same turn again is 202, too, and said to be there already', async () => {
  const stand = standIngest(says({ ...KEPT, deduped: true }));
  const response = await post(stand.app, '{}');
  assert.equal([response.status, ((await response.json()) as Json).deduped], [202, true]);
  assert.equal([await writes(stand, 'duplicate', 'anthropic'), await writes(stand, 'accepted', 'anthropic')], [1, 0]);
});

test('every rejection is exactly one sentence in `error`', async () => {
  const { session_id } = KEPT;
  const json = { 'content-type': 'application/json' };
  const kept = { raw_turn_id: 12, session_id, request_id: 'r1', deduped: false, provider: 'openai' };
  const oversize = { ...json, 'content-length': String(MAX_INGEST_BYTES + 1) };
  const malformed = says({ kind: 'malformed', error: 'Cannot read the envelope: no' });
  const unusable = says({ kind: 'unusable', error: 'Cannot read the turn: no', ...kept });
  const unavailable = says({ kind: 'unavailable', error: 'Cannot keep the turn: no' });
  for (const [status, method, path, headers, given] of [
    [400, 'POST', '/v1/ingest', json, malformed],
    [403, 'GET', '/ping', { host: 'evil.example' }, {}],
    [403, 'POST', '/v1/ingest', { ...json, origin: 'http://evil.example' }, {}],
    [404, 'GET', '/nothing', {}, {}],
    [404, 'GET', '/v1/sessions', {}, {}],
    [404, 'POST', '/nothing', json, {}],
    [405, 'DELETE', '/ping', {}, {}],
    [413, 'POST', '/v1/ingest', oversize, {}],
    [415, 'POST', '/v1/ingest', { 'content-type': 'text/plain' }, {}],
    [422, 'POST', '/v1/ingest', json, unusable],
    [500, 'POST', '/v1/ingest', json, fails(new Error('secret'))],
    [503, 'POST', '/v1/ingest', json, unavailable],
    [503, 'POST', '/v1/ingest', json, fails(new DatabaseError('secret', '', true))],
  ] as [number, string, string, Record<string, string>, object][]) {
    const what = `${status} ${method} ${path}`;
    const response = await standIngest(given).app.request(path, {
      method,
      headers,
      ...(method === 'POST' ? { body: '{}' } : {}),
    });
    assert.is(response.status, status, what);
    assert.is(response.headers.get('content-type'), 'application/json', what);
    const body = (await response.json()) as Json;
    assert.equal(Object.keys(body), ['error'], what);
    assert.type(body.error, 'string');
    assert.not.match(body.error, 'secret');
    assert.is(response.headers.get('allow'), status === 405 ? 'GET, HEAD' : null);
    assert.is(response.headers.get('retry-after'), status === 503 ? '1' : null);
  }
});

test('a turn that nobody can read is 422 and says under which number it is kept', async () => {
  const error = 'Cannot read the turn: the provider is unknown';
  const stand = standIngest(says({ ...KEPT, kind: 'unusable', error, provider: 'acme' }));
  const response = await post(stand.app, '{}');
  assert.equal([response.status, await response.json()], [422, { error: `${error} (kept as raw turn 12)` }]);
  assert.is(await writes(stand, 'unusable'), 1);
});

test('only POST is served at /v1/ingest', async () => {
  for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
    const response = await standIngest().app.request('/v1/ingest', { method });
    assert.equal([response.status, response.headers.get('allow')], [405, 'POST'], method);
  }
});

test('a body must be JSON by its content type, in the charset of JSON', async () => {
  for (const type of [
    'application/json',
    'Application/JSON; charset=UTF-8',
    'application/json;charset="utf-8"',
    'application/vnd.acme.turn+json; profile=x',
  ]) {
    const { app, taken } = standIngest();
    assert.equal([(await post(app, '{}', { 'content-type': type })).status, taken.length], [202, 1], type);
  }
  for (const type of [
    '',
    'json',
    'text/json',
    'text/plain',
    'application/jsonl',
    'application/x-ndjson',
    'application/+json',
    'application/json, text/plain',
    'application/x-www-form-urlencoded',
    'application/json; charset=utf-16',
  ]) {
    const stand = standIngest();
    const response = await post(stand.app, '{}', { 'content-type': type });
    assert.equal([response.status, stand.taken.length], [415, 0], type);
    assert.is(await writes(stand, 'reject_media_type'), 1);
  }
});

test('a body must come without content coding', async () => {
  for (const coding of ['gzip', 'zstd', 'br', 'identity, gzip', ''])
    assert.is((await post(standIngest().app, '{}', { 'content-encoding': coding })).status, 415, coding);
  for (const coding of ['identity', 'Identity'])
    assert.is((await post(standIngest().app, '{}', { 'content-encoding': coding })).status, 202, coding);
});

test("the caller's name is handed on only where a gateway is trusted to set it", async () => {
  const handedOn = async (trustCallerHeader: boolean, headers: Record<string, string>) => {
    const { app, taken } = standIngest({ trustCallerHeader });
    await post(app, '{}', headers);
    return taken.map(({ subject }) => subject);
  };
  const headers = { 'x-svc-auth-subject': 'ada@example.com' };
  assert.equal(await handedOn(true, headers), ['ada@example.com']);
  assert.equal(await handedOn(false, headers), [null]);
  assert.equal(await handedOn(true, {}), [null]);
  assert.equal(await handedOn(true, { 'x-svc-auth-subject': '' }), [null]);
});

test('413: the metric, and the log line with declared length, limit and path', async () => {
  const stand = standIngest();
  const declared = MAX_INGEST_BYTES + 1;
  const response = await post(stand.app, '{}', { 'content-length': String(declared) });
  assert.equal([response.status, await response.text()], [413, SIZE_ANSWER]);
  assert.is(response.headers.get('connection'), 'close');
  assert.is(await writes(stand, 'reject_oversize'), 1);
  const [line, ...others] = stand.logged();
  assert.equal(others, []);
  assert.equal(
    [line.level, line.content_length, line.limit, line.path, line.request_id],
    [40, declared, 15_379_114, '/v1/ingest', response.headers.get('x-request-id')],
  );
  assert.is(stand.taken.length, 0);
});

test('413 goes for a POST to any path, and before all else that could be wrong with it', async () => {
  for (const path of ['/v1/ingest', '/v1/ingest/transcript', '/ping', '/metrics', '/nothing']) {
    const stand = standIngest();
    const headers = { 'content-length': String(MAX_INGEST_BYTES + 1), 'content-type': 'text/plain' };
    const response = await stand.app.request(`${path}?key=secret`, { method: 'POST', headers, body: 'x' });
    assert.is(response.status, 413, path);
    assert.is(await writes(stand, 'reject_oversize'), 1);
    assert.is(stand.logged()[0].path, path);
    assert.not.match(JSON.stringify(stand.logged()), 'secret');
  }
});

test('a bug behind the listener is 500 without its words, neither in the answer nor in the log', async () => {
  const stand = standIngest(fails(new SyntaxError('Unexpected token in "my secret prompt"')));
  const response = await post(stand.app, '{"request":"my secret prompt"}');
  assert.equal([response.status, await response.json()], [500, { error: 'Internal error' }]);
  assert.is(stand.logged().length, 1);
  assert.not.match(JSON.stringify(stand.logged()), 'secret');
  assert.is(await writes(stand, 'failed'), 1);
});

test('a database that is away is 503 and may be asked again; one that says no is our bug', async () => {
  const away = standIngest(fails(new DatabaseError('connection lost', '', true)));
  const response = await post(away.app, '{}');
  assert.equal([response.status, response.headers.get('retry-after')], [503, '1']);
  assert.is(await writes(away, 'unavailable'), 1);
  const no = standIngest(fails(new DatabaseError('no such column', '42703', false)));
  assert.equal([(await post(no.app, '{}')).status, await writes(no, 'failed')], [500, 1]);
  const full = standIngest(says({ kind: 'unavailable', error: 'Cannot keep the turn: the queue is full' }));
  const refusal = await post(full.app, '{}');
  assert.equal([refusal.status, await refusal.json()], [503, { error: 'Cannot keep the turn: the queue is full' }]);
  assert.is(await writes(full, 'unavailable'), 1);
});

test('a body that breaks off is 400, and nothing of it is kept', async () => {
  const stand = standIngest();
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(Buffer.from('{"provider":'));
    },
    pull(controller) {
      controller.error(new Error('gone'));
    },
  });
  const response = await post(stand.app, body);
  assert.is(response.status, 400);
  assert.equal(Object.keys((await response.json()) as object), ['error']);
  assert.equal([stand.taken.length, await writes(stand, 'reject_envelope')], [0, 1]);
});

test('room for bodies is given back, also when their bytes went to another thread, and when that failed', async () => {
  let calls = 0;
  const stand = standIngest({
    append: async (body) => {
      structuredClone(body, { transfer: [body.buffer] });
      assert.is(body.byteLength, 0);
      if (calls++ % 2 === 1) throw new Error('no');
      return KEPT;
    },
  });
  const large = new Uint8Array(MAX_INGEST_BYTES);
  for (let n = 0; n < 6; n++) assert.ok([202, 500].includes((await post(stand.app, large)).status)); // four fill the room
  assert.is(await writes(stand, 'busy'), 0);
});

test('size and time are measured: the size of what is new, the time of every verdict', async () => {
  const stand = standIngest();
  await post(stand.app, 'x'.repeat(1_000));
  assert.is(await stand.value('svc_ingest_body_bytes_sum{provider="anthropic"}'), 1_000);
  assert.is(await stand.value('svc_ingest_body_bytes_bucket{le="1024",provider="anthropic"}'), 1);
  assert.is(await stand.value('svc_ingest_body_bytes_bucket{le="256",provider="anthropic"}'), 0);
  assert.is(await stand.value('svc_ingest_write_seconds_count'), 1);
  const again = standIngest(says({ ...KEPT, deduped: true }));
  await post(again.app, '{}');
  assert.is(await again.value('svc_ingest_body_bytes_count{provider="anthropic"}'), 0);
  assert.is(await again.value('svc_ingest_write_seconds_count'), 1);
});

test('a provider that is not known opens no series of its own', async () => {
  const stand = standIngest(says({ ...KEPT, provider: 'acme' }));
  await post(stand.app, '{}');
  assert.is(await writes(stand, 'accepted'), 1);
  assert.is(await stand.value('svc_ingest_body_bytes_count{provider="unknown"}'), 1);
});

test('its contract is its own, and documents what it serves', async () => {
  const { app } = standIngest();
  const { openapi, info, paths } = (await (await app.request('/openapi')).json()) as Json;
  assert.equal([openapi, info.title, info.version], ['3.1.0', 'svc ingest API', '1.2.3']);
  const undocumented = app.routes
    .filter(({ method }) => method !== 'ALL')
    .map(({ path }) => path)
    .filter((path) => !paths[path]);
  assert.equal(undocumented, ['/metrics']);
  assert.equal(ingestContract('1.2.3').paths, paths);
});

test('the contract of /v1/ingest names its body and all its answers', () => {
  const contract = ingestContract('0') as Json;
  const { components } = contract;
  const { requestBody, responses } = operationsOf(contract).find(({ path }) => path === '/v1/ingest') as Json;
  assert.is(requestBody.required, true);
  assert.match(requestBody.description, String(MAX_INGEST_BYTES));
  assert.equal(requestBody.content, { 'application/json': { schema: { $ref: '#/components/schemas/IngestTurn' } } });
  assert.equal(Object.keys(responses), ['202', '400', '403', '408', '413', '415', '422', '431', '500', '503']);
  for (const [status, { content }] of Object.entries<Json>(responses))
    assert.is(
      content['application/json'].schema.$ref,
      `#/components/schemas/${status === '202' ? 'AppendedTurn' : 'Rejection'}`,
    );
  assert.equal(Object.keys(components.schemas.Rejection.properties), ['error']);
});

test('the contract says that a turn has an answer, of which provider it may be, and that a part stands within its file', () => {
  const contract = ingestContract('0') as Json;
  const check = schemaCheck(contract);
  const { IngestTurn, CountedPart } = contract.components.schemas;
  const turn = { provider: 'openai', request: {} };
  for (const [answer, isOne] of [
    [{}, false],
    [{ response: null }, false],
    [{ raw_response: '' }, false],
    [{ raw_response: null, response: null }, false],
    [{ raw_response_withheld: true }, false],
    [{ raw_response: 'e30=' }, true],
    [{ raw_response: 'e30' }, false], // no base64
    [{ raw_response: 'e3-=' }, false],
    [{ raw_response: null, response: { stop_reason: 'stop' } }, true],
  ] as const)
    assert.is(check(IngestTurn, { ...turn, ...answer }) === null, isOne, JSON.stringify(answer));
  assert.match(CountedPart.properties.index.description, /below count/);
  const turns = operationsOf(contract).find(({ path }) => path === '/v1/ingest') as Json;
  assert.match(turns.responses[422].description, 'its provider is unknown, or it has no answer');
  const { responses } = operationsOf(contract).find(({ path }) => path === '/v1/ingest/transcript') as Json;
  assert.match(responses[400].description, 'part.index is not below part.count');
});

test('/metrics are there', async () => {
  const text = await (await standIngest().app.request('/metrics')).text();
  assert.match(text, 'svc_build_info{version="1.2.3",role="ingest"} 1');
});

test.run();
