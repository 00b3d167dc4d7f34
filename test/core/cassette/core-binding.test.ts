/** What of the read API does a cassette reach through `env.CORE`? Each way that was thought of, before the real API and another cassette. */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readContract } from '../../../core/api/app.ts';
import { CORE_READS, coreBinding } from '../../../core/cassette/core-binding.ts';
import { openHost } from '../../../core/cassette/host.ts';
import { ListEntry } from '../../../core/cassette/list/list.ts';
import { openLog } from '../../../core/log.ts';
import { cassetteFolder, removeCassetteFolder } from '../../support/cassette-folder.ts';
import { everySourceTried } from '../../support/every-source-tried.ts';
import { testApi } from '../../support/read-api.ts';

const test = suite('env.CORE');

const binding = () => {
  const seen: Request[] = [];
  const core = coreBinding(async (request) => {
    seen.push(request);
    return new Response('[]');
  });
  return { core, seen };
};

test('reads by path or by request, without any credential', async () => {
  const { core, seen } = binding();
  await core.fetch('/v1/sessions?limit=3');
  await core.fetch(
    new Request('http://elsewhere/v1/stats', {
      headers: {
        ...{ authorization: 'mine', cookie: 'a=b', 'x-svc-auth-subject': 'root', 'proxy-authorization': 'x' },
        accept: 'a/b',
      },
    }),
  );
  assert.equal(
    seen.map(({ url }) => url),
    ['http://localhost/v1/sessions?limit=3', 'http://localhost/v1/stats'],
  );
  assert.equal([...(seen[1]?.headers.keys() ?? [])], ['accept']);
  assert.is(seen[1]?.headers.get('accept'), 'a/b');
});

test('what it may read is every read of the contract apart from admin, agents and pages', () => {
  const reads = Object.entries(readContract('0').paths ?? {})
    .filter(([path, methods]) => 'get' in (methods as object) && !/^\/(?:v1\/(?:admin|mcp)|swagger)(?:\/|$)/.test(path))
    .map(([path]) => path.replaceAll(/\{(\w+)\}/g, ':$1'));
  assert.equal([...CORE_READS].sort(), reads.sort());
});

test('the refusal fits a path that does not exist as well as one that a cassette may not read', async () => {
  for (const path of ['/v1/nope', '/v1/admin/status', '/v1/%73essions']) {
    const response = await binding().core.fetch(path);
    const { error } = (await response.json()) as { error: string };
    const why = 'Cannot find the path: the core has no such route that a cassette may read';
    assert.equal([response.status, error], [404, why]);
  }
});

test('changes nothing', async () => {
  const { core, seen } = binding();
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
    assert.is((await core.fetch('/v1/sessions/7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10', { method })).status, 405);
  assert.is(seen.length, 0);
});

const OTHER = [
  ...['/v1/cassettes/other/hello', '/v1/%63assettes/other/hello', '/v1/c%61ssettes/other/hello'],
  ...['/v1/%2563assettes/other/hello', '/v1/cassettes%2fother/hello', '/v1/cassettes/other%2Fhello'],
  ...['/%76%31/cassettes/other/hello', '//v1/cassettes/other/hello', '/v1//cassettes/other/hello'],
  ...['/v1/sessions/../cassettes/other/hello', '/v1/sessions/%2e%2e/cassettes/other/hello'],
  ...['/v1/sessions/..%2fcassettes/other/hello', '/v1\\cassettes\\other\\hello', '/v1/cassettes/other/hello;x'],
  ...['/v1/cassettes;x/other/hello', '/v1/cassettes/other/openapi.json/../hello', '/v1/cassettes/other/openapi%2ejson'],
  ...['/v1/cassettes/hello%2f..%2fother/openapi.json', '/v1/CASSETTES/other/hello', '/v1/cassettes/other'],
  ...['/v1/cassettes/other/', '/v1/%E0%80%AFcassettes/other/hello', '/v1/%/other/hello', '/v1/cassettes/other/hello#x'],
];
const ACTIONS = [
  ...['/v1/admin/status', '/v1/%61dmin/status', '/v1/adm%69n/status', '/v1/x/../admin/status', '/v1/admin/derive/run'],
  ...['/v1/mcp', '/v1/%6dcp', '/v1/mc%70', '/metrics', '/%6detrics', '/swagger', '/', '/v1', '/v1/sessions%2f'],
];

test('no way of writing a path reaches another cassette through CORE, nor an action', async () => {
  const TOKEN = 'token-of-the-service';
  const folder = await cassetteFolder({
    name: 'other',
    manifest: { bindings: { forward_auth: true } },
    top: 'globalThis.reachedThroughCore = [];',
    before: 'globalThis.reachedThroughCore.push([path, Object.fromEntries(request.headers)]);',
  });
  const log = openLog('silent');
  const host = openHost({
    ...{ installed: '/nowhere', databases: null, core: null, environment: {}, tmp: '/nowhere', log, now: Date.now },
  });
  try {
    const entry = ListEntry.parse({
      ...{ name: 'other', source: folder, isolation: 'inline', grants: { bindings: ['forward_auth'] } },
    });
    void host.apply({ entries: [entry], loaded_at: '', problem: null, folderOf: () => '/' });
    await everySourceTried(host);
    const reached = (globalThis as unknown as { reachedThroughCore: [string, Record<string, string>][] })
      .reachedThroughCore;
    const api = testApi({ cassettes: host, token: TOKEN });
    const forwarded = await api.request('/v1/cassettes/other/hello', { headers: { authorization: `Bearer ${TOKEN}` } });
    assert.is(forwarded.status, 200, 'it is there');
    assert.is(reached.at(-1)?.[1].authorization, `Bearer ${TOKEN}`, 'and gets what its caller sends');
    reached.length = 0;
    const core = coreBinding((request) => api.fetch(request));
    for (const path of [...OTHER, ...ACTIONS])
      for (const input of [path, `http://localhost${path}`]) assert.is((await core.fetch(input)).status, 404, input);
    assert.equal(reached, []);
    assert.is((await core.fetch('/v1/cassettes')).status, 200, 'admitted without a token');
    assert.is((await core.fetch('/v1/cassettes/other/openapi.json')).status, 200);
    assert.is((await core.fetch('/ping', { method: 'HEAD' })).status, 200);
    assert.is((await api.request('/v1/cassettes')).status, 401, 'which callers are not');
  } finally {
    await host.close(0);
    await removeCassetteFolder(folder);
  }
});

test.run();
