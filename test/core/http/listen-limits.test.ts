/** On real sockets: whoever is slow, greedy or speaks no HTTP is told so, in the listener's words, and let go. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { serveApp } from '../../../core/http/listen.ts';
import { Problem } from '../../../core/model/problem.ts';

const test = suite('limits of serveApp');

type Limits = NonNullable<Parameters<typeof serveApp>[0]['limits']>;
type Fetch = Parameters<typeof serveApp>[0]['fetch'];

const hello: Fetch = () => new Response('hello', { headers: { 'content-type': 'text/plain' } });
const short: Limits = { headMs: 300, requestMs: 600, keepAliveMs: 200, idleMs: 400, checkMs: 50 };

const serving = async (run: (port: number) => Promise<void>, fetch = hello, limits: Limits = {}) => {
  const served = await serveApp({ fetch, hosts: ['127.0.0.1'], port: 0, what: 'test listener', limits });
  try {
    await run(served.port);
  } finally {
    await served.close(0);
  }
};

/** A connection, and all that comes over it until it is closed by the other side. */
const speaking = (port: number): { socket: Socket; answer: Promise<string> } => {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  socket.on('error', () => {});
  // a write that fails once the answer is there is no failure: `once` would make one of it
  return { socket, answer: new Promise((resolve) => socket.on('close', () => resolve(text))) };
};
const responseTo = (port: number, bytes: string): Promise<string> => {
  const { socket, answer } = speaking(port);
  socket.write(bytes, 'latin1');
  return answer;
};

/** Status and problem of an answer that was the only one on its connection. */
const problemOf = (answer: string) => {
  const [head = '', body = ''] = answer.split('\r\n\r\n');
  assert.match(head, /\r\ncontent-type: application\/problem\+json/i);
  assert.match(head, /\r\nconnection: close/i);
  assert.match(head, /\r\ncross-origin-resource-policy: same-origin/i);
  const problem = Problem.parse(JSON.parse(body.replace(/^[0-9a-f]+\r\n|\r\n0$/g, '')));
  assert.is(head.split(' ')[1], String(problem.status));
  assert.is(/\r\nx-request-id: (\S+)/i.exec(head)?.[1], problem.request_id);
  assert.match(head, /\r\ncache-control: no-store/i);
  return problem;
};

const LAST = 'host: localhost\r\nconnection: close\r\n\r\n';

test('bytes that are no request are answered 400, whatever they are', () =>
  serving(async (port) => {
    for (const bytes of [
      'nonsense\r\n\r\n',
      '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n',
      `BREW / HTTP/1.1\r\n${LAST}`,
      `get / HTTP/1.1\r\n${LAST}`,
      `GET / HTTP/9.9\r\n${LAST}`,
      `GET /\r\nx\r\n${LAST}`,
      `GET / HTTP/1.1\r\n space: 1\r\n${LAST}`,
      `GET / HTTP/1.1\r\nna me: 1\r\n${LAST}`,
      `GET / HTTP/1.1\r\nname : 1\r\n${LAST}`,
      `GET / HTTP/1.1\r\nname: a\x00b\r\n${LAST}`,
      `POST / HTTP/1.1\r\ncontent-length: 1\r\ncontent-length: 2\r\n${LAST}x`,
      `POST / HTTP/1.1\r\ncontent-length: -1\r\n${LAST}`,
      `POST / HTTP/1.1\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n${LAST}0\r\n\r\n`,
      `POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n${LAST}zz\r\n`,
      `POST / HTTP/1.1\r\ntransfer-encoding: gzip\r\n${LAST}x`,
    ]) {
      const answer = await responseTo(port, bytes);
      if (answer.includes('hello'))
        assert.match(bytes, /^POST .*chunked/s, bytes); // answered before the body was looked at
      else assert.is(problemOf(answer).error, 'Cannot read the request: it is malformed', bytes);
    }
  }));

test('targets that are no path of ours never reach a handler', () =>
  serving(
    async (port) => {
      for (const target of ['*', 'localhost:80', '/a\\b', 'ftp://localhost/x', 'http://'])
        assert.is(problemOf(await responseTo(port, `OPTIONS ${target} HTTP/1.1\r\n${LAST}`)).status, 400, target);
      assert.is(await responseTo(port, `CONNECT localhost:80 HTTP/1.1\r\n${LAST}`), '', 'no tunnels here');
    },
    () => {
      throw new Error('asked');
    },
  ));

