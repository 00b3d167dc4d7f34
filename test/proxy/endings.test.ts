import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { send } from '../support/upstream.ts';
import { answerTo, closeStands, openStand, rawClient, readAnswer, until } from './stand.ts';

const test = suite('proxy: every call has one ending');
test.after.each(closeStands);

const ask = (path = '/v1/messages', more = '') =>
  `POST ${path} HTTP/1.1\r\nHost: h\r\nConnection: close\r\n${more}Content-Length: 2\r\n\r\n{}`;

test('an answer torn by the upstream is torn for the client, after what had come', async () => {
  for (const head of [
    ['content-length', '1000'],
    ['content-type', 'text/event-stream'],
  ]) {
    const stand = await openStand([
      (_request, answering) => {
        answering.writeHead(200, head);
        answering.write('the first part', () => answering.socket?.destroySoon());
      },
    ]);
    const client = await rawClient(stand.port, ask());
    await client.closed;
    assert.ok(client.received().includes('the first part'));
    assert.not.ok(client.received().includes('\r\n0\r\n'), 'the end of the chunks was made up');
    assert.equal(await stand.outcomes(1), ['anthropic partial']);
    assert.is(stand.kept[0]?.closed?.ending, 'upstream_cut');
    assert.is(Buffer.concat(stand.kept[0]?.replied ?? []).toString(), 'the first part');
  }
});

test('an answer torn right after its head', async () => {
  const stand = await openStand([
    (_request, answering) => {
      answering.writeHead(200, ['content-length', '1000']);
      answering.flushHeaders();
      setTimeout(() => answering.socket?.destroySoon(), 20);
    },
  ]);
  const answer = await answerTo(stand.port, ask());
  assert.match(answer.toString(), /^HTTP\/1\.1 200 OK\r\ncontent-length: 1000\r\n/);
  assert.equal(await stand.outcomes(1), ['anthropic partial']);
  assert.is(stand.kept[0]?.closed?.ending, 'upstream_cut');
});

test('a client that leaves in the middle of an answer aborts the upstream', async () => {
  const stand = await openStand([
    (_request, answering) => {
      answering.writeHead(200, ['content-type', 'text/event-stream']);
      answering.write('data: 1\n\n');
    },
  ]);
  const client = await rawClient(stand.port, ask());
  await client.sees('data: 1');
  client.socket.destroy();
  assert.is(await stand.upstream.requests[0]?.over, true);
  assert.equal(await stand.outcomes(1), ['anthropic partial']);
  assert.is(stand.kept[0]?.closed?.ending, 'client_closed');
  assert.is(stand.kept[0]?.closed?.cut, 'none');
});

test('a client that leaves with pipelined calls aborts each of them, also those whose response waited for its turn', async () => {
  const stand = await openStand([
    () => {}, // never answers, so that the others wait
    (_request, answering) => {
      answering.writeHead(200, ['content-type', 'text/event-stream']);
      answering.write('data: 1\n\n');
    },
    (_request, answering) => send(answering, { status: 200, rawHeaders: ['content-length', '2'], body: '{}' }),
    ...Array.from({ length: 12 }, () => () => {}),
  ]);
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => warnings.push(warning);
  process.on('warning', onWarning);
  const call = ask().replace('Connection: close\r\n', '');
  const client = await rawClient(stand.port, call.repeat(15));
  await until(() => stand.upstream.requests.length === 15);
  await until(() => stand.kept[2]?.replied.length === 1);
  client.socket.destroy();
  assert.equal(new Set(await stand.outcomes(15)), new Set(['anthropic partial']));
  for (const { over } of stand.upstream.requests.filter((_, n) => n !== 2)) assert.is(await over, true);
  assert.equal(
    stand.kept.map(({ closed }) => closed?.ending),
    Array(15).fill('client_closed'),
  );
  process.off('warning', onWarning);
  assert.equal(warnings, []);
});

test('a client that leaves before the answer, or in the middle of its upload', async () => {
  const stand = await openStand([() => {}]);
  const waiting = await rawClient(stand.port, ask());
  await until(() => stand.upstream.requests.length === 1);
  waiting.socket.destroy();
  assert.is(await stand.upstream.requests[0]?.over, true);
  const uploading = await rawClient(stand.port, ask().replace('Length: 2', 'Length: 2000'));
  await until(() => stand.upstream.requests.length === 2);
  uploading.socket.destroy();
  assert.is(await stand.upstream.requests[1]?.over, true);
  assert.equal(await stand.outcomes(2), ['anthropic partial', 'anthropic partial']);
  assert.is(stand.kept[0]?.closed?.ending, 'client_closed');
  assert.is(stand.kept[0]?.closed?.cut, 'none');
  assert.is(stand.kept[1]?.closed?.ending, 'client_closed');
  assert.is(stand.kept[1]?.closed?.cut, 'request');
});

