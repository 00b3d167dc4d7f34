import OpenAI from 'openai';
import { ResponsesWS } from 'openai/resources/responses/ws';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { ServerOptions } from 'ws';
import { formatOf } from '../../core/provider/formats.ts';
import { openaiResponses } from '../../core/provider/openai-responses.ts';
import {
  echoEvents,
  echoing,
  type Message,
  type SocketClient,
  socketClient,
  socketProvider,
  type Talk,
} from '../support/responses-socket.ts';
import { closeStands, type Kept, openStand, until } from './stand.ts';

const test = suite('proxy: Responses sockets');
test.after.each(closeStands);

type Options = Omit<NonNullable<Parameters<typeof openStand>[1]>, 'deps'> & { server?: ServerOptions };

/** The real ends of a socket with the proxy between them. */
async function openSockets(talk: Talk = echoing, { server = {}, ...options }: Options = {}) {
  const stand = await openStand([{}], { ...options, deps: { formatOf } });
  const provider = socketProvider(talk, server);
  stand.upstream.onUpgrade(provider.answer);
  const url = `http://127.0.0.1:${stand.port}/openai/v1/responses`;
  return { stand, provider, url, connect: (more?: Parameters<typeof socketClient>[1]) => socketClient(url, more) };
}

const create = (input: string, more: object = {}): Message => ({
  type: 'response.create',
  model: 'gpt-5',
  input,
  ...more,
});
const ended = (client: SocketClient) =>
  client.events().filter(({ type }) => /^(error|response\.(completed|failed|incomplete))$/.test(type)).length;

/** Sends a request and waits for the last event of its response. */
async function ask(client: SocketClient, message: Message): Promise<void> {
  const before = ended(client);
  client.send(message);
  await until(() => ended(client) > before, 'the end of a response');
}

const requestOf = ({ requestChunks }: Kept) => Buffer.concat(requestChunks).toString();
const responseOf = ({ replied }: Kept) => Buffer.concat(replied).toString();
const linesOf = (call: Kept) => responseOf(call).split('\n').slice(0, -1);
const typesOf = (call: Kept) => linesOf(call).map((line) => (JSON.parse(line) as Message).type);
const replyOf = (call: Kept) => openaiResponses.reply(Buffer.concat(call.replied), 'application/x-ndjson');
const textsIn = (call: Kept) => replyOf(call).content.map(({ text }) => text);
const endings = (kept: Kept[]) => kept.map(({ closed }) => closed?.ending);

const compressions: Record<string, Pick<ServerOptions, 'perMessageDeflate'>> = {
  'without compression': { perMessageDeflate: false },
  'with compression': { perMessageDeflate: { threshold: 0 } },
  'with compression of each message by itself': {
    perMessageDeflate: { threshold: 0, serverNoContextTakeover: true, clientNoContextTakeover: true },
  },
  'with compression in small windows': {
    perMessageDeflate: { threshold: 0, serverMaxWindowBits: 9, clientMaxWindowBits: 10 },
  },
};

for (const [how, server] of Object.entries(compressions)) {
  test(`each response is a turn of its own, ${how}`, async () => {
    const { stand, connect } = await openSockets(echoing, { server });
    const client = await connect({ perMessageDeflate: server.perMessageDeflate ? { threshold: 0 } : false });
    assert.is(client.socket.extensions, server.perMessageDeflate ? 'permessage-deflate' : '');
    const requests = [
      create('Hello'),
      create('And then?', { previous_response_id: 'resp_1', filler: 'x'.repeat(200_000) }),
    ];
    for (const message of requests) await ask(client, message);
    client.socket.close(1000, 'done');
    assert.equal(await client.closed, { code: 1000, reason: 'done' });
    assert.equal(await stand.outcomes(3), ['openai not_a_turn', 'openai captured', 'openai captured']);
    assert.equal(
      stand.recorded.map(({ outcome }) => outcome),
      ['not_a_turn'],
    );
    assert.equal(
      stand.kept.map(requestOf),
      requests.map((message) => JSON.stringify(message)),
    );
    assert.equal(stand.kept.map(responseOf).join(''), client.heard.map((text) => `${text}\n`).join(''));
    assert.equal(stand.kept.map(textsIn), [['You said: Hello'], ['You said: And then?']]);
    assert.equal(
      stand.kept.map((call) => replyOf(call).response_id),
      ['resp_1', 'resp_2'],
    );
    for (const { opened, answered, closed, requestChunks, replied } of stand.kept) {
      assert.is(opened.format, 'openai.responses');
      assert.equal([opened.method, opened.url, opened.provider], ['GET', '/openai/v1/responses', 'openai']);
      assert.is(answered?.status, 200);
      assert.equal(answered?.headers.at(-1), ['Content-Type', 'application/x-ndjson']);
      assert.is(closed?.ending, 'complete');
      assert.is(closed?.cut, 'none');
      assert.is(closed?.request_bytes, Buffer.concat(requestChunks).length);
      assert.is(closed?.response_bytes, Buffer.concat(replied).length);
    }
    assert.is.not(stand.kept[0]?.opened.svc_proxy_request_id, stand.kept[1]?.opened.svc_proxy_request_id);
  });
}