test('a handler that throws is 500, and its words stay here', () =>
  serving(
    async (port) => {
      const answer = await responseTo(port, `GET / HTTP/1.1\r\n${LAST}`);
      assert.match(answer, /^HTTP\/1.1 500 /);
      assert.match(answer, 'Internal error');
      assert.not.match(answer, 'secret');
    },
    () => Promise.reject(new Error('secret')),
  ));

test('a head past 32 KiB or 200 headers is 431', () =>
  serving(async (port) => {
    for (const [note, head] of [
      ['one long header', `x: ${'y'.repeat(40_000)}\r\n`],
      ['much more than is ever read at once', `x: ${'y'.repeat(4_000_000)}\r\n`],
      ['many headers', Array.from({ length: 4_000 }, (_, n) => `x-${n}: y\r\n`).join('')],
      ['just too many', Array.from({ length: 201 }, (_, n) => `x-${n}: y\r\n`).join('')],
    ] as const) {
      const problem = problemOf(await responseTo(port, `GET / HTTP/1.1\r\n${head}${LAST}`));
      assert.equal([problem.status, problem.code], [431, 'head-too-large'], note);
    }
    const body = `content-length: 4000000\r\n${LAST}${'z'.repeat(4_000_000)}`;
    const many = Array.from({ length: 201 }, (_, n) => `x-${n}: y\r\n`).join('');
    const problem = problemOf(await responseTo(port, `POST / HTTP/1.1\r\n${many}${body}`));
    assert.is(problem.code, 'head-too-large', 'and whoever still sends its body reads it');
    const most = Array.from({ length: 198 }, (_, n) => `x-${n}: ${'y'.repeat(100)}\r\n`).join('');
    assert.match(await responseTo(port, `GET / HTTP/1.1\r\n${most}${LAST}`), /^HTTP\/1.1 200 /);
    assert.is(
      problemOf(await responseTo(port, `GET /${'a'.repeat(40_000)} HTTP/1.1\r\n${LAST}`)).status,
      431,
      'a long target',
    );
  }));

test('no header is passed over in silence: one that a guard looks at may be the last of many', () =>
  serving(
    async (port) => {
      const many = Array.from({ length: 190 }, (_, n) => `x-${n}: y\r\n`).join('');
      const answer = await responseTo(port, `GET / HTTP/1.1\r\n${many}origin: http://evil.example\r\n${LAST}`);
      assert.ok(answer.endsWith('http://evil.example'), answer);
    },
    (request) => new Response(request.headers.get('origin'), { headers: { 'content-length': '19' } }),
  ));

test('a head that trickles in, or never comes, is 408', () =>
  serving(
    async (port) => {
      const { socket, answer } = speaking(port);
      const head = 'GET / HTTP/1.1\r\nhost: localhost\r\nx: ';
      socket.write(head);
      const trickle = setInterval(() => socket.write('y'), 20);
      const problem = problemOf(await answer);
      clearInterval(trickle);
      assert.equal([problem.status, problem.code], [408, 'too-slow']);
      assert.is(problemOf(await speaking(port).answer).status, 408, 'nothing at all was said');
    },
    hello,
    { ...short, idleMs: 5_000 },
  ));

test('a body that trickles in is 408, and the handler is told that there is no more', async () => {
  let cut = 0;
  await serving(
    async (port) => {
      const { socket, answer } = speaking(port);
      socket.write('POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000\r\n\r\n');
      const trickle = setInterval(() => socket.write('y'), 20);
      const problem = problemOf(await answer);
      clearInterval(trickle);
      assert.equal([problem.status, problem.code], [408, 'too-slow']);
      while (cut === 0) await sleep(5);
    },
    async (request) => {
      await request.text().catch(() => cut++);
      return new Response('late');
    },
    { ...short, idleMs: 5_000 },
  );
  assert.is(cut, 1);
});

