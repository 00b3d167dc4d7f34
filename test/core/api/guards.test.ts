/** What stands before all routes of the read API, tried on each of them: token, methods, bodies, callers, deadline. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readContract } from '../../../core/api/app.ts';
import { SWAGGER_PATHS } from '../../../core/api/swagger.ts';
import { Problem } from '../../../core/model/problem.ts';
import { type Json, testApi } from '../../support/read-api.ts';

const test = suite('guards of the read API');

const ID = '7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10';
const TOKEN = 'open-sesame-1';
const OPEN = ['/ping', '/metrics', ...SWAGGER_PATHS];
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'];

type Route = { method: string; path: string };

/** Every route that is served, with ids in it that could be. */
const routesOf = (app = testApi()): Route[] => [
  ...new Map(
    app.routes
      .filter(({ method }) => method !== 'ALL')
      .map(({ method, path }) => ({ method, path: path.replaceAll(/:[a-z_]+(?:\{[^}]*\})?/g, ID).replace(/\*$/, 'x') }))
      .map((route) => [`${route.method} ${route.path}`, route]),
  ).values(),
];
const bodied = () =>
  Object.entries(readContract('0').paths as Json).flatMap(([path, methods]) =>
    Object.entries(methods as Json)
      .filter(([, operation]) => (operation as Json).requestBody)
      .map(([method]) => ({ method: method.toUpperCase(), path: path.replaceAll(/\{\w+\}/g, ID) })),
  );

test('with a token, every route wants it but those for probes and the page that asks for it, whatever the method; then it answers as without', async () => {
  const app = testApi({ token: TOKEN });
  const paths = [
    ...new Set(routesOf().map(({ path }) => path)),
    '/',
    '/nothing',
    '/v1',
    '/ping/',
    '/metrics/',
    '/v1/x',
  ];
  assert.ok(paths.length > 15, String(paths.length));
  for (const path of paths)
    for (const method of METHODS) {
      const wanted = OPEN.includes(path) ? [200, 405] : [401];
      for (const authorization of [
        undefined,
        'Bearer wrong',
        `Basic ${TOKEN}`,
        `Bearer ${TOKEN}x`,
        `Bearer ${TOKEN} x`,
      ]) {
        const response = await app.request(path, { method, ...(authorization ? { headers: { authorization } } : {}) });
        assert.ok(wanted.includes(response.status), `${method} ${path} ${authorization}: ${response.status}`);
        if (response.status === 401) assert.is(response.headers.get('www-authenticate'), 'Bearer realm="svc"');
        await response.body?.cancel();
      }
    }
  for (const { method, path } of routesOf()) {
    const response = await app.request(path, { method, headers: { authorization: `Bearer ${TOKEN}` } });
    assert.not.equal(response.status, 401, `${method} ${path}`);
    await response.body?.cancel();
  }
});

test('no other spelling of a path leads around the token', async () => {
  const app = testApi({ token: TOKEN });
  for (const path of [
    '//v1/sessions',
    '/v1//sessions',
    '/v1%2fsessions',
    '/V1/sessions',
    '/ping/../v1/sessions',
    '/ping/%2e%2e/v1/sessions',
    '/metrics/..;/v1/sessions',
    '/ping%00',
    '/ping%2f..%2fv1%2fsessions',
    '/ping;/v1/sessions',
    '/ping\\..\\v1\\sessions',
    '/v1/sessions?/ping',
    '/v1/sessions#/ping',
    '/%76%31/sessions',
  ])
    assert.is((await app.request(`http://localhost${path}`)).status, 401, path);
  for (const path of ['/ping?x', '/%70ing', '/v1/../ping', '/./ping'])
    assert.is((await app.request(`http://localhost${path}`)).status, 200, path);
});

test('a path has one spelling: no doubled, encoded or final slash leads to a route', async () => {
  for (const path of [
    '//ping',
    '/ping/',
    '/v1//sessions',
    '/v1%2fsessions',
    '/v1/sessions/',
    '/V1/sessions',
    '/ping%20',
  ])
    assert.is((await testApi().request(`http://localhost${path}`)).status, 404, path);
  for (const segment of ['7', 'null', `${ID}0`, `%20${ID}`, `${ID}%00`, '..%2f..', '%ff', 'x'.repeat(2_000), '%7b%7d'])
    assert.is((await testApi().request(`http://localhost/v1/sessions/${segment}`)).status, 404, segment);
});