test('fragments, pings, pongs, binary messages, subprotocol and closing words pass; only what was said is kept', async () => {
  const { stand, provider, connect } = await openSockets(echoing, {
    server: { handleProtocols: () => 'realtime', perMessageDeflate: false },
  });
  const client = await connect({ protocols: ['other', 'realtime'] });
  assert.is(client.socket.protocol, 'realtime');
  const pings: string[] = [];
  provider.sockets[0]?.on('ping', (bytes) => pings.push(String(bytes)));
  let pong = '';
  client.socket.on('pong', (bytes) => {
    pong = String(bytes);
  });
  let binary = '';
  client.socket.on('message', (bytes, isBinary) => {
    if (isBinary) binary = String(bytes);
  });
  const text = JSON.stringify(create('In pieces'));
  client.socket.send(text.slice(0, 5), { fin: false });
  client.socket.ping('are you there');
  client.socket.send(text.slice(5, 20), { fin: false });
  client.socket.send(text.slice(20), { fin: true });
  await until(() => ended(client) === 1 && pong !== '');
  client.socket.send(Buffer.from('{"type":"response.create"}'), { binary: true });
  await until(() => binary !== '');
  assert.equal([pings, pong, binary], [['are you there'], 'are you there', '{"type":"response.create"}']);
  provider.sockets[0]?.close(4001, 'go away');
  assert.equal(await client.closed, { code: 4001, reason: 'go away' });
  assert.equal(stand.kept.map(requestOf), [text]);
  assert.equal(textsIn(stand.kept[0] as Kept), ['You said: In pieces']);
});

test('a message in lines of its own is kept as one line', async () => {
  const { stand, connect } = await openSockets((socket, request, number) => {
    for (const event of echoEvents(request, number))
      socket.send(JSON.stringify(event, null, 2).replaceAll('\n', '\r\n'));
  });
  const client = await connect();
  await ask(client, create('Pretty'));
  assert.equal(await stand.outcomes(2), ['openai not_a_turn', 'openai captured']);
  assert.equal(
    linesOf(stand.kept[0] as Kept).map((line) => JSON.parse(line)),
    client.events(),
  );
  client.socket.terminate();
});

test('a client that leaves in the middle leaves a partial turn, and so does an upstream', async () => {
  const half: Talk = (socket, request, number) => {
    for (const event of echoEvents(request, number).slice(0, 6)) socket.send(JSON.stringify(event));
  };
  const { stand, provider, connect } = await openSockets(half);
  const leaving: ((client: SocketClient, number: number) => void)[] = [
    ({ socket }) => socket.terminate(),
    ({ socket }) => socket.close(1000),
    (_, number) => provider.sockets[number]?.terminate(),
    (_, number) => provider.sockets[number]?.close(1011, 'sorry'),
  ];
  for (const [number, leave] of leaving.entries()) {
    const client = await connect();
    client.send(create(`Number ${number}`));
    await until(() => client.heard.length === 6);
    leave(client, number);
    await client.closed;
    await stand.outcomes(2 * (number + 1));
    assert.equal(linesOf(stand.kept[number] as Kept), client.heard);
  }
  assert.equal(endings(stand.kept), ['client_closed', 'client_closed', 'upstream_cut', 'upstream_cut']);
  assert.is(stand.counted.filter((outcome) => outcome === 'openai partial').length, 4);
  assert.is(replyOf(stand.kept[0] as Kept).complete, false);
});

test('responses of several lanes go on at the same time, those of one lane one after the other', async () => {
  const waiting: Message[] = [];
  const { stand, connect } = await openSockets((socket, request) => {
    waiting.push(request);
    if (waiting.length < 4) return;
    const rows = waiting.map((message, i) =>
      echoEvents(message, i + 1).map((event) => ({
        ...event,
        ...(message.stream_id ? { stream_id: message.stream_id } : {}),
      })),
    );
    const [first = [], second = [], third = [], fourth = []] = rows; // lanes a, b, none, a
    const send = (event?: object) => event && socket.send(JSON.stringify(event));
    for (let i = 0; i < first.length; i++) for (const row of [third, second, first]) send(row[i]);
    for (const event of fourth) send(event);
  });
  const client = await connect();
  for (const [input, stream_id] of [
    ['1', 'a'],
    ['2', 'b'],
    ['3', undefined],
    ['4', 'a'],
  ] as const)
    client.send(create(input, stream_id ? { stream_id } : {}));
  await stand.outcomes(5);
  assert.equal(stand.kept.map(textsIn), [['You said: 1'], ['You said: 2'], ['You said: 3'], ['You said: 4']]);
  assert.ok(stand.counted.slice(1).every((outcome) => outcome === 'openai captured'));
  client.socket.terminate();
});

