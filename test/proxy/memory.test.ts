import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import '../support/with-gc.ts';
import { closeStands, openStand, rawClient, until } from './stand.ts';

const test = suite('proxy: memory stays flat');
test.after.each(closeStands);

const MB = 1_048_576;
const piece = Buffer.alloc(MB, 'x');

/** An upstream that counts what it is sent, then sends back as much. */
async function startMill(bytes: number) {
  let taken = 0;
  const server = createServer(async (incoming, outgoing) => {
    for await (const chunk of incoming) taken += (chunk as Buffer).length;
    outgoing.writeHead(200, ['content-type', 'application/octet-stream']);
    for (let sent = 0; sent < bytes; sent += piece.length) {
      if (!outgoing.write(piece)) await new Promise((resolve) => outgoing.once('drain', resolve));
    }
    outgoing.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    taken: () => taken,
    close: () => server.close(),
  };
}

test('200 MB up and 200 MB down, captured, grow the process by less than 64 MB', async () => {
  const total = 200 * MB;
  const mill = await startMill(total);
  const stand = await openStand([], { upstreamUrl: mill.url, capture: { max_body_bytes: MB } });
  const exchange = async (bytes: number) => {
    const call = request({ port: stand.port, host: '127.0.0.1', method: 'POST', path: '/v1/messages', agent: false });
    const answered = new Promise<number>((resolve, reject) => {
      call.on('error', reject);
      call.on('response', async (answer) => {
        let came = 0;
        for await (const chunk of answer) came += (chunk as Buffer).length;
        resolve(came);
      });
    });
    for (let sent = 0; sent < bytes; sent += piece.length) {
      if (!call.write(piece)) await new Promise((resolve) => call.once('drain', resolve));
    }
    call.end();
    return answered;
  };
  await exchange(20 * MB); // what any first call takes
  const before = process.memoryUsage().rss;
  let peak = before;
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().rss);
  }, 5);
  assert.is(await exchange(total), total);
  clearInterval(watch);
  assert.is(mill.taken(), 220 * MB);
  assert.ok(peak - before < 64 * MB, `grew by ${Math.round((peak - before) / MB)} MB`);
  assert.equal(await stand.outcomes(2), ['anthropic over_limit', 'anthropic over_limit']);
  mill.close();
});

test('twenty clients that stop reading hold up their upstreams, and what waits for them is not kept in memory', async () => {
  let sent = 0; // pieces that upstreams have got rid of
  let waiting = 0; // upstreams that may not go on
  const stand = await openStand(
    [
      async (_request, outgoing) => {
        outgoing.writeHead(200, { 'content-type': 'text/event-stream' });
        for (let n = 0; n < 100; n++) {
          sent++;
          if (outgoing.write(piece)) continue;
          waiting++;
          await new Promise((resolve) => outgoing.once('drain', resolve));
          waiting--;
        }
        outgoing.end();
      },
    ],
    { capture: { max_body_bytes: MB } },
  );
  const before = process.memoryUsage().rss;
  const clients = await Promise.all(Array.from({ length: 20 }, () => rawClient(stand.port)));
  for (const { socket, write } of clients) {
    socket.pause();
    write('POST /v1/messages HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}');
  }
  let last = -1;
  await until(() => {
    const still = waiting === clients.length && sent === last;
    last = sent;
    return still;
  }, 'a pause of all upstreams');
  const grown = process.memoryUsage().rss - before;
  assert.ok(sent < 20 * 20, `${sent} MB were taken for clients that read nothing`);
  assert.ok(grown < 64 * MB, `grew by ${Math.round(grown / MB)} MB`);
  for (const { socket } of clients) socket.destroy();
  assert.equal(await stand.outcomes(20), Array(20).fill('anthropic partial'));
  assert.equal(new Set(stand.kept.map(({ closed }) => closed?.ending)), new Set(['client_closed']));
});

test.run();
