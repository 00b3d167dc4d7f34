import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Mounted, type MountLimits, mounted } from '../../../core/cassette/mount.ts';
import { CassetteDown, type RunningCassette } from '../../../core/cassette/running.ts';
import { Refusal } from '../../../core/errors.ts';
import { runningCassette } from '../../support/running-cassette.ts';
import { within } from '../../support/within.ts';

const test = suite('mount');

type Given = Partial<Omit<Mounted, 'running'>> & { limits?: MountLimits };
const through = (
  fetch: RunningCassette['fetch'],
  url: string,
  init?: RequestInit,
  { limits, ...given }: Given = {},
) => {
  const { running, manifest } = runningCassette('notes', fetch);
  const mount: Mounted = {
    request: new Request(`http://localhost${url}`, init),
    name: 'my-notes',
    manifest,
    running,
    forwardAuth: false,
    caller: null,
    requestId: '0195f6d0-0000-7000-8000-000000000000',
    peer: '127.0.0.1',
    gone: new AbortController().signal,
    ...given,
  };
  return limits ? mounted(mount, limits) : mounted(mount);
};
const refusedAs = async (code: string, work: Promise<unknown>) => {
  const thrown = await work.then(
    () => assert.unreachable('it was answered'),
    (error: unknown) => error,
  );
  assert.instance(thrown, Refusal);
  assert.is((thrown as Refusal).code, code);
  return (thrown as Refusal).message;
};
const forwarded = async (url: string, init?: RequestInit, given?: Given): Promise<Request> => {
  let seen: Request | undefined;
  await through(
    async (request) => {
      seen = request;
      return new Response('ok');
    },
    url,
    init,
    given,
  );
  return seen as Request;
};

test('the installed name stands outside, the cassette’s own inside; path and query stay as they are', async () => {
  for (const [outside, inside] of [
    ['/v1/cassettes/my-notes', '/api/notes'],
    ['/v1/cassettes/my-notes/', '/api/notes/'],
    ['/v1/cassettes/my-notes/all?limit=3&q=a%20b', '/api/notes/all?limit=3&q=a%20b'],
    ['/v1/cassettes/my-notes/a%2Fb/c', '/api/notes/a%2Fb/c'],
    ['/v1/cassettes/my-notes/a//b', '/api/notes/a//b'],
  ])
    assert.is((await forwarded(outside as string)).url, `http://cassette${inside}`, outside);
});

test('credentials stay outside unless they were granted, and whom nobody vouches for is nobody', async () => {
  const headers = {
    authorization: 'Bearer secret',
    cookie: 'a=b',
    'proxy-authorization': 'x',
    'x-svc-auth-subject': 'mallory',
    'x-svc-cassette': 'another',
    accept: 'text/plain',
  };
  const plain = await forwarded('/v1/cassettes/my-notes/x', { headers }, { caller: 'ada' });
  for (const name of ['authorization', 'cookie', 'proxy-authorization', 'x-svc-auth-subject'])
    assert.is(plain.headers.get(name), null, name);
  assert.is(plain.headers.get('x-svc-cassette'), 'my-notes');
  assert.is(plain.headers.get('accept'), 'text/plain');

  const granted = await forwarded('/v1/cassettes/my-notes/x', { headers }, { caller: 'ada', forwardAuth: true });
  assert.is(granted.headers.get('authorization'), 'Bearer secret');
  assert.is(granted.headers.get('cookie'), 'a=b');
  assert.is(granted.headers.get('proxy-authorization'), null);
  assert.is(granted.headers.get('x-svc-auth-subject'), 'ada');
  const unknown = await forwarded('/v1/cassettes/my-notes/x', { headers }, { forwardAuth: true });
  assert.is(unknown.headers.get('x-svc-auth-subject'), null);
});