test('a request that is refused while another is answered is the one that ends', async () => {
  const refusal = {
    type: 'error',
    status: 409,
    error: { type: 'invalid_request_error', code: 'busy', message: 'busy' },
  };
  const { stand, connect } = await openSockets((socket, request, number) => {
    const events = echoEvents(create('first'), 1);
    if (number === 1) for (const event of events.slice(0, 4)) socket.send(JSON.stringify(event));
    else for (const event of [refusal, ...events.slice(4)]) socket.send(JSON.stringify(event));
    assert.is(request.type, 'response.create');
  });
  const client = await connect();
  client.send(create('first'));
  await until(() => client.heard.length === 4);
  client.send(create('second'));
  await stand.outcomes(3);
  const [first, second] = stand.kept as [Kept, Kept];
  assert.equal([requestOf(second), second.answered?.status], [JSON.stringify(create('second')), 409]);
  assert.equal(typesOf(second), ['error']);
  assert.equal([textsIn(first), first.answered?.status, first.closed?.ending], [['You said: first'], 200, 'complete']);
  client.socket.terminate();
});

test('a response that is made of what steered the one before is a turn, asked for by what was said then', async () => {
  const { stand, connect } = await openSockets((socket, request, number) => {
    const send = (event: object) => socket.send(JSON.stringify(event));
    const events = echoEvents(request, number);
    if (number === 1) for (const event of events.slice(0, 4)) send(event);
    else {
      send({ type: 'response.steer.accepted', steer: { id: 'steer_1', previous_response_id: 'resp_1' } });
      send({
        type: 'response.incomplete',
        response: { id: 'resp_1', status: 'incomplete', incomplete_details: { reason: 'steered' } },
      });
      for (const event of events) send(event);
    }
  });
  const client = await connect();
  client.send(create('Write a plan'));
  await until(() => client.heard.length === 4);
  const steer = { type: 'response.steer', previous_response_id: 'resp_1', input: 'Keep it short' };
  client.send(steer);
  await stand.outcomes(3);
  const [first, second] = stand.kept as [Kept, Kept];
  assert.is(replyOf(first).stop_reason, 'steered');
  assert.is(requestOf(second), JSON.stringify(steer));
  assert.equal(textsIn(second), ['You said: Keep it short']);
  client.socket.terminate();
});

test('what else is said on the socket is no turn', async () => {
  const limits = { type: 'codex.rate_limits', plan_type: 'pro' };
  const { stand, connect } = await openSockets((socket, request, number) => {
    socket.send(JSON.stringify(limits));
    if (request.type === 'response.create') echoing(socket, request, number);
  });
  const client = await connect();
  client.send({ type: 'response.processed', response_id: 'resp_0' });
  await until(() => client.heard.length === 1);
  await ask(client, create('Hello'));
  assert.equal(await stand.outcomes(2), ['openai not_a_turn', 'openai captured']);
  assert.is(stand.kept.length, 1);
  assert.equal(textsIn(stand.kept[0] as Kept), ['You said: Hello']);
  client.socket.close();
  await client.closed;
});

test('how much is kept is the operator’s and the caller’s to say', async () => {
  const off = await openSockets();
  const quiet = await off.connect({ headers: { 'x-svc-capture': 'off' } });
  await ask(quiet, create('Hush'));
  assert.equal([off.stand.counted, off.stand.kept], [['openai disabled'], []]);
  quiet.socket.terminate();

  const metadata = await openSockets(echoing, { capture: { mode: 'metadata' } });
  const client = await metadata.connect();
  await ask(client, create('Hello'));
  assert.equal(await metadata.stand.outcomes(2), ['openai not_a_turn', 'openai captured']);
  const [call] = metadata.stand.kept as [Kept];
  assert.equal([call.opened.keep, call.requestChunks, call.replied], ['metadata', [], []]);
  assert.ok((call.closed?.response_bytes ?? 0) > 100);
  client.socket.terminate();

  const full = await openSockets(echoing, { journalFull: true });
  const third = await full.connect();
  await ask(third, create('Hello'));
  await ask(third, create('Again'));
  assert.equal(await full.stand.outcomes(3), ['openai not_a_turn', 'openai journal_full', 'openai journal_full']);
  third.socket.terminate();
});

