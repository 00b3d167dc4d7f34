/** No clock of ours ends a call. Nobody waits minutes to see it: each timer on both connections is made to go off, or is not there. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { closeStands, openStand, rawClient, type Stand, until } from './stand.ts';

/** What passed through this process since the test began: its servers, and its connections by the port that they go to. */
type Seen = { servers: Map<number, Server>; outgoing: Socket[]; accepted: Socket[] };

const test = suite<{ seen: Seen }>('proxy: nothing of ours is in a hurry');
const channels = {
  'net.client.socket': (seen: Seen, { socket }: { socket: Socket }) => seen.outgoing.push(socket),
  'net.server.socket': (seen: Seen, { socket }: { socket: Socket }) => seen.accepted.push(socket),
  'http.server.request.start': (seen: Seen, { server, socket }: { server: Server; socket: Socket }) =>
    seen.servers.set(socket.localPort ?? 0, server),
};

const listeners: [string, (message: unknown) => void][] = [];
test.before.each((context) => {
  context.seen = { servers: new Map(), outgoing: [], accepted: [] };
  for (const [name, note] of Object.entries(channels)) {
    const listener = (message: unknown) => void (note as (seen: Seen, message: unknown) => void)(context.seen, message);
    listeners.push([name, listener]);
    subscribe(name, listener);
  }
});
test.after.each(async () => {
  for (const [name, listener] of listeners.splice(0)) unsubscribe(name, listener);
  await closeStands();
});

const ask = (body = '{}', length = body.length) =>
  `POST /v1/messages HTTP/1.1\r\nHost: h\r\nContent-Length: ${length}\r\n\r\n${body}`;

/** The proxy's end of its connection to a client, and of that to its upstream. */
function endsOf({ outgoing, accepted }: Seen, stand: Stand): { facing: Socket; upwards: Socket } {
  const facing = accepted.findLast(({ localPort, destroyed }) => localPort === stand.port && !destroyed);
  const upwards = outgoing.findLast(({ remotePort, destroyed }) => remotePort === stand.upstream.port && !destroyed);
  if (!facing || !upwards) throw new Error('the connections of the proxy were not seen');
  return { facing, upwards };
}

/** What happens when nothing has passed for as long as each timer runs, be it seconds or hours. */
function waitForever(seen: Seen, stand: Stand): void {
  const { facing, upwards } = endsOf(seen, stand);
  assert.not.ok(facing.timeout, 'no timer runs on the client’s connection');
  upwards.emit('timeout'); // one runs on the upstream’s, for the time when it is idle
  assert.not.ok(upwards.destroyed, 'and does nothing while a call is on it');
}

test('neither before the first byte, nor between two, nor in an upload; on a connection that was used before too', async ({
  seen,
}) => {
  let answering: ServerResponse | undefined;
  const stand = await openStand((_request, index) =>
    index === 0
      ? { body: 'first' }
      : (_again, outgoing) => {
          answering = outgoing;
        },
  );
  const client = await rawClient(stand.port, ask());
  await client.sees('first');
  client.write(ask('ab', 4));
  await until(() => answering !== undefined && stand.upstream.requests[1]?.body.length === 2);
  assert.is(stand.upstream.connections(), 1);
  waitForever(seen, stand); // in the middle of the upload
  client.write('cd');
  await stand.upstream.requests[1]?.whole;
  waitForever(seen, stand); // before the first byte
  answering?.writeHead(200, ['content-type', 'text/event-stream']).write('data: 1\n\n');
  await client.sees('data: 1');
  waitForever(seen, stand); // between two
  answering?.end('data: 2\n\n');
  await client.sees('data: 2');
  assert.equal(await stand.outcomes(2), ['anthropic captured', 'anthropic captured']);
  client.socket.destroy();
});

test('a tunnel may be silent, also on a connection that served a call before', async ({ seen }) => {
  const stand = await openStand([{ body: 'first' }]);
  let theirs: Duplex | undefined;
  stand.upstream.onUpgrade((_incoming, socket) => {
    theirs = socket;
    socket.write('HTTP/1.1 101 Sure\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
    socket.on('data', (bytes) => socket.write(bytes));
    socket.on('end', () => socket.end());
    socket.on('error', () => {});
  });
  const client = await rawClient(stand.port, ask());
  await client.sees('first');
  client.write('GET /x HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
  await client.sees('101 Sure');
  const { facing, upwards } = endsOf(seen, stand);
  for (const socket of [facing, upwards]) socket.emit('timeout');
  client.write('are you there?');
  await client.sees('are you there?');
  client.socket.destroy();
  await until(() => theirs?.destroyed === true);
});

test('the server itself limits only how long a head may take, and keeps idle clients longer than they stay', async ({
  seen,
}) => {
  const stand = await openStand([{ body: 'ok' }]);
  const client = await rawClient(stand.port, ask());
  await client.sees('ok');
  const server = seen.servers.get(stand.port);
  assert.equal([server?.timeout, server?.requestTimeout], [0, 0]);
  assert.ok((server?.headersTimeout ?? 0) >= 60_000);
  assert.ok((server?.keepAliveTimeout ?? 0) > 90_000, 'the clients of Go and Rust keep theirs for 90 s');
  client.socket.destroy();
});

test.run();