test('no credential arrives without forward_auth, by its name or its shape, in a header or the query', async () => {
  const headers = {
    'x-litellm-key': 'one',
    'x-portkey-virtual-key': 'two',
    'x-api-key': 'three',
    'x-upstream': 'Bearer four',
    referer: 'https://chat.example/?page=7&token=five',
    'x-request-kind': 'plain',
  };
  const url = '/v1/cassettes/my-notes/x?limit=3&api_key=six&key[]=seven&q=sk-ant-oat01-Q7mZ2xLk9RtVb4NcYp8W';
  const plain = await forwarded(url, { headers });
  for (const name of ['x-litellm-key', 'x-portkey-virtual-key', 'x-api-key'])
    assert.is(plain.headers.get(name), null, name);
  assert.is(plain.headers.get('x-upstream'), 'Bearer [redacted]');
  assert.is(plain.headers.get('referer'), 'https://chat.example/?page=7&token=[redacted]');
  assert.is(plain.headers.get('x-request-kind'), 'plain');
  assert.is(plain.url, 'http://cassette/api/notes/x?limit=3&api_key=[redacted]&key[]=[redacted]&q=[redacted]');

  const granted = await forwarded(url, { headers }, { forwardAuth: true });
  for (const [name, value] of Object.entries(headers)) assert.is(granted.headers.get(name), value, name);
  assert.is(granted.url, url.replace('/v1/cassettes/my-notes', 'http://cassette/api/notes'));
});

test('forwarded headers tell where the caller asked, whatever the caller sent', async () => {
  const { headers } = await forwarded('/v1/cassettes/my-notes/x', {
    headers: {
      forwarded: 'for=1.2.3.4',
      'x-forwarded-for': '1.2.3.4',
      'x-forwarded-host': 'evil',
      connection: 'x-hop',
      'x-hop': '1',
    },
  });
  assert.is(headers.get('forwarded'), null);
  assert.is(headers.get('x-forwarded-for'), '127.0.0.1');
  assert.is(headers.get('x-forwarded-host'), 'localhost');
  assert.is(headers.get('x-forwarded-proto'), 'http');
  assert.is(headers.get('x-forwarded-prefix'), '/v1/cassettes/my-notes');
  assert.is(headers.get('x-request-id'), '0195f6d0-0000-7000-8000-000000000000');
  assert.is(headers.get('x-hop'), null);
});

test('the forwarded prefix begins with the path of the reverse proxy', async () => {
  const { headers, url } = await forwarded('/v1/cassettes/my-notes/x', {}, { basePath: '/svc' });
  assert.is(headers.get('x-forwarded-prefix'), '/svc/v1/cassettes/my-notes');
  assert.is(url, 'http://cassette/api/notes/x');
});

test('an answer sets no cookie of ours, opens nothing to other origins, and its pages stand in an origin of their own', async () => {
  const response = await through(
    async () =>
      new Response('<p>', {
        status: 418,
        headers: {
          'content-type': 'text/html',
          'set-cookie': 'token=1',
          'access-control-allow-origin': '*',
          'x-request-id': 'another',
          'content-security-policy': "default-src 'self'",
          'x-own': 'kept',
          'keep-alive': 'timeout=5',
        },
      }),
    '/v1/cassettes/my-notes/page',
  );
  assert.is(response.status, 418);
  assert.is(await response.text(), '<p>');
  for (const name of ['set-cookie', 'access-control-allow-origin', 'x-request-id', 'keep-alive'])
    assert.is(response.headers.get(name), null, name);
  assert.is(response.headers.get('x-own'), 'kept');
  assert.is(response.headers.get('x-svc-cassette'), 'my-notes');
  assert.match(response.headers.get('content-security-policy') ?? '', /default-src 'self', sandbox /);
});

test('what it says of itself is 503, 502 and 504; what it throws is 502 and told to nobody', async () => {
  const throwing = (error: Error) => through(() => Promise.reject(error), '/v1/cassettes/my-notes/x');
  await refusedAs('cassette-unavailable', throwing(new CassetteDown('unavailable', 'it is started again')));
  await refusedAs('cassette-late', throwing(new CassetteDown('late', 'no answer')));
  await refusedAs('cassette-broken', throwing(new CassetteDown('broken', 'it ended')));
  const message = await refusedAs('cassette-broken', throwing(new Error('the prompt was: secret')));
  assert.not.match(message, 'secret');
});

test('who does not answer within the idle time is late, and is told to stop', async () => {
  let stopped = false;
  const hanging: RunningCassette['fetch'] = (request) =>
    new Promise((_, reject) => {
      request.signal.addEventListener('abort', () => {
        stopped = true;
        reject(new Error('aborted'));
      });
    });
  await refusedAs(
    'cassette-late',
    through(hanging, '/v1/cassettes/my-notes/x', {}, { limits: { requestBytes: 10, idleMs: 20 } }),
  );
  assert.ok(stopped);
});