test('a client that leaves in the middle of an upload that is not captured', async () => {
  const stand = await openStand([() => {}]);
  const client = await rawClient(stand.port, ask('/v1/files').replace('Length: 2', 'Length: 2000'));
  await until(() => stand.upstream.requests.length === 1);
  client.socket.destroy();
  assert.is(await stand.upstream.requests[0]?.over, true);
  assert.equal(stand.counted, ['anthropic not_a_turn']);
});

test('an upstream that cannot be reached is told in the provider’s own shape, without addresses or secrets', async () => {
  const stand = await openStand([], { upstreamUrl: 'http://127.0.0.1:9' });
  const shapes = {
    anthropic: (message: string) => ({ type: 'error', error: { type: 'api_error', message } }),
    openai: (message: string) => ({ error: { message, type: 'upstream_error', code: null, param: null } }),
    ollama: (message: string) => ({ error: message }),
  };
  for (const [provider, shape] of Object.entries(shapes)) {
    const answer = readAnswer(
      await answerTo(stand.port, ask(`/${provider}/v1/messages?key=sk-1`, 'X-Api-Key: sk-2\r\n')),
    );
    assert.is(answer.status, 'HTTP/1.1 502 Bad Gateway');
    assert.equal(
      JSON.parse(answer.body.toString()),
      shape('Cannot reach the upstream http://127.0.0.1:9: it refuses connections (ECONNREFUSED)'),
    );
    assert.not.match(answer.body.toString(), /sk-/);
  }
  assert.equal(await stand.outcomes(3), ['anthropic partial', 'openai partial', 'ollama partial']);
  assert.is(stand.kept[0]?.closed?.ending, 'upstream_error');
  assert.is(stand.kept[0]?.answered, null);
  assert.is(Buffer.concat(stand.kept[0]?.requestChunks ?? []).toString(), '{}');
});

test('an upstream that hangs up without an answer, or talks nonsense, is a 502 too', async () => {
  const stand = await openStand([
    (_request, answering) => answering.socket?.destroy() as never,
    (_request, answering) => answering.socket?.end('SSH-2.0-OpenSSH\r\n') as never,
  ]);
  assert.match(readAnswer(await answerTo(stand.port, ask())).body.toString(), /closed the connection.*ECONNRESET/);
  assert.is(readAnswer(await answerTo(stand.port, ask())).status, 'HTTP/1.1 502 Bad Gateway');
  assert.equal(await stand.outcomes(2), ['anthropic partial', 'anthropic partial']);
});

test('a large upload to an upstream that cannot be reached: the client reads the 502', async () => {
  const stand = await openStand([], { upstreamUrl: 'http://127.0.0.1:9' });
  const bytes = 20_000_000;
  const client = await rawClient(stand.port, ask().replace('{}', '').replace('Length: 2', `Length: ${bytes}`));
  client.write(Buffer.alloc(bytes, 'x'));
  await client.closed;
  assert.match(client.received().toString(), /^HTTP\/1\.1 502 /);
  await stand.outcomes(1);
  assert.is(stand.kept[0]?.closed?.ending, 'upstream_error');
});

test('a refusal in the middle of an upload reaches the client', async () => {
  const stand = await openStand([
    (_request, answering) =>
      send(answering, { status: 413, rawHeaders: ['connection', 'close', 'content-length', '9'], body: 'too large' }),
  ]);
  const client = await rawClient(stand.port, ask().replace('{}', '').replace('Length: 2', 'Length: 2000'));
  await client.sees('too large');
  client.socket.destroy();
  assert.equal(await stand.outcomes(1), ['anthropic partial']);
  assert.is(stand.kept[0]?.answered?.status, 413);
  assert.is(stand.kept[0]?.closed?.ending, 'complete');
  assert.is(stand.kept[0]?.closed?.cut, 'request');
});

test('an upstream may take its time: idle connections are closed, busy ones never', async () => {
  const stand = await openStand([
    (_request, answering) => {
      setTimeout(() => send(answering, { body: 'at last' }), 6_000);
    },
  ]);
  assert.is(readAnswer(await answerTo(stand.port, ask())).body.toString(), 'at last');
});

test('closing lets a stream finish, and cuts it when its time is up', async () => {
  let finish = () => {};
  const script = () => (_request: unknown, answering: import('node:http').ServerResponse) => {
    answering.writeHead(200, ['content-type', 'text/event-stream']);
    answering.write('data: 1\n\n');
    finish = () => answering.end('data: 2\n\n');
  };
  const patient = await openStand(script);
  const kept = await rawClient(patient.port, ask().replace('Connection: close\r\n', ''));
  const idle = await rawClient(patient.port);
  await kept.sees('data: 1');
  const closing = patient.proxy.close(30_000);
  await idle.closed;
  assert.not.ok(kept.isClosed());
  finish();
  await closing;
  await kept.sees('data: 2');
  assert.equal(patient.counted, ['anthropic captured']);

  const hasty = await openStand(script);
  const cut = await rawClient(hasty.port, ask());
  await cut.sees('data: 1');
  await hasty.proxy.close(50);
  await cut.closed;
  assert.equal(await hasty.outcomes(1), ['anthropic partial']);
});

test.run();
