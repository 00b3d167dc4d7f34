/** Is a service behind a reverse proxy's prefix the same as without, whether the proxy passes the prefix on or takes it off? */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { targetBelow } from '../../../core/http/base-path.ts';
import { serveApp } from '../../../core/http/listen.ts';

const test = suite('the prefix of a reverse proxy');

test('it is taken off where it stands as whole segments, and nowhere else', () => {
  for (const [target, below] of [
    ['/svc', '/'],
    ['/svc/', '/'],
    ['/svc?x=1', '/?x=1'],
    ['/svc/v1/sessions?limit=2', '/v1/sessions?limit=2'],
    ['/svc/svc/v1', '/svc/v1'],
    ['/v1/sessions', '/v1/sessions'],
    ['/svcs/v1', '/svcs/v1'],
    ['/SVC/v1', '/SVC/v1'],
    ['/x/svc/v1', '/x/svc/v1'],
    ['*', '*'],
    ['', ''],
  ] as const)
    assert.is(targetBelow('/svc', target), below, target);
  assert.is(targetBelow('/a/b', '/a/b/ping'), '/ping');
  assert.is(targetBelow('/a/b', '/a/ping'), '/a/ping');
  assert.is(targetBelow('', '/svc/v1'), '/svc/v1');
});

test('an app on the network sees the paths below it', async () => {
  const fetch = (request: Request) => new Response(new URL(request.url).pathname + new URL(request.url).search);
  const served = await serveApp({ fetch, hosts: ['127.0.0.1'], port: 0, what: 'test', basePath: '/svc' });
  const textOf = async (path: string) => (await globalThis.fetch(`${served.addresses[0]}${path}`)).text();
  try {
    assert.is(await textOf('/svc/v1/sessions?limit=2'), '/v1/sessions?limit=2');
    assert.is(await textOf('/v1/sessions?limit=2'), '/v1/sessions?limit=2');
    assert.is(await textOf('/svc'), '/');
  } finally {
    await served.close(0);
  }
});

test.run();
