import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { coreBinding } from '../../../core/cassette/core-binding.ts';

const test = suite('env.CORE');

const binding = (token = '') => {
  const seen: Request[] = [];
  const core = coreBinding(async (request) => {
    seen.push(request);
    return new Response('[]');
  }, token);
  return { core, seen };
};

test('reads by path or by request, with the token of the service where there is one', async () => {
  const { core, seen } = binding('t0ken');
  await core.fetch('/v1/sessions?limit=3');
  await core.fetch(
    new Request('http://elsewhere/v1/stats', {
      headers: { authorization: 'mine', 'x-svc-auth-subject': 'root', accept: 'a/b' },
    }),
  );
  assert.equal(
    seen.map(({ url }) => url),
    ['http://localhost/v1/sessions?limit=3', 'http://localhost/v1/stats'],
  );
  assert.is(seen[1]?.headers.get('authorization'), 'Bearer t0ken');
  assert.is(seen[1]?.headers.get('x-svc-auth-subject'), null);
  assert.is(seen[1]?.headers.get('accept'), 'a/b');
  assert.is((await binding().core.fetch('/v1/sessions')).status, 200);
});

test('changes nothing, acts on nothing, and reaches no other cassette', async () => {
  const { core, seen } = binding();
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
    assert.is((await core.fetch('/v1/sessions/7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10', { method })).status, 405);
  for (const path of [
    '/v1/admin/derive/run',
    '/v1/admin',
    '/v1/x/../admin/seed/demo',
    '/v1/mcp',
    '/v1/cassettes/other/rows',
    '/metrics',
    '/',
  ])
    assert.is((await core.fetch(path)).status, 404, path);
  assert.is(seen.length, 0);
  assert.is((await core.fetch('/v1/cassettes')).status, 200);
  assert.is((await core.fetch('/v1/cassettes/other/openapi.json')).status, 200);
});

test.run();
