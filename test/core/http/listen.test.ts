/** On real sockets: addresses, limits, and how answers end. */
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import pino from 'pino';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { OperatorError } from '../../../core/errors.ts';
import { jsonStream } from '../../../core/http/json-stream.ts';
import { serveApp } from '../../../core/http/listen.ts';
import { routes } from '../../../core/http/routes.ts';

const test = suite('serveApp');

const hello = () => new Response('hello');
const what = 'test listener';

/** All that a server says to these bytes. */
const rawAnswer = async (port: number, bytes: string): Promise<string> => {
  const socket = connect(port, '127.0.0.1');
  let answer = '';
  socket.on('data', (chunk) => {
    answer += chunk.toString();
  });
  socket.write(bytes);
  await once(socket, 'close');
  return answer;
};

test('every host is served on one port, also when it is chosen freely', async () => {
  const served = await serveApp({ fetch: hello, hosts: ['127.0.0.1', '::1'], port: 0, what });
  assert.ok(served.addresses.includes(`http://127.0.0.1:${served.port}`));
  for (const address of served.addresses) assert.is(await (await fetch(address)).text(), 'hello');
  assert.equal(new Set(served.addresses.map((address) => new URL(address).port)).size, 1);
  await served.close(0);
  await rejects(fetch(served.addresses[0] ?? ''));
});

test('a port that is taken is told by its number', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const refused = await serveApp({ fetch: hello, hosts: ['127.0.0.1', '::1'], port, what }).then(
    () => null,
    (error: Error) => error,
  );
  assert.instance(refused, OperatorError);
  assert.is(refused?.message, `Cannot listen for the test listener on port ${port}: it is taken by another process`);
  other.close();
});

test('an address of another machine is no address to listen on', async () => {
  const refused = await serveApp({ fetch: hello, hosts: ['203.0.113.7'], port: 0, what }).then(
    () => null,
    (error: Error) => error,
  );
  assert.instance(refused, OperatorError);
});

test('bytes that are no request get the envelope of the listener', async () => {
  const complaint = () => ({ type: 'application/json', body: '{"error":"no"}' });
  const served = await serveApp({ fetch: hello, hosts: ['127.0.0.1'], port: 0, what, complaint });
  for (const bytes of [
    'nonsense\r\n\r\n',
    'GET /a\\b HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n',
    'GET / HTTP/1.1\r\nhost: a b\r\nconnection: close\r\n\r\n',
  ]) {
    const answer = await rawAnswer(served.port, bytes);
    assert.match(answer, /^HTTP\/1.1 400 /);
    assert.ok(answer.endsWith('{"error":"no"}'), answer);
    assert.match(answer, /\r\nx-request-id: [0-9a-f-]{36}\r\n/i, 'whatever the envelope');
  }
  await served.close(0);
});

test('an answer that fails on its way is cut, not finished', async () => {
  const log: string[] = [];
  const app = routes();
  app.get('/it', (c) =>
    jsonStream(
      c,
      (async function* () {
        yield `{"items":["${'x'.repeat(200_000)}"`;
        await new Promise((done) => setTimeout(done, 50));
        throw new Error('secret');
      })(),
      pino({}, { write: (line: string) => void log.push(line) }),
    ),
  );
  const served = await serveApp({ fetch: app.fetch, hosts: ['127.0.0.1'], port: 0, what });
  const outcome = await new Promise<{ complete: boolean; text: string }>((done) => {
    const outgoing = request(`${served.addresses[0]}/it`, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      response.on('error', () => {});
      response.on('close', () => done({ complete: response.complete, text }));
    });
    outgoing.on('error', () => {});
    outgoing.end();
  });
  assert.not.ok(outcome.complete);
  assert.not.match(outcome.text, 'secret');
  assert.match(log.join(''), 'Cannot finish an answer');
  await served.close(0);
});

test('closing lets an answer under way finish, and cuts it when the grace is over', async () => {
  for (const { graceMs, finishes } of [
    { graceMs: 10_000, finishes: true },
    { graceMs: 50, finishes: false },
  ]) {
    const { promise: coming, resolve: came } = later<void>();
    const { promise: answer, resolve: finish } = later<Response>();
    const served = await serveApp({
      fetch: () => {
        came();
        return answer;
      },
      hosts: ['127.0.0.1'],
      port: 0,
      what,
    });
    const got = fetch(served.addresses[0] ?? '').then(
      (response) => response.text(),
      () => 'cut',
    );
    await coming;
    const closed = served.close(graceMs);
    if (finishes) finish(new Response('whole'));
    await closed;
    assert.is(await got, finishes ? 'whole' : 'cut');
  }
});

const later = <T>() => {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((done) => {
    resolve = done;
  });
  return { promise, resolve };
};

const rejects = async (promise: Promise<unknown>) => {
  const failed = await promise.then(
    () => false,
    () => true,
  );
  assert.ok(failed, 'it rejects');
};

test.run();
