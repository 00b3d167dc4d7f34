/** The addresses that a parent holds: nobody accepts from them there, and they outlive each process that does. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { holdAddress } from '../../../../core/cli/serve/held-addresses.ts';

const test = suite('held addresses');

/** A process that accepts from an inherited socket and sends each client its pid. */
async function listener(fd: number): Promise<ChildProcess> {
  const program = `require('node:net').createServer((s) => s.end(String(process.pid))).listen({ fd: 4 }, () => process.send('up'))`;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'inherit', 'inherit', 'ipc', fd] });
  await once(child, 'message');
  return child;
}

const received = (url: string): Promise<string> =>
  new Promise((done, fail) => {
    const { hostname, port } = new URL(url);
    let text = '';
    connect(Number(port), hostname.replace(/[[\]]/g, ''))
      .on('data', (chunk) => {
        text += chunk;
      })
      .on('end', () => done(text))
      .on('error', (error: NodeJS.ErrnoException) => fail(new Error(error.code)));
  });

const end = async (child: ChildProcess) => {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
};

test('a connection that comes while no process accepts waits for the next one; after the release it is refused', async () => {
  const held = await holdAddress('127.0.0.1:0', 'test listener');
  const [url = ''] = held.urls;
  assert.is(await received(url).catch(({ message }) => message), 'ECONNREFUSED', 'nobody has listened yet');
  const first = await listener(held.fds[0] ?? -1);
  assert.is(await received(url), String(first.pid));
  await end(first);
  const waiting = received(url);
  const next = await listener(held.fds[0] ?? -1);
  assert.is(await waiting, String(next.pid));
  held.release();
  assert.is(await received(url), String(next.pid), 'who listens goes on');
  await end(next);
  assert.is(await received(url).catch(({ message }) => message), 'ECONNREFUSED');
});

test('one free port for both loopback families', async () => {
  const held = await holdAddress(':0', 'test listener');
  const ports = held.urls.map((url) => new URL(url).port);
  assert.match(held.urls[0] ?? '', /^http:\/\/127\.0\.0\.1:\d+$/);
  assert.is(new Set(ports).size, 1);
  held.release();
});

test('a port that is taken is refused with a remedy, and a host of elsewhere with its reason', async () => {
  const holder = createServer();
  await new Promise<void>((ready) => holder.listen(0, '127.0.0.1', ready));
  const { port } = holder.address() as { port: number };
  const refusal = (listen: string, flag?: string) =>
    holdAddress(listen, 'read API', flag).catch(({ message }) => message);
  assert.match(
    await refusal(`127.0.0.1:${port}`, '--api-listen'),
    new RegExp(
      `^Cannot listen for the read API on port ${port}: it is taken by another process; stop that one .* or say --api-listen 127\\.0\\.0\\.1:\\d+$`,
    ),
  );
  assert.match(await refusal(`127.0.0.1:${port}`), /it is taken by another process$/);
  assert.match(await refusal('192.0.2.1:0'), /the host is no address of this machine$/);
  assert.match(await refusal('no-such-host.invalid:0'), /the host is unknown$|EAI_AGAIN$/);
  holder.close();
});

test.run();
