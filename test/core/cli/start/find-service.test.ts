/** Which addresses belong to a service at `client.proxy_target`, and what does another program learn that listens there? */
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Io } from '../../../../core/cli/io.ts';
import { findService } from '../../../../core/cli/start/find-service.ts';
import { start } from '../../../../core/cli/start/start.ts';
import { loadConfig } from '../../../../core/config/load.ts';

const test = suite('the service at client.proxy_target');
let home = '';
let server: Server;
let address = '';
const heard: { url: string; token: string | undefined }[] = [];
let reply: (url: string) => unknown = () => ({});

test.before(async () => {
  home = mkdtempSync(join(tmpdir(), 'svc-target-'));
  server = createServer((request, response) => {
    heard.push({ url: request.url ?? '', token: request.headers.authorization });
    response.end(JSON.stringify(reply(request.url ?? '')));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
test.before.each(() => {
  heard.length = 0;
});
test.after(() => {
  server.close();
  rmSync(home, { recursive: true });
});

const loaded = (env: Record<string, string>) =>
  loadConfig({ flags: {}, env: { SVC_CLIENT_PROXY_TARGET: address, ...env }, cwd: home, home });
const ioOf = (env: Record<string, string>, shown: string[] = []): Io => ({
  ...{ out: () => {}, err: (text) => void shown.push(text), env: { PATH: '/usr/bin:/bin', ...env }, cwd: home, home },
});
const found = async (env: Record<string, string>) => {
  const { api, ingest, isElsewhere } = await findService(loaded(env), ioOf(env), []);
  return { api, ingest, isElsewhere };
};

test('of one that is not the service of this machine, the local addresses are not its own', async () => {
  assert.equal(await found({}), { api: null, ingest: null, isElsewhere: true });
  const api = 'http://svc.example:8081';
  assert.equal(await found({ SVC_CLIENT_API_TARGET: api }), { api, ingest: null, isElsewhere: true });
});

test('of one that is, they are', async () => {
  const env = { SVC_PROXY_LISTEN: new URL(address).host, SVC_API_LISTEN: '127.0.0.1:41', SVC_INGEST_LISTEN: ':42' };
  const { api, ingest, isElsewhere } = await found(env);
  assert.equal([new URL(api ?? '').port, new URL(ingest ?? '').port, isElsewhere], ['41', '42', false]);
  assert.is(
    (await found({ ...env, SVC_CLIENT_PROXY_TARGET: address.replace('127.0.0.1', 'localhost') })).isElsewhere,
    false,
  );
});

test('the file of a folder names no other machine: the keys of providers would go there', async () => {
  const cwd = join(home, 'cloned');
  mkdirSync(join(cwd, '.svc'), { recursive: true });
  const named = async (target: string, env: Record<string, string> = {}) => {
    writeFileSync(join(cwd, '.svc/config.toml'), `[client]\nproxy_target = "${target}"\napi_target = "${target}"\n`);
    const config = loadConfig({ flags: {}, env, cwd, home });
    const service = await findService(config, { ...ioOf(env), cwd }, []).catch((error: Error) => error.message);
    return typeof service === 'string' ? service : [service.proxy, service.api];
  };
  const refused = await named('https://203.0.113.9');
  assert.match(String(refused), /\/cloned\/\.svc\/config\.toml names 203\.0\.113\.9 as the proxy/);
  assert.match(String(refused), 'set SVC_CLIENT_PROXY_TARGET');
  assert.equal(await named(address), [address, address], 'of this machine it may name any');
  const own = { SVC_CLIENT_PROXY_TARGET: address };
  assert.equal(await named('https://203.0.113.9', own), [address, null], 'nor the read API, which gets the token');
});

const run = async () => {
  const env = { SVC_CLIENT_API_TARGET: address, SVC_API_TOKEN: 'secret-token-of-svc' };
  const shown: string[] = [];
  const load = () => loaded(env);
  const status = await start({ command: 'sh', args: ['-c', 'exit 3'], load, own: [] }, ioOf(env, shown));
  return { status, shown: shown.join('') };
};

test('another program at the address of the read API learns no token, and the exit status stays', async () => {
  reply = () => ({});
  const { status, shown } = await run();
  assert.is(status, 3);
  assert.match(shown, /^svc: recorded; the service at http:\S+ does not say what/);
  assert.ok(heard.length > 0);
  assert.equal(
    heard.filter(({ token }) => token !== undefined),
    [],
  );
});

test('a list of sessions that reads differently costs no exit status either', async () => {
  const settled = { journal: { oldest_seconds: 0 }, derive: { queued: 0 } };
  for (const page of [{ sessions: [] }, { items: [{ id: 'x' }] }]) {
    reply = (url) => (url === '/ping' ? 'pong' : url.startsWith('/v1/sessions') ? page : settled);
    const { status, shown } = await run();
    assert.is(status, 3);
    assert.match(shown, 'does not say what');
  }
});

test.run();
