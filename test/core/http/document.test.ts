/** Is a contract sent only to who does not have it? (RFC 9110, 13.1.2.) */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { documentApp } from '../../../core/http/document.ts';
import { standIngest } from '../../ingest/stand.ts';
import { testApi } from '../../support/read-api.ts';

const test = suite('the contract that is handed out');

type Ask = (headers?: Record<string, string>, method?: string) => Promise<Response>;

const LISTENERS: Record<string, Ask> = {
  'read API': async (headers = {}, method = 'GET') => testApi().request('/openapi', { method, headers }),
  'ingest API': async (headers = {}, method = 'GET') => standIngest().app.request('/openapi', { method, headers }),
};

for (const [name, ask] of Object.entries(LISTENERS)) {
  test(`the ${name} sends it with a strong tag, to be asked about each time`, async () => {
    const response = await ask();
    assert.is(response.status, 200);
    assert.is(response.headers.get('content-type'), 'application/json');
    assert.match(response.headers.get('etag') ?? '', /^"[\w-]{43}"$/);
    assert.is(response.headers.get('cache-control'), 'no-cache');
  });

  test(`the ${name} answers 304 to who names its tag`, async () => {
    const tag = (await ask()).headers.get('etag') ?? '';
    for (const held of [tag, `W/${tag}`, `"other", ${tag}`, `"a,b" ,W/"x",${tag}`, '*', ' * ', `${tag},`])
      for (const method of ['GET', 'HEAD']) {
        const response = await ask({ 'if-none-match': held }, method);
        assert.is(response.status, 304, held);
        assert.is(response.headers.get('etag'), tag, held);
        assert.is(response.headers.get('cache-control'), 'no-cache', held);
        assert.is(await response.text(), '');
      }
  });

  test(`the ${name} sends it to who has another`, async () => {
    const tag = (await ask()).headers.get('etag') ?? '';
    for (const held of ['', '"other"', '"a,*,b"', '"*"', tag.slice(1, -1), `"${tag.slice(1, 9)}"`, tag.toUpperCase()])
      assert.is((await ask({ 'if-none-match': held })).status, 200, held);
  });

  test(`the ${name} answers HEAD as GET, without the body`, async () => {
    const [got, head] = [await ask(), await ask({}, 'HEAD')];
    assert.is(head.status, 200);
    for (const header of ['etag', 'content-type', 'cache-control'])
      assert.is(head.headers.get(header), got.headers.get(header), header);
    assert.is(await head.text(), '');
  });
}

test('it is compiled once, when it is first asked for', async () => {
  let compiled = 0;
  const app = documentApp(() => ({ compiled: ++compiled }), {});
  assert.is(compiled, 0);
  assert.equal(await (await app.request('/openapi')).json(), { compiled: 1 });
  assert.equal(await (await app.request('/openapi')).json(), { compiled: 1 });
});

test('it is compiled again when its version is another one, and has another tag then', async () => {
  let version = 'one';
  let compiled = 0;
  const app = documentApp(
    () => ({ version, compiled: ++compiled }),
    {},
    () => version,
  );
  const first = await app.request('/openapi');
  assert.equal(await first.json(), { version: 'one', compiled: 1 });
  version = 'two';
  const held = { 'if-none-match': first.headers.get('etag') ?? '' };
  assert.equal(await (await app.request('/openapi', { headers: held })).json(), { version: 'two', compiled: 2 });
  await app.request('/openapi');
  assert.is(compiled, 2);
});

test('another contract has another tag', async () => {
  const tag = async (title: string) =>
    (await documentApp(() => ({ title }), {}).request('/openapi')).headers.get('etag');
  assert.is(await tag('one'), await tag('one'));
  assert.is.not(await tag('one'), await tag('two'));
});

test.run();
