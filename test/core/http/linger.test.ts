import { Readable } from 'node:stream';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { lingering } from '../../../core/http/linger.ts';

const test = suite('lingering');

const MIB = 1024 * 1024;

const endless = (size: number, everyMs: number) => {
  let sent = 0;
  const chunk = Buffer.alloc(size);
  const stream = new Readable({
    read() {
      setTimeout(() => {
        sent += size;
        this.push(chunk);
      }, everyMs);
    },
  });
  return { stream, sent: () => sent };
};

test('the text leaves at once, its end when all has been sent', async () => {
  const sender = new Readable({ read() {} });
  const reader = lingering('no', sender).getReader();
  assert.is(Buffer.from((await reader.read()).value ?? []).toString(), 'no');
  let ended = false;
  const end = reader.read().then(({ done }) => {
    ended = done;
  });
  sender.push('more');
  await new Promise((done) => setTimeout(done, 50));
  assert.not.ok(ended);
  sender.push(null);
  await end;
  assert.ok(ended);
});

test('it ends for who has sent everything, or left', async () => {
  const sent = Readable.from(['all']);
  for await (const _ of sent);
  const left = new Readable({ read() {} }).destroy();
  const leaving = new Readable({ read() {} });
  const answers = [sent, left, leaving].map((sender) => new Response(lingering('no', sender)).text());
  leaving.destroy(new Error('reset'));
  assert.equal(await Promise.all(answers), ['no', 'no', 'no']);
});

test('an endless sender is dropped after 64 MiB, a slow one after two seconds', async () => {
  const fast = endless(MIB, 0);
  assert.is(await new Response(lingering('no', fast.stream)).text(), 'no');
  assert.ok(fast.sent() <= 70 * MIB, String(fast.sent()));
  const slow = endless(1, 10);
  assert.is(await new Response(lingering('no', slow.stream)).text(), 'no');
  for (const { stream } of [fast, slow]) stream.destroy();
});

test('whose answer is given up is no longer listened to', async () => {
  const sender = new Readable({ read() {} });
  await lingering('no', sender).cancel();
  assert.equal([sender.listenerCount('data'), sender.listenerCount('end'), sender.listenerCount('close')], [0, 0, 0]);
});

test.run();