test('an upload may take longer than the idle time while it moves, and one that stops is late', async () => {
  const reading: RunningCassette['fetch'] = async (request) => new Response(await request.text());
  const sending = (chunks: number) => {
    let left = chunks;
    const body = new ReadableStream({
      async pull(controller) {
        await new Promise((resolve) => setTimeout(resolve, 150));
        if (left-- > 0) controller.enqueue(new TextEncoder().encode('x'));
        else if (chunks > 2) controller.close();
        else await new Promise(() => {}); // never another one
      },
    });
    const init = { method: 'POST', body, duplex: 'half' } as RequestInit;
    return through(reading, '/v1/cassettes/my-notes/x', init, { limits: { requestBytes: 10, idleMs: 1_000 } });
  };
  assert.is(await (await sending(8)).text(), 'xxxxxxxx'); // 1.2 s at least
  await refusedAs('cassette-late', sending(2));
});

test('an answer that stops in the middle is cut after the idle time; a slow reader is not', async () => {
  const sending = (chunks: number) =>
    through(
      async () => {
        let sent = 0;
        return new Response(
          new ReadableStream({
            pull(controller): Promise<void> | undefined {
              if (sent++ < chunks) controller.enqueue(new TextEncoder().encode('x'));
              else if (chunks > 2) controller.close();
              else return new Promise(() => {}); // never another one
              return undefined;
            },
          }),
        );
      },
      '/v1/cassettes/my-notes/x',
      {},
      { limits: { requestBytes: 10, idleMs: 60 } },
    );
  const cut = await within(10_000, 'the answer was not cut', (await sending(2)).text()).then(
    () => '',
    (error: Error) => error.message,
  );
  assert.match(cut, 'sent nothing for');

  let read = 0;
  for await (const _ of (await sending(4)).body ?? []) {
    read += 1;
    await new Promise((resolve) => setTimeout(resolve, 90)); // longer than the idle time
  }
  assert.is(read, 4);
});

test('a body beyond the limit is 413, whether its length was told or not', async () => {
  const reading: RunningCassette['fetch'] = async (request) => new Response(await request.text());
  const limits = { requestBytes: 8, idleMs: 1000 };
  const ok = await through(reading, '/v1/cassettes/my-notes/x', { method: 'POST', body: '12345678' }, { limits });
  assert.is(await ok.text(), '12345678');
  await refusedAs(
    'body-too-large',
    through(
      reading,
      '/v1/cassettes/my-notes/x',
      { method: 'POST', body: '123456789', headers: { 'content-length': '9' } },
      { limits },
    ),
  );
  const untold = new ReadableStream({
    start(controller) {
      for (let i = 0; i < 3; i++) controller.enqueue(new TextEncoder().encode('12345'));
      controller.close();
    },
  });
  await refusedAs(
    'body-too-large',
    through(reading, '/v1/cassettes/my-notes/x', { method: 'POST', body: untold, duplex: 'half' } as RequestInit, {
      limits,
    }),
  );
});

test('a reader that leaves ends the cassette’s stream', async () => {
  let cancelled: (() => void) | undefined;
  const ended = new Promise<void>((resolve) => (cancelled = resolve));
  const response = await through(
    async () =>
      new Response(
        new ReadableStream({
          pull: (controller) => controller.enqueue(new Uint8Array(10)),
          cancel: () => cancelled?.(),
        }),
      ),
    '/v1/cassettes/my-notes/x',
  );
  const reader = response.body?.getReader();
  await reader?.read();
  await reader?.cancel();
  await within(10_000, 'the stream of the cassette was not cancelled', ended);
});

test('a cassette that is withdrawn for good has its streams cut, and answers nothing more', async () => {
  const gone = new AbortController();
  const response = await through(
    async () =>
      new Response(
        new ReadableStream({
          pull: (c) => new Promise((r) => setTimeout(r, 5)).then(() => c.enqueue(new Uint8Array(1))),
        }),
      ),
    '/v1/cassettes/my-notes/x',
    {},
    { gone: gone.signal },
  );
  const reader = response.body?.getReader();
  await reader?.read();
  gone.abort();
  const failed = await (async () => {
    for (;;) if ((await reader?.read())?.done) return false;
  })().catch(() => true);
  assert.ok(failed);
  await refusedAs(
    'cassette-unavailable',
    through((request) => Promise.reject(request.signal.reason), '/v1/cassettes/my-notes/x', {}, { gone: gone.signal }),
  );
});

test.run();
