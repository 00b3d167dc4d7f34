import { createRoute, z } from '@hono/zod-openapi';
import { HTTPException } from 'hono/http-exception';
import pino from 'pino';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DatabaseError, Refusal, type RefusalCode } from '../../../core/errors.ts';
import { onError } from '../../../core/http/failure.ts';
import { requestIds } from '../../../core/http/request-id.ts';
import { Failure, json, routes } from '../../../core/http/routes.ts';
import { unrouted } from '../../../core/http/unrouted.ts';
import { Problem } from '../../../core/model/problem.ts';

const test = suite('failures');

const ID = '019aa5f0-8f1a-7c33-9d0e-3a6f5e0b7c11';

/** An app whose only route throws; `log` has what an operator would read. */
const throwing = (thrown: () => unknown) => {
  const log: string[] = [];
  const app = routes();
  app.use(requestIds(() => ID));
  app.onError(onError(pino({}, { write: (line: string) => void log.push(line) })));
  app.notFound(unrouted(app));
  app.get('/it', () => {
    throw thrown();
  });
  return { app, log };
};

const REFUSALS: Record<RefusalCode, number> = {
  'bad-request': 400,
  unauthorized: 401,
  'read-only': 403,
  'foreign-host': 403,
  'foreign-origin': 403,
  'session-unknown': 404,
  'trace-unknown': 404,
  'span-unknown': 404,
  'raw-turn-unknown': 404,
  'raw-turn-unanswered': 404,
  'raw-turn-promptless': 404,
  'block-unknown': 404,
  'raw-turn-inseparable': 409,
  'route-unknown': 404,
  'method-not-allowed': 405,
  'backup-broken': 409,
  'gc-under-way': 409,
  'body-too-large': 413,
  'body-undecodable': 422,
  'decoder-unavailable': 503,
  'range-unsatisfiable': 416,
  'unsupported-media-type': 415,
  'too-many-payload-reads': 503,
  'too-many-readers': 503,
  'database-unavailable': 503,
  'deadline-exceeded': 504,
  'cassette-unknown': 404,
  'cassette-broken': 502,
  'cassette-unavailable': 503,
  'cassette-late': 504,
};

for (const [code, status] of Object.entries(REFUSALS) as [RefusalCode, number][])
  test(`the refusal ${code} is a problem with status ${status}`, async () => {
    const { app } = throwing(() => new Refusal(code, 'Cannot do it: for a reason'));
    const response = await app.request('/it');
    assert.is(response.status, status);
    assert.is(response.headers.get('content-type'), 'application/problem+json');
    const body = Problem.parse(await response.json());
    assert.equal(
      [body.status, body.code, body.error, body.detail],
      [status, code, 'Cannot do it: for a reason', body.error],
    );
    assert.is(body.request_id, ID);
    assert.is(response.headers.get('www-authenticate'), code === 'unauthorized' ? 'Bearer realm="svc"' : null);
  });

test('of a bug nothing is told, and the log has its place but not its words', async () => {
  const { app, log } = throwing(() => new SyntaxError('Unexpected token in "my secret prompt"'));
  const response = await app.request('/it');
  const text = await response.text();
  assert.is(response.status, 500);
  assert.is(JSON.parse(text).error, 'Internal error');
  assert.not.match(text, 'secret');
  assert.not.match(log.join(''), 'secret');
  assert.match(log.join(''), ID);
  assert.match(log.join(''), 'failure.test.ts');
});

test('a database that is away is 503 and may be asked again; one that says no is our bug', async () => {
  const away = await throwing(() => new DatabaseError('connection lost', '', true)).app.request('/it');
  assert.is(away.status, 503);
  assert.is(away.headers.get('retry-after'), '1');
  const no = await throwing(() => new DatabaseError('no such column', '42703', false)).app.request('/it');
  assert.is(no.status, 500);
  assert.not.match(await no.text(), 'column');
});

test('exceptions of the framework keep their status and lose their words', async () => {
  for (const [status, code] of [
    [415, 'unsupported-media-type'],
    [413, 'body-too-large'],
    [400, 'bad-request'],
  ] as const) {
    const response = await throwing(() => new HTTPException(status, { message: 'quoted input' })).app.request('/it');
    const text = await response.text();
    assert.is(JSON.parse(text).code, code);
    assert.not.match(text, 'quoted');
  }
});

test('an unknown path is 404, a known one by another method 405 with what is allowed', async () => {
  const { app } = throwing(() => new Error());
  app.post('/both', (c) => c.text('')).get('/both', (c) => c.text('x'));
  app.get('/things/:id', (c) => c.text('x'));
  const of = async (method: string, path: string) => {
    const response = await app.request(path, { method });
    return [response.status, response.headers.get('allow')];
  };
  assert.equal(await of('GET', '/nothing'), [404, null]);
  assert.equal(await of('DELETE', '/both'), [405, 'GET, HEAD, POST']);
  assert.equal(await of('POST', '/things/1'), [405, 'GET, HEAD']);
  assert.equal(await of('OPTIONS', '/things/1'), [405, 'GET, HEAD']);
  assert.equal(await of('HEAD', '/things/1'), [200, null]);
});

test('what comes in is held against its schema: a segment is 404, all else 400, a body needs its content type', async () => {
  const { app } = throwing(() => new Error());
  const route = createRoute({
    method: 'post',
    path: '/checked/{id}',
    request: {
      params: z.object({ id: z.uuid() }),
      query: z.object({ size: z.enum(['big', 'small']) }),
      body: { required: true, content: { 'application/json': { schema: z.object({ name: z.string() }) } } },
    },
    responses: { 200: json(z.object({}), 'Done'), 400: json(Failure, 'No') },
  });
  app.openapi(route, (c) => c.json({}, 200));
  const post = async (path: string, body: string, type = 'application/json') => {
    const response = await app.request(path, { method: 'POST', body, headers: { 'content-type': type } });
    return [response.status, ((await response.json()) as { error?: string }).error];
  };
  const good = '{"name":"x"}';
  assert.equal(await post(`/checked/${ID}?size=big`, good), [200, undefined]);
  assert.equal(await post('/checked/7?size=big', good), [
    404,
    'Cannot find what the path names: a segment of it is no id',
  ]);
  assert.is((await post(`/checked/${ID}?size=huge`, good))[0], 400);
  assert.match(String((await post(`/checked/${ID}?size=huge`, good))[1]), 'Cannot read the query: "size" ');
  assert.match(String((await post(`/checked/${ID}?size=big`, '{}'))[1]), 'Cannot read the body: "name" ');
  assert.is((await post(`/checked/${ID}?size=big`, '{'))[0], 400);
  assert.is((await post(`/checked/${ID}?size=big`, good, 'text/plain'))[0], 415);
});

test("a caller's request id is kept when it is a UUID", async () => {
  const { app } = throwing(() => new Refusal('bad-request', 'no'));
  const sent = '3f5d7081-92a3-44b5-86d7-e8f901122334';
  const idFor = async (header: string) =>
    (await app.request('/it', { headers: { 'x-request-id': header } })).headers.get('x-request-id');
  assert.is(await idFor(sent), sent);
  assert.is(await idFor(sent.toUpperCase()), ID);
  assert.is(await idFor('<script>'), ID);
});

test.run();
