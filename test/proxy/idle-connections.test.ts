/** Which connection does a call get? One that died while nobody used it: how often does a call meet it, and what becomes of that call? */
import { subscribe } from 'node:diagnostics_channel';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import Anthropic from '@anthropic-ai/sdk';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { type Answer, type Script, send } from '../support/upstream.ts';
import { cert, key } from './local-tls.ts';
import { closeStands, openStand, rawClient, type Stand, until } from './stand.ts';

const test = suite('proxy: idle connections to an upstream');
test.after.each(closeStands);

const opened: Socket[] = []; // by this process, to anywhere
subscribe('net.client.socket', (message) => opened.push((message as { socket: Socket }).socket));
const towards = ({ upstream }: Stand) => opened.filter(({ remotePort }) => remotePort === upstream.port);

const ask = 'POST /v1/messages HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}';

const ROUNDS = 20;
const ends: Record<string, (serve: RequestListener) => Server> = {
  'in plain text': (serve) => createServer(serve),
  'over TLS': (serve) => createSecureServer({ key, cert }, serve),
};

for (const [how, listen] of Object.entries(ends)) {
  test(`one that the upstream ends as the next call comes in is not taken for that call, ${how}`, async () => {
    const used: Socket[] = [];
    const server = listen((incoming, outgoing) => {
      used.push(incoming.socket);
      incoming.resume().on('end', () => outgoing.end(`answer ${used.length};`));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const secure = how === 'over TLS';
    if (secure) process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'; // looked at for each connection
    try {
      const { port } = server.address() as AddressInfo;
      const stand = await openStand([], { upstreamUrl: `${secure ? 'https' : 'http'}://127.0.0.1:${port}` });
      const client = await rawClient(stand.port);
      for (let round = 1; round <= ROUNDS; round++) {
        used.at(-1)?.destroy(); // its end and the call are there when the proxy looks next
        client.write(ask);
        await client.sees(`answer ${round};`);
      }
      client.socket.destroy();
      assert.equal(await stand.outcomes(ROUNDS), Array(ROUNDS).fill('anthropic captured'));
    } finally {
      delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      server.closeAllConnections();
      server.close();
    }
  });
}

test('calls at once have a connection each; later ones share those, and the one last used is taken first', async () => {
  const held: ServerResponse[] = [];
  const used: (number | undefined)[] = []; // port of the connection, by call
  const stand = await openStand(() => (_request, answering, incoming) => {
    used.push(incoming.socket.remotePort);
    held.push(answering);
    if (held.length >= 3 || used.length > 3) for (const waiting of held.splice(0)) waiting.end('ok;');
  });
  const clients = await Promise.all([ask, ask, ask].map((bytes) => rawClient(stand.port, bytes)));
  for (const client of clients) await client.sees('ok;');
  await stand.outcomes(3);
  for (let later = 4; later <= 12; later++) {
    clients[later % 3]?.write(ask);
    await stand.outcomes(later);
  }
  assert.is(stand.upstream.connections(), 3);
  assert.is(new Set(used.slice(0, 3)).size, 3);
  assert.is(new Set(used.slice(3)).size, 1, 'whoever asks');
  for (const client of clients) client.socket.destroy();
});

const hinting = (hint: string[]): Answer => ({ rawHeaders: [...hint, 'content-length', '2'], body: 'ok' });

test('how long one is kept is the upstream’s to say, less a second; else it is less than the 5 s of common servers', async () => {
  for (const [hint, kept] of [
    [['keep-alive', 'timeout=3, max=100'], 2_000],
    [['keep-alive', 'timeout=60'], 4_000],
    [[], 4_000],
  ] as const) {
    const stand = await openStand([hinting([...hint])]);
    const client = await rawClient(stand.port, ask);
    await client.sees('ok');
    const [connection] = towards(stand);
    await until(() => connection?.timeout === kept, `${kept} ms for ${hint[1]}`);
    client.socket.destroy();
  }
  const stand = await openStand([hinting(['keep-alive', 'timeout=1'])]);
  const client = await rawClient(stand.port, ask);
  await client.sees('ok');
  client.write(ask);
  await stand.outcomes(2);
  assert.is(stand.upstream.connections(), 2);
  client.socket.destroy();
});

test('when its time is up the proxy hangs up, before the upstream does, and goes on with a new one', async () => {
  let hungUp = false;
  const stand = await openStand(() => (_request, answering, incoming) => {
    incoming.socket.once('end', () => {
      hungUp = true;
    });
    send(answering, hinting([]));
  });
  const client = await rawClient(stand.port, ask);
  await client.sees('ok');
  towards(stand).at(-1)?.emit('timeout');
  await until(() => hungUp);
  client.write(ask);
  assert.equal(await stand.outcomes(2), ['anthropic captured', 'anthropic captured']);
  client.socket.destroy();
});

/** As when the end of an idle connection is still on its way: the call leaves, and no answer will come. */
const diesAtWork = (message: object): Script => {
  const answer = { rawHeaders: ['content-type', 'application/json'], body: JSON.stringify(message) };
  return (_request, index) =>
    index === 1 ? (_again, _answering, incoming) => void incoming.socket.resetAndDestroy() : answer;
};

test('a call that was on its way is answered 502 and never sent twice: who asked decides', async () => {
  const stand = await openStand(diesAtWork({ ok: true }));
  const client = await rawClient(stand.port, ask);
  await client.sees('{"ok":true}');
  client.write(ask);
  await client.sees('(ECONNRESET)');
  client.write(ask.replace('/v1/messages', '/v1/models'));
  await stand.outcomes(3);
  await until(() => stand.upstream.requests.length >= 3); // what is no turn is counted before it is sent
  assert.is(stand.upstream.requests.length, 3);
  assert.equal(stand.counted, ['anthropic captured', 'anthropic partial', 'anthropic not_a_turn']);
  assert.is(stand.kept[1]?.closed?.ending, 'upstream_error');
  client.socket.destroy();
});

test('a provider’s own client tries again, and its user does not notice', async () => {
  const message = {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [{ type: 'text', text: 'Hi' }],
  };
  const stand = await openStand(diesAtWork(message));
  const client = new Anthropic({ baseURL: `http://127.0.0.1:${stand.port}`, apiKey: 'k' });
  const body = { model: 'm', max_tokens: 9, messages: [{ role: 'user' as const, content: 'Hello' }] };
  for (let times = 0; times < 2; times++) assert.equal((await client.messages.create(body)).content, message.content);
  assert.equal(await stand.outcomes(3), ['anthropic captured', 'anthropic partial', 'anthropic captured']);
});

test.run();