test('on every path a method that it does not have is 405, with those that it has', async () => {
  const app = testApi();
  const routes = routesOf(app);
  for (const path of new Set(routes.map(({ path }) => path))) {
    const served = new Set(
      routesOf()
        .filter((route) => route.path === path)
        .map(({ method }) => method),
    );
    if (served.has('GET')) served.add('HEAD');
    for (const method of METHODS.filter((method) => !served.has(method))) {
      const response = await app.request(path, { method });
      assert.is(response.status, 405, `${method} ${path}`);
      const allowed = response.headers.get('allow')?.split(', ') ?? [];
      for (const method of served) if (allowed.length > 0) assert.ok(allowed.includes(method), `${path}: ${allowed}`);
      assert.ok(allowed.length > 0, path);
      if (method === 'HEAD') continue;
      const { code, status } = Problem.parse(await response.json());
      assert.equal([code, status], ['method-not-allowed', 405]);
    }
  }
});

/** A body without end, and how much of it was taken. */
const endless = () => {
  const taken = { bytes: 0 };
  const piece = new Uint8Array(65_536).fill(0x20);
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        taken.bytes += piece.byteLength;
        controller.enqueue(piece);
      },
    },
    { highWaterMark: 0 },
  );
  return { body, taken };
};

test('a route that takes a body takes no endless one, and none that does not say that it is JSON', async () => {
  const app = testApi();
  assert.ok(bodied().length > 1);
  for (const { method, path } of bodied()) {
    const { body, taken } = endless();
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const init = { method, headers, body, duplex: 'half' } as RequestInit;
    const response = await app.request(path, init);
    assert.is(response.status, 413, `${method} ${path}: ${response.status}`);
    assert.ok(taken.bytes < 2 * 1024 * 1024, `${method} ${path}: ${taken.bytes} bytes`);
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x']) {
      const plain = await app.request(path, {
        method,
        body: '{"x":1}',
        headers: { ...headers, 'content-type': type },
      });
      assert.is(plain.status, 415, `${method} ${path} ${type}`);
    }
  }
});

test('where no body is taken, none is read', async () => {
  const app = testApi();
  const takes = new Set(bodied().map(({ method, path }) => `${method} ${path}`));
  for (const { method, path } of routesOf()) {
    if (method === 'GET' || takes.has(`${method} ${path}`)) continue;
    const { body, taken } = endless();
    await app.request(path, { method, body, duplex: 'half' } as RequestInit);
    assert.ok(taken.bytes <= 65_536, `${method} ${path}: ${taken.bytes} bytes`);
  }
  for (const path of ['/nothing', '/ping', '/v1/sessions']) {
    const { body, taken } = endless();
    const response = await app.request(path, { method: 'POST', body, duplex: 'half' } as RequestInit);
    assert.ok([404, 405].includes(response.status), path);
    assert.ok(taken.bytes <= 65_536, `${path}: ${taken.bytes} bytes`);
  }
});

test('a read that the database does not answer in time is 504; what operators ask for may take longer', async () => {
  const never = () => new Promise<never>(() => {});
  const app = testApi({ execute: never, readMs: 20 });
  for (const path of [
    '/v1/sessions',
    `/v1/sessions/${ID}`,
    '/v1/traces',
    '/v1/stats',
    '/v1/coverage',
    `/v1/traces/${ID}`,
  ]) {
    const response = await app.request(path);
    assert.is(response.status, 504, path);
    assert.is(Problem.parse(await response.json()).code, 'deadline-exceeded');
  }
  const patient = app.request('/v1/admin/status');
  const first = await Promise.race([patient, new Promise((done) => setTimeout(() => done('waits'), 100))]);
  assert.is(first, 'waits');
});

test('no header of a request changes what is read', async () => {
  const queries: unknown[] = [];
  const app = testApi({
    trustCallerHeader: true,
    execute: ((name: string, args: unknown) => {
      queries.push([name, args]);
      return Promise.resolve({ sessions: [], next: null });
    }) as never,
  });
  await app.request('/v1/sessions');
  for (const name of [
    'x-svc-auth-subject',
    'x-forwarded-user',
    'x-tapes-org-id',
    'x-tenant-id',
    'x-forwarded-host',
    'forwarded',
  ])
    assert.is((await app.request('/v1/sessions', { headers: { [name]: 'mallory' } })).status, 200, name);
  for (const query of queries) assert.equal(query, queries[0]);
  assert.is(queries.length, 7);
});

test('whatever is refused carries a request id and may not be cached or embedded', async () => {
  const app = testApi({ token: TOKEN });
  for (const [path, headers] of [
    ['/v1/sessions', {}],
    ['/v1/sessions', { host: 'evil.example' }],
    ['/v1/sessions', { origin: 'http://evil.example' }],
    ['/nothing', { authorization: `Bearer ${TOKEN}` }],
  ] as const) {
    const response = await app.request(path, { headers: headers as Record<string, string> });
    assert.match(response.headers.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
    assert.is(Problem.parse(await response.json()).request_id, response.headers.get('x-request-id'));
    assert.is(response.headers.get('cross-origin-resource-policy'), 'same-origin');
    assert.is(response.headers.get('x-content-type-options'), 'nosniff');
    assert.is(response.headers.get('access-control-allow-origin'), null);
  }
});

test.run();