test('a message over the limit ends the copy, and nothing else', async () => {
  const { stand, connect } = await openSockets(echoing, {
    capture: { max_body_bytes: 20_000 },
    server: { perMessageDeflate: true },
  });
  for (const perMessageDeflate of [false, { threshold: 0 }]) {
    const before = stand.counted.length;
    const client = await connect({ perMessageDeflate });
    await ask(client, create('Small'));
    await ask(client, create('x'.repeat(50_000)));
    await ask(client, create('Small again'));
    assert.equal(
      (await stand.outcomes(before + 3)).slice(before),
      ['openai not_a_turn', 'openai captured', 'openai over_limit'],
      'the rest of the socket is one entry',
    );
    client.socket.close(1000);
    assert.is((await client.closed).code, 1000);
  }
  assert.equal(endings(stand.kept), ['complete', 'complete']);
});

test('an answer over the limit is a partial turn, and the next one is whole', async () => {
  const { stand, connect } = await openSockets(
    (socket, request, number) => {
      const filler = Array.from({ length: request.input === 'Long' ? 30 : 0 }, () => ({
        type: 'response.x',
        x: 'y'.repeat(1000),
      }));
      const [begin, ...rest] = echoEvents(request, number);
      for (const event of [begin, ...filler, ...rest]) socket.send(JSON.stringify(event));
    },
    { capture: { max_body_bytes: 20_000 } },
  );
  const client = await connect();
  await ask(client, create('Long'));
  await ask(client, create('Short'));
  assert.equal(await stand.outcomes(3), ['openai not_a_turn', 'openai partial', 'openai captured']);
  assert.equal(
    stand.kept.map(({ closed }) => [closed?.ending, closed?.cut]),
    [
      ['overflow', 'response'],
      ['complete', 'none'],
    ],
  );
  client.socket.terminate();
});

test('at a stop a socket ends when no response is under way on it, and not before', async () => {
  let end: (() => void) | null = null;
  const { stand, connect } = await openSockets((socket, request, number) => {
    const events = echoEvents(request, number).map((event) => JSON.stringify(event));
    for (const event of events.slice(0, -1)) socket.send(event);
    end = () => socket.send(events.at(-1) ?? '');
    if (request.input !== 'slow') end();
  });
  const [idle, busy] = [await connect(), await connect()];
  await ask(idle, create('quick'));
  end = null;
  busy.send(create('slow'));
  await until(() => end !== null, 'a response under way');
  const began = performance.now();
  const stopped = stand.proxy.close(60_000);
  await idle.closed;
  assert.is(busy.socket.readyState, busy.socket.OPEN);
  (end as unknown as () => void)();
  await stopped;
  assert.ok(performance.now() - began < 40_000);
  await busy.closed;
  assert.is(ended(busy), 1);
  assert.equal(endings(stand.kept), ['complete', 'complete']);
});

test('credentials in headers, queries and subprotocols are not kept', async () => {
  const { stand, url } = await openSockets(echoing, { server: { handleProtocols: () => 'realtime' } });
  const client = await socketClient(`${url}?api_key=sk-one&v=1`, {
    headers: {
      Authorization: 'Bearer sk-two',
      Cookie: 'session=sk-three',
      'OpenAI-Beta': 'responses_websockets=2026-02-06',
    },
    protocols: ['realtime', 'openai-insecure-api-key.sk-four'],
  });
  await ask(client, create('Hello'));
  await stand.outcomes(2);
  const text = JSON.stringify(stand.kept.map(({ opened, answered }) => [opened, answered]));
  assert.not.match(text, /sk-/);
  assert.match(text, /responses_websockets=2026-02-06/);
  client.socket.terminate();
});

test('OpenAI’s own client', async () => {
  const { stand } = await openSockets();
  const openai = new OpenAI({ apiKey: 'sk-own', baseURL: `http://127.0.0.1:${stand.port}/openai/v1` });
  const socket = new ResponsesWS(openai, { perMessageDeflate: true });
  const texts: string[] = [];
  socket.on('response.completed', ({ response }) => {
    texts.push(response.id);
    if (texts.length === 1) socket.send({ type: 'response.create', input: 'Two', previous_response_id: response.id });
    else socket.close();
  });
  socket.send({ type: 'response.create', model: 'gpt-5', input: 'One' });
  assert.equal(await stand.outcomes(3), ['openai not_a_turn', 'openai captured', 'openai captured']);
  await until(() => texts.length === 2); // the proxy counts a response before its client has read it
  assert.equal(texts, ['resp_1', 'resp_2']);
  assert.equal(stand.kept.map(textsIn), [['You said: One'], ['You said: Two']]);
});

test.run();
