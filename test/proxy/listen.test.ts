import { createServer } from 'node:net';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { Config } from '../../core/config/schema.ts';
import { OperatorError } from '../../core/errors.ts';
import type { ProxyDeps } from '../../proxy/app.ts';
import { noEgress } from '../../proxy/egress.ts';
import { startProxy } from '../../proxy/listen.ts';
import { openUpstreams } from '../../proxy/upstream.ts';

const test = suite('proxy: listening');
const unused = { config: Config.parse({}), upstreams: openUpstreams(noEgress) } as Partial<ProxyDeps> as ProxyDeps;

test('one free port for all hosts', async () => {
  const proxy = await startProxy(unused, { hosts: ['127.0.0.1', '::1'], port: 0 });
  const ports = proxy.addresses.map((address) => new URL(address).port);
  assert.match(proxy.addresses[0] ?? '', /^http:\/\/127\.0\.0\.1:\d+$/);
  assert.is(new Set(ports).size, 1);
  await proxy.close(0);
});

test('a port that is taken is told as what it is', async () => {
  const holder = createServer();
  const port = await new Promise<number>((resolve) => {
    holder.listen(0, '127.0.0.1', () => resolve((holder.address() as { port: number }).port));
  });
  try {
    await startProxy(unused, { hosts: ['127.0.0.1'], port });
    assert.unreachable();
  } catch (error) {
    assert.instance(error, OperatorError);
    assert.match(
      (error as Error).message,
      new RegExp(`^Cannot listen for the capture proxy on port ${port}: it is taken by another process$`),
    );
  }
  holder.close();
});

test('a way out that cannot be is told at the start', async () => {
  const upstreams = openUpstreams({ ...noEgress, httpsProxy: 'socks5://gate' });
  try {
    await startProxy({ ...unused, upstreams }, { hosts: ['127.0.0.1'], port: 0 });
    assert.unreachable();
  } catch (error) {
    assert.match((error as Error).message, /^Cannot use HTTPS_PROXY/);
  }
});

test.run();
