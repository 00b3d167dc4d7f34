/** Is nothing served that the contract does not describe, and nothing described that is not served? */
import type { Hono } from 'hono';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readContract } from '../../../core/api/app.ts';
import { ingestContract } from '../../../ingest/app.ts';
import { standIngest } from '../../ingest/stand.ts';
import { type Document, operationsOf, resolved, type Schema } from '../../support/openapi-fuzz/document.ts';
import { testApi } from '../../support/read-api.ts';

// biome-ignore lint/suspicious/noExplicitAny: an app of any environment
type App = Hono<any, any, any>;

const test = suite('routes and contracts');

/** What the seed leaves out of the contracts on purpose: the exposition, the browser UI at /, and what cassettes serve themselves. */
const UNDESCRIBED: Record<string, readonly string[]> = {
  'read API': ['ALL /v1/cassettes/{name}', 'GET /metrics'],
  'ingest API': ['GET /metrics'],
};
/** Methods that a protocol knows and we refuse, which the contract says. */
const REFUSED = ['GET /v1/mcp', 'DELETE /v1/mcp'];

const LISTENERS = [
  { name: 'read API', app: () => testApi() as unknown as App, document: readContract('0') as unknown as Document },
  {
    name: 'ingest API',
    app: () => standIngest().app as unknown as App,
    document: ingestContract('0') as unknown as Document,
  },
];

/** As `METHOD /path/{parameter}`; what stands before every route is none. */
const served = ({ routes }: App): string[] =>
  [...new Set(routes.filter(({ method, path }) => method !== 'ALL' || !/\*$/.test(path)).map(asDescribed))].sort();
const asDescribed = ({ method, path }: { method: string; path: string }) =>
  `${method} ${path.replaceAll(/:(\w+)(?:\{[^}]*\})?/g, '{$1}')}`;

for (const { name, app, document } of LISTENERS) {
  const operations = operationsOf(document);
  const described = operations.map(({ method, path }) => `${method} ${path}`);
  const isMiddleware = (route: string) =>
    route.startsWith('ALL ') && described.some((one) => one.endsWith(route.slice(3)));

  test(`every route of the ${name} is described, but for what the seed leaves out`, () => {
    const routes = served(app()).filter((route) => !isMiddleware(route));
    assert.ok(routes.length >= described.length - REFUSED.length);
    assert.equal(
      routes.filter((route) => !described.includes(route)),
      UNDESCRIBED[name],
    );
  });

  test(`everything that the contract of the ${name} describes is served`, async () => {
    const routes = served(app());
    assert.equal(
      described.filter((one) => !routes.includes(one)),
      described.filter((one) => REFUSED.includes(one)),
    );
    for (const operation of operations) {
      const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, parameter) => {
        const { schema = {} } = operation.parameters.find((one) => one.name === parameter) ?? {};
        return String(exampleOf(resolved(document, schema)));
      });
      const response = await app().request(path, { method: operation.method });
      const answered = `${operation.method} ${path}: ${response.status}`;
      const expected = REFUSED.includes(`${operation.method} ${operation.path}`);
      assert.is(response.status === 405, expected, answered);
      if (response.status === 404) assert.not.match(await response.text(), 'route-unknown', answered);
      assert.ok(operation.responses[response.status], answered);
      await response.body?.cancel().catch(() => {}); // it was read, or is a stream
    }
  });

  test(`every other method on a path of the ${name} is refused with those that would do`, async () => {
    for (const path of new Set(operations.map((operation) => operation.path))) {
      const known = described
        .filter((one) => one.endsWith(` ${path}`) && !REFUSED.includes(one))
        .map((one) => one.split(' ')[0]);
      const requestPath = path.replaceAll(/\{(\w+)\}/g, '7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10');
      for (const method of ['PUT', 'PATCH', 'POST', 'DELETE', 'OPTIONS'].filter((one) => !known.includes(one))) {
        const response = await app().request(requestPath, { method });
        assert.is(response.status, 405, `${method} ${path}`);
        const allowed = (response.headers.get('allow') ?? '').split(', ');
        assert.equal(
          allowed.filter((one) => one !== 'HEAD'),
          [...known].sort(),
          `${method} ${path}`,
        );
      }
    }
  });
}

const exampleOf = ({ examples, enum: listed }: Schema): unknown => [...((examples ?? listed ?? []) as unknown[])][0];

test('an undescribed route is seen', () => {
  const app = testApi() as unknown as App;
  app.get('/v1/secret/:id{[0-9]+}', (c) => c.text(''));
  assert.ok(served(app).includes('GET /v1/secret/{id}'));
});

test.run();