test('requests that are sent ahead are answered in turn, and nonsense behind one never in its place', async () => {
  await serving(async (port) => {
    const many = Array.from({ length: 100 }, () => 'GET / HTTP/1.1\r\nhost: localhost\r\n\r\n').join('');
    const answer = await responseTo(port, `${many}GET / HTTP/1.1\r\n${LAST}`);
    assert.is(answer.split('HTTP/1.1 200 OK').length - 1, 101);
  });
  let requests = 0;
  await serving(
    async (port) => {
      const answer = await responseTo(
        port,
        'GET /1 HTTP/1.1\r\nhost: localhost\r\n\r\nGET /2 HTTP/1.1\r\nbad header\r\n\r\n',
      );
      assert.is(answer, '', 'cut: an answer 400 would be taken for that to the first request');
    },
    async () => {
      requests++;
      await sleep(50);
      return new Response('1');
    },
  );
  assert.is(requests, 1);
});

test('a connection that is kept alive without use is closed', () =>
  serving(
    async (port) => {
      const { socket, answer } = speaking(port);
      socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n');
      const text = await answer;
      assert.match(text, /^HTTP\/1.1 200 /);
      assert.match(text, /keep-alive/i);
      assert.is(text.split('HTTP/1.1').length, 2, 'nothing was said after the answer');
    },
    hello,
    short,
  ));

test('a reverse proxy that keeps idle connections for 60 s hangs up first, and a stop does not wait for it', async () => {
  const served = await serveApp({ fetch: hello, hosts: ['127.0.0.1'], port: 0, what: 'test listener' });
  const { socket, answer } = speaking(served.port);
  socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n');
  await once(socket, 'data');
  const from = performance.now();
  await served.close(10_000);
  assert.ok(performance.now() - from < 2_000);
  const [, seconds] = /\r\nkeep-alive: timeout=(\d+)/i.exec(await answer) ?? [];
  assert.ok(Number(seconds) >= 75, seconds);
});

test('an idle connection is no head that is late', () =>
  serving(
    async (port) => {
      const { socket } = speaking(port);
      socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n');
      await once(socket, 'data');
      await sleep(1_000);
      socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n');
      const [second] = (await once(socket, 'data')) as [Buffer];
      assert.match(second.toString(), /^HTTP\/1.1 200 /);
      socket.destroy();
    },
    hello,
    { ...short, keepAliveMs: 5_000 },
  ));

test('a reader that stops taking is cut, and the stream behind it is told so', async () => {
  let cancelled = 0;
  await serving(
    async (port) => {
      const socket = connect({ port, host: '127.0.0.1' });
      socket.on('error', () => {});
      socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n');
      socket.pause();
      while (cancelled === 0) await sleep(20);
      socket.destroy();
    },
    () =>
      new Response(
        new ReadableStream({
          pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
          cancel: () => {
            cancelled++;
          },
        }),
      ),
    short,
  );
  assert.is(cancelled, 1);
});

test('a handler may work for longer than a connection may be idle, before its response and within it', () =>
  serving(
    async (port) => {
      const answer = await responseTo(port, `GET /x HTTP/1.1\r\n${LAST}`);
      assert.match(answer, /^HTTP\/1\.1 200 /);
      assert.match(answer, /first[\s\S]*second/);
    },
    async () => {
      await sleep(700);
      const pieces = async function* () {
        yield Buffer.from('first');
        await sleep(700);
        yield Buffer.from('second');
      };
      return new Response(Readable.toWeb(Readable.from(pieces())) as ReadableStream);
    },
    { idleMs: 200 },
  ));

test('a request that was sent ahead keeps no reader that has stopped', () =>
  serving(
    async (port) => {
      const { socket, answer } = speaking(port);
      socket.pause();
      socket.write(`GET /large HTTP/1.1\r\nhost: localhost\r\n\r\nGET /slow HTTP/1.1\r\n${LAST}`);
      const began = performance.now();
      await sleep(1_500);
      socket.resume();
      assert.not.match(await answer, 'the slow one');
      assert.ok(performance.now() - began < 8_000);
    },
    async (request) => {
      if (request.url.endsWith('/large')) return new Response('x'.repeat(50_000_000));
      await sleep(10_000);
      return new Response('the slow one');
    },
    { idleMs: 200 },
  ));

test('a body that nobody asked for is dropped as it comes, and the answer does not wait for it', () =>
  serving(async (port) => {
    const { socket, answer } = speaking(port);
    socket.write(`POST / HTTP/1.1\r\ncontent-length: 50000000\r\n${LAST}`);
    socket.write(Buffer.alloc(1_000_000));
    await once(socket, 'data');
    socket.end();
    assert.match(await answer, /^HTTP\/1.1 200 /);
  }));

test.run();
