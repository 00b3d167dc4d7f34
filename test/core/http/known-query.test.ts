/** What comes of a parameter that a route does not have? On the routes of the read API, and on those of its cassettes. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readContract } from '../../../core/api/app.ts';
import { type Document, operationsOf } from '../../support/openapi-fuzz/document.ts';
import { type Json, testApi } from '../../support/read-api.ts';

const test = suite('parameters that a route does not have');

const ID = '7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10';
const refusal = async (path: string, method = 'GET'): Promise<string> => {
  const response = await testApi().request(path, { method });
  const { code, error } = (await response.json()) as Json;
  assert.equal([response.status, code], [400, 'bad-request'], `${method} ${path}`);
  return error;
};

test('every route under /v1 refuses one, whatever its method', async () => {
  const those = operationsOf(readContract('0') as unknown as Document).filter(
    ({ path, responses }) => path.startsWith('/v1/') && !(405 in responses), // a method that is refused anyway
  );
  assert.ok(those.length > 15);
  for (const { method, path } of those)
    assert.match(
      await refusal(`${path.replaceAll(/\{\w+\}/g, ID)}?nobody-knows-this=1`, method),
      /^Cannot read the query: "nobody-knows-this" is no parameter here; /,
    );
});

test('the one that was meant is named, else those that there are', async () => {
  assert.match(await refusal('/v1/sessions?limt=3'), '"limt" is no parameter here; did you mean "limit"?');
  assert.match(await refusal('/v1/stats?sicne=yesterday'), 'did you mean "since"?');
  assert.match(await refusal(`/v1/sessions/${ID}/traces?palyoad=full`), 'did you mean "payload"?');
  assert.match(await refusal(`/v1/sessions/${ID}?verbose=1`), '"verbose" is no parameter here; it takes none');
  assert.match(await refusal('/v1/traces?frobnicate=1'), '; there are limit, cursor, session_id');
});

test('filters and orders that the list of sessions has not are where they can be had', async () => {
  for (const query of ['sort=started_at', 'direction=asc', 'since=yesterday', 'harness_id=claude', 'text=carry'])
    assert.match(await refusal(`/v1/sessions?limit=5&${query}`), '; GET /v1/browse/sessions has it');
  assert.match(await refusal('/v1/sessions?auth_subject=ada'), '; there are limit, cursor');
});

test('what can be no name is not repeated', async () => {
  for (const name of ['%00', '%0a', '%3Cb%3E', 'x'.repeat(100), '%ED%A0%80', ''])
    assert.match(await refusal(`/v1/coverage?${name}=1`), 'what was sent is no parameter here');
  assert.match(await refusal('/v1/coverage?__proto__=1'), '"__proto__" is no parameter');
  assert.match(await refusal('/v1/coverage?a[]=1'), '"a[]" is no parameter');
});

test('what probes, scrapers and browsers put behind other paths is not looked at', async () => {
  for (const path of ['/ping?t=1', '/metrics?t=1', '/openapi?t=1', '/swagger?t=1', '/swagger/swagger-ui.css?v=5'])
    assert.is((await testApi().request(path)).status, 200, path);
  assert.is((await testApi().request('/v1/nothing?t=1')).status, 404, 'and a path that is not served is that first');
});

test.run();
