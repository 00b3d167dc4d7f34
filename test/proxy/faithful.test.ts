import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { send } from '../support/upstream.ts';
import { answerTo, closeStands, openStand, rawClient, readAnswer, until } from './stand.ts';

const test = suite('proxy: a call passes as it came');
test.after.each(closeStands);
const HOP = /^(connection|keep-alive|transfer-encoding):/i;
const endToEndLines = (headers: string[]) => headers.filter((line) => !HOP.test(line));

for (const [came, went] of [
  ['/a/%2e%2e/b//c?x=%2F&y', '/a/%2e%2e/b//c?x=%2F&y'],
  ['/anthropic/v1/messages?beta=true', '/v1/messages?beta=true'],
  ['/openai/v1/models', '/v1/models'],
  ['/ollama', '/'],
  ['/ollama?x', '/?x'],
  ['/anthropic//evil.example/v1', '//evil.example/v1'],
  ['//evil.example/v1/messages', '//evil.example/v1/messages'],
  ['/a/../../b/./c\\d?\\', '/a/../../b/./c\\d?\\'],
  ['/openaifoo/v1', '/openaifoo/v1'],
  ['http://elsewhere.example/openai/v1/models?q', '/v1/models?q'],
  ['/%e9?%zz&=&&', '/%e9?%zz&=&&'],
] as const) {
  test(`target ${came}`, async () => {
    const stand = await openStand([{}]);
    await answerTo(stand.port, `GET ${came} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    assert.is(stand.upstream.requests[0]?.url, went);
    assert.is((await stand.outcomes(1)).length, 1);
  });
}

test('a base path of the upstream stands before the target, also before one with two slashes', async () => {
  const stand = await openStand([{}], { basePath: '/gateway/' });
  for (const path of ['/v1/messages?x', '//host/x']) {
    await answerTo(stand.port, `GET ${path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`);
  }
  assert.equal(
    stand.upstream.requests.map(({ url }) => url),
    ['/gateway/v1/messages?x', '/gateway//host/x'],
  );
});

test('request headers keep order, case, repetition and bytes; what is for one hop, and ours, stays here', async () => {
  const stand = await openStand([{}]);
  const sent = [
    'User-Agent: x/1',
    'HOST: proxy.example:8080',
    'X-Twice: one',
    'content-LENGTH: 2',
    'x-twice: two',
    'Cookie: a=1',
    'Cookie: b=2',
    'Accept-Encoding: gzip, deflate, br, zstd',
    'X-Latin: caf\xe9',
    'X-Empty:',
    'anthropic-beta: a,b',
    'Anthropic-Beta: c',
    'Connection: close, X-Hop',
    'X-Hop: mine',
    'Keep-Alive: timeout=5',
    'TE: trailers',
    'Proxy-Authorization: Basic x',
    'Proxy-Connection: keep-alive',
    'x-svc-harness-id: claude',
    'X-SVC-Capture: off',
  ];
  await answerTo(stand.port, `POST /v1/messages HTTP/1.1\r\n${sent.join('\r\n')}\r\n\r\n{}`);
  const raw = stand.upstream.requests[0]?.rawHeaders ?? [];
  const lines = raw.flatMap((name, i) => (i % 2 ? [] : [`${name}: ${raw[i + 1]}`]));
  assert.equal(endToEndLines(lines), [
    'User-Agent: x/1',
    `HOST: 127.0.0.1:${stand.upstream.port}`,
    'X-Twice: one',
    'content-LENGTH: 2',
    'x-twice: two',
    'Cookie: a=1',
    'Cookie: b=2',
    'Accept-Encoding: gzip, deflate, br, zstd',
    'X-Latin: caf\xe9',
    'X-Empty: ',
    'anthropic-beta: a,b',
    'Anthropic-Beta: c',
  ]);
  assert.is(stand.upstream.requests[0]?.body.toString(), '{}');
});

test('response status, reason, headers and encoded bytes come back as they were', async () => {
  const body = gzipSync('{"type":"error"}');
  const rawHeaders = [
    'content-type',
    'application/json',
    'Retry-After',
    '7',
    'Set-Cookie',
    'a=1',
    'set-cookie',
    'b=2',
    'Content-Encoding',
    'gzip',
    'content-length',
    String(body.length),
    'request-id',
    'req_1',
    'Date',
    'Thu, 01 Jan 1970 00:00:00 GMT',
    'x-latin',
    'caf\xe9',
  ];
  const stand = await openStand([{ status: 529, reason: 'Overloaded, sorry', rawHeaders, body }]);
  const ask = 'POST /v1/messages HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}';
  const through = readAnswer(await answerTo(stand.port, ask));
  const direct = readAnswer(await answerTo(stand.upstream.port, ask));
  assert.is(through.status, 'HTTP/1.1 529 Overloaded, sorry');
  assert.equal(endToEndLines(through.headers), endToEndLines(direct.headers));
  assert.is(through.headers.filter((line) => /^date:/i.test(line)).length, 1);
  assert.equal(through.body, body);
  assert.equal(await stand.outcomes(1), ['anthropic captured']);
  assert.is(stand.kept[0]?.answered?.status, 529);
  assert.equal(Buffer.concat(stand.kept[0]?.replied ?? []), body);
});

for (const [method, status, length] of [
  ['HEAD', 200, '4711'],
  ['GET', 204, null],
  ['GET', 304, '4711'],
  ['GET', 200, '0'],
] as const) {
  test(`${method} ${status} has no body and the headers that came`, async () => {
    const headers = length === null ? ['etag', 'x'] : ['content-length', length, 'etag', 'x'];
    const stand = await openStand([{ status, rawHeaders: headers }]);
    const ask = `${method} /v1/models HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n`;
    const through = readAnswer(await answerTo(stand.port, ask));
    const direct = readAnswer(await answerTo(stand.upstream.port, ask));
    assert.equal(through, direct);
    assert.is(through.body.length, 0);
  });
}

test('neither Date nor any other header is made up', async () => {
  const stand = await openStand([{ rawHeaders: ['content-length', '0'] }]);
  const { headers } = readAnswer(await answerTo(stand.port, 'GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n'));
  assert.equal(headers, ['content-length: 0', 'Connection: close']);
  assert.equal(stand.upstream.requests[0]?.rawHeaders, [
    'Host',
    `127.0.0.1:${stand.upstream.port}`,
    'Connection',
    'keep-alive',
  ]);
});

test('chunked bodies and trailers pass both ways', async () => {
  const stand = await openStand([
    async (request, outgoing) => {
      await request.whole;
      outgoing.writeHead(200, { Trailer: 'X-Sum' });
      outgoing.write('one');
      outgoing.addTrailers([['X-Sum', '42']]);
      outgoing.end('two');
    },
  ]);
  const answer = await answerTo(
    stand.port,
    'PUT /v1/x HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\nX-Check: 7\r\n\r\n',
  );
  assert.is(readAnswer(answer).body.toString(), 'onetwo');
  assert.ok(answer.toString().includes('X-Sum: 42'));
  assert.is(stand.upstream.requests[0]?.body.toString(), 'abcde');
  assert.equal(stand.upstream.requests[0]?.rawTrailers, ['X-Check', '7']);
});

test('methods with unusual framing: GET and DELETE with a body, POST without one', async () => {
  const stand = await openStand([{}]);
  for (const head of [
    'GET /a HTTP/1.1\r\nContent-Length: 3\r\n',
    'DELETE /b HTTP/1.1\r\nTransfer-Encoding: chunked\r\n',
    'POST /c HTTP/1.1\r\n',
    'DELETE /d HTTP/1.1\r\nContent-Length: 0\r\n',
    'OPTIONS * HTTP/1.1\r\n',
  ]) {
    const body = head.includes('chunked') ? '3\r\nxyz\r\n0\r\n\r\n' : head.includes('Length: 3') ? 'xyz' : '';
    const answer = await answerTo(stand.port, `${head}Host: h\r\nConnection: close\r\n\r\n${body}`);
    assert.is(readAnswer(answer).status, 'HTTP/1.1 200 OK', head);
  }
  assert.equal(
    stand.upstream.requests.map(({ method, url, body }) => `${method} ${url} ${body}`),
    ['GET /a xyz', 'DELETE /b xyz', 'POST /c ', 'DELETE /d ', 'OPTIONS * '],
  );
  assert.is(stand.upstream.requests[2]?.headers['transfer-encoding'], undefined);
  assert.is(stand.upstream.requests[3]?.headers['content-length'], '0');
  assert.is((await stand.outcomes(5)).length, 5);
});

test('HTTP/1.0 clients get no chunks', async () => {
  const stand = await openStand([
    (_request, outgoing) => {
      outgoing.writeHead(200, []);
      outgoing.write('one');
      setTimeout(() => outgoing.end('two'), 20);
    },
  ]);
  const answer = await answerTo(stand.port, 'GET / HTTP/1.0\r\nHost: h\r\n\r\n');
  assert.is(readAnswer(answer).body.toString(), 'onetwo');
  assert.not.match(answer.toString(), /chunked/i);
});

test('expect: 100-continue is the upstream’s to answer', async () => {
  const stand = await openStand((request) => async (_request, outgoing) => {
    if (request.url === '/no') {
      send(outgoing, { status: 413, body: 'too large' });
      return;
    }
    outgoing.writeContinue();
    await request.whole;
    send(outgoing, { body: 'thanks' });
  });
  const ask = (path: string) =>
    `POST ${path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n`;
  const client = await rawClient(stand.port, ask('/yes'));
  await client.sees('HTTP/1.1 100 Continue\r\n\r\n');
  client.write('body');
  await client.closed;
  assert.match(client.received().toString(), /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 OK\r\n[\s\S]*thanks$/);
  assert.is(stand.upstream.requests[0]?.headers.expect, '100-continue');
  assert.is(stand.upstream.requests[0]?.body.toString(), 'body');
  const refused = await rawClient(stand.port, ask('/no'));
  await refused.closed;
  assert.match(refused.received().toString(), /^HTTP\/1\.1 413 [\s\S]*too large$/);
  assert.is((await stand.outcomes(2)).length, 2);
});

test('1xx answers come before the answer, as they were', async () => {
  const stand = await openStand([
    (_request, outgoing) => {
      outgoing.writeEarlyHints({ link: '</a>; rel=preload', 'x-hint': '1' });
      outgoing.writeProcessing();
      setTimeout(() => send(outgoing, { body: 'x' }), 20);
    },
  ]);
  const answer = await answerTo(stand.port, 'GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n');
  assert.match(
    answer.toString(),
    /^HTTP\/1\.1 103 Early Hints\r\nLink: <\/a>; rel=preload\r\nx-hint: 1\r\n\r\nHTTP\/1\.1 102 Processing\r\n\r\nHTTP\/1\.1 200 OK\r\n/,
  );
});

test('of 1xx answers without end a client that does not read gets some, and then the answer', async () => {
  const head = `HTTP/1.1 103 Early Hints\r\nLink: <${'a'.repeat(4_000)}>\r\n\r\n`;
  const heads = Buffer.from(head.repeat(100), 'latin1');
  const sent = 120; // 48 MB
  let done = false;
  const stand = await openStand([
    async (_request, outgoing) => {
      for (let i = 0; i < sent; i++)
        if (!outgoing.socket?.write(heads)) await new Promise((taken) => outgoing.socket?.once('drain', taken));
      done = true;
      send(outgoing, { body: 'the answer' });
    },
  ]);
  const client = await rawClient(stand.port);
  client.socket.pause();
  client.write('GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n');
  await until(() => done, 'the upstream to have sent all');
  client.socket.resume();
  await client.closed;
  const [hints = '', answer = ''] = client.received().toString('latin1').split('HTTP/1.1 200 OK\r\n');
  assert.match(answer, /the answer/);
  assert.is(hints, head.repeat(hints.length / head.length), 'those that came are whole');
  assert.ok(hints.length > 0 && hints.length < (sent * heads.length) / 2, `${hints.length} bytes`); // what the kernel took, and a little more
});

test('connections are used again on both sides, and pipelined requests answered in order', async () => {
  const stand = await openStand((request) => ({ body: request.url }));
  const client = await rawClient(stand.port);
  for (let i = 0; i < 5; i++) {
    client.write(`POST /n${i} HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\nx`);
    await client.sees(`/n${i}`);
  }
  assert.is(stand.upstream.connections(), 1);
  client.write('GET /p1 HTTP/1.1\r\nHost: h\r\n\r\nGET /p2 HTTP/1.1\r\nHost: h\r\n\r\n');
  await client.sees('/p2');
  assert.ok(client.received().indexOf('/p1') < client.received().indexOf('/p2'));
  client.socket.destroy();
  await until(() => stand.counted.length === 7);
});

test('whoever still writes a head beyond reason reads 431, and is not cut over it', async () => {
  const stand = await openStand([{}]);
  const socket = connect({ port: stand.port, host: '127.0.0.1', noDelay: true });
  const failed: string[] = [];
  let answer = '';
  socket.on('error', (error: NodeJS.ErrnoException) => failed.push(error.code ?? error.message));
  socket.on('data', (bytes) => {
    answer += bytes.toString('latin1');
  });
  const closed = new Promise((resolve) => socket.on('close', resolve));
  socket.write(`GET /v1/models HTTP/1.1\r\nHost: h\r\nX: ${'y'.repeat(4_000_000)}\r\n\r\n`);
  await closed;
  assert.match(answer, /^HTTP\/1\.1 431 /);
  assert.match(answer, /\r\nconnection: close\r\n/i);
  assert.equal(failed, []);
  assert.is(stand.upstream.requests.length, 0);
});

test('large heads pass; one beyond reason is refused with 431', async () => {
  const stand = await openStand([{ rawHeaders: ['x-large', 'y'.repeat(60_000), 'content-length', '0'] }]);
  const ask = (bytes: number) =>
    `GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nX-Large: ${'x'.repeat(bytes)}\r\n\r\n`;
  assert.is(readAnswer(await answerTo(stand.port, ask(60_000))).headers[0]?.length, 'x-large: '.length + 60_000);
  assert.is(stand.upstream.requests[0]?.headers['x-large']?.length, 60_000);
  assert.match(readAnswer(await answerTo(stand.port, ask(200_000))).status, /^HTTP\/1\.1 431 /);
});

test.run();
