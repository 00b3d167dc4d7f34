import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { forwardProxyOf, noEgress, proxyAuthorization } from '../../proxy/egress.ts';
import { openUpstreams } from '../../proxy/upstream.ts';
import { cert, key } from './local-tls.ts';

const test = suite('proxy: the way out');

const proxy = 'http://gate.example:3128';
for (const [address, noProxy, through] of [
  ['https://api.example.com', '', true],
  ['https://api.example.com', '*', false],
  ['https://api.example.com', 'other.com', true],
  ['https://api.example.com', 'other.com, example.com', false],
  ['https://api.example.com', '.example.com', false],
  ['https://api.example.com', '*.example.com', false],
  ['https://api.example.com', 'pi.example.com', true],
  ['https://api.example.com', 'API.example.com:443', false],
  ['https://api.example.com', 'api.example.com:8443', true],
  ['https://api.example.com:8443', 'api.example.com:8443', false],
  ['https://[fe80::1]', 'fe80::1', false],
  ['https://[fe80::1]', '[fe80::1]:443', false],
  ['https://10.0.0.7', '10.0.0.7', false],
  ['https://localhost:11434', '', false],
  ['https://127.0.0.1:11434', '', false],
  ['https://[::1]:11434', '', false],
] as const) {
  test(`${address} with NO_PROXY '${noProxy}' goes ${through ? 'through the proxy' : 'straight'}`, () => {
    const found = forwardProxyOf(new URL(address), { httpProxy: '', httpsProxy: proxy, noProxy });
    assert.is(found?.host ?? null, through ? 'gate.example:3128' : null);
  });
}

test('each scheme has its proxy; a bare host is taken for http, anything else refused without telling it', () => {
  const egress = { httpProxy: 'user:p%40ss@gate:1', httpsProxy: 'socks5://secret@gate', noProxy: '' };
  const found = forwardProxyOf(new URL('http://api.example'), egress);
  assert.is(found?.host, 'gate:1');
  assert.is(found && proxyAuthorization(found), `Basic ${Buffer.from('user:p@ss').toString('base64')}`);
  assert.throws(
    () => forwardProxyOf(new URL('https://api.example'), egress),
    (error: Error) => /^Cannot use HTTPS_PROXY/.test(error.message) && !error.message.includes('secret'),
  );
  assert.is(forwardProxyOf(new URL('http://api.example'), noEgress), null);
});

test('plain http goes through a proxy with its whole address', async () => {
  const seen: unknown[] = [];
  const gate = createServer((incoming, outgoing) => {
    seen.push(incoming.url, incoming.headers.host, incoming.headers['proxy-authorization']);
    outgoing.end('through');
  });
  const port = await listening(gate);
  const upstreams = openUpstreams({ ...noEgress, httpProxy: `http://me:pw@127.0.0.1:${port}` });
  const upstream = upstreams.at('http://provider.example/base');
  const body = await new Promise<string>((resolve, reject) => {
    const request = upstream.request('GET', '//x?y=%2F', ['Host', upstream.host]);
    request.on('error', reject);
    request.on('response', (answer) => answer.on('data', (bytes) => resolve(String(bytes))));
    request.end();
  });
  assert.is(body, 'through');
  assert.equal(seen, ['http://provider.example/base//x?y=%2F', 'provider.example', 'Basic bWU6cHc=']);
  upstreams.close();
  gate.close();
});

test('https: straight and through a tunnel, by an authority of one’s own; an unknown one is refused', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-egress-'));
  const extra = join(folder, 'ca.pem');
  await writeFile(extra, cert);
  const requestedUrls: string[] = [];
  const server = createSecureServer({ key, cert }, (incoming, outgoing) => {
    requestedUrls.push(`${incoming.headers.host}${incoming.url}`);
    outgoing.end('secure');
  });
  const port = await listening(server);
  const tunnels: unknown[] = [];
  const gate = createServer().on('connect', (incoming, socket) => {
    tunnels.push(incoming.url, incoming.headers['proxy-authorization']);
    if (incoming.url?.startsWith('forbidden')) {
      socket.end('HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n');
      return;
    }
    const there = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connected\r\n\r\n');
      there.pipe(socket).pipe(there);
    });
  });
  const httpsProxy = `http://me:pw@127.0.0.1:${await listening(gate)}`;
  try {
    assert.is(await askSecurely(`https://localhost:${port}`, {}, extra), '200 secure');
    assert.match(
      await askSecurely(`https://localhost:${port}`, {}, ''),
      /^Cannot reach the upstream https:\/\/localhost:\d+: nobody .* NODE_EXTRA_CA_CERTS .*\(DEPTH_ZERO_SELF_SIGNED_CERT\)$/,
    );
    assert.is(await askSecurely('https://provider.example/v1', { httpsProxy }, extra), '200 secure');
    assert.is(
      await askSecurely('https://forbidden.example', { httpsProxy }, extra),
      'Cannot reach the upstream https://forbidden.example: the forward proxy in between refused the tunnel (EPROXY)',
    );
    assert.equal(requestedUrls, [`localhost:${port}/path?q`, 'provider.example/v1/path?q']);
    assert.equal(tunnels, ['provider.example:443', 'Basic bWU6cHc=', 'forbidden.example:443', 'Basic bWU6cHc=']);
  } finally {
    server.close();
    gate.close();
    await rm(folder, { recursive: true });
  }
});

async function askSecurely(address: string, egress: object, extraAuthorities: string): Promise<string> {
  const script = fileURLToPath(new URL('./ask-securely.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--import', 'tsx', script, address, JSON.stringify(egress)],
    { env: { ...process.env, NODE_EXTRA_CA_CERTS: extraAuthorities } },
  );
  return stdout.trim();
}

const listening = (server: ReturnType<typeof createServer>) =>
  new Promise<number>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });

test.run();
