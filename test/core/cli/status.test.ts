/** `svc status` as an operator meets it: with the service up, down, locked, or with somebody else on its ports. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { publishService } from '../../../core/cli/running-service.ts';
import { printStatus } from '../../../core/cli/status.ts';
import { keys } from '../../../core/config/keys.ts';
import { loadConfig } from '../../../core/config/load.ts';
import { lockFolder } from '../../../core/db/client/folder-lock.ts';
import { statusExample } from '../../../core/model/status.ts';
import type { Json } from '../../support/read-api.ts';
import { emptyFolder, removeFolder, type Service, startService } from '../../support/serve.ts';

const test = suite('svc status');
const TOKEN = 'planted-token-1';

let folder = '';
let service: Service;
test.before(async () => {
  folder = await emptyFolder();
  service = await startService(folder, { SVC_API_TOKEN: TOKEN });
});
test.after(async () => {
  await service?.stop();
  await removeFolder(folder);
});

type StatusInput = { flags?: Record<string, string>; env?: Record<string, string>; json?: boolean; cwd?: string };

/** Ports that nobody listens on, unless `flags` say otherwise. */
async function status({ flags = {}, env = {}, json = false, cwd = folder }: StatusInput) {
  let out = '';
  const nowhere = { 'proxy.listen': ':1', 'api.listen': ':2', 'ingest.listen': ':3' };
  const loaded = loadConfig({ flags: { ...nowhere, ...flags }, env, cwd, home: cwd });
  const code = await printStatus(loaded, { json }, { out: (text) => (out += text) }, '0.1.0');
  return { code, out: stripVTControlCharacters(out) };
}

const portOf = (address: string) => `:${new URL(address).port}`;
const there = () => ({
  'proxy.listen': portOf(service.proxy),
  'api.listen': portOf(service.api),
  'ingest.listen': portOf(service.ingest),
});

/** What listens on a loopback port for as long as `work` takes. */
async function listening<T>(server: Server, work: (address: string) => Promise<T>): Promise<T> {
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready));
  const { port } = server.address() as AddressInfo;
  try {
    return await work(`127.0.0.1:${port}`);
  } finally {
    await new Promise((closed) => server.close(closed));
  }
}
const web = (answer: RequestListener) => createServer({ keepAliveTimeout: 1 }, answer);

test('what is up is told with its address, the figures with their units', async () => {
  const { code, out } = await status({ flags: there(), env: { SVC_API_TOKEN: TOKEN } });
  assert.is(code, 0, out);
  assert.match(out, /^svc \d+\.\d+\.\d+ is running\n/);
  assert.match(out, `capture proxy   ${service.proxy}`);
  assert.match(out, /read API +http:\/\/localhost:\d+ +up for \d+ s\n/);
  assert.match(out, /ingest API +http:\/\/localhost:\d+ +up\n/);
  assert.match(out, `data            ${join(folder, '.svc', 'data')}\n`);
  assert.match(out, /journal +[\d.]+ (bytes|kB) on disk, of at most 1\.1 GB\n/);
  assert.match(out, /turns +0 turns in 0 sessions\n/);
  assert.match(out, /derivation +nothing waits; rules of version \d+\n/);
  assert.match(out, /disk +[\d.]+ MB with all logs, growth not known until a day was measured; [\d.]+ [GT]B free\n/);
  assert.match(out, /database +PostgreSQL 18\.\d+, embedded, [\d.]+ MB on disk\n/);
  assert.not.match(out, 'cannot be worked out');
});

test('settings are told with where they come from, secrets as [redacted], defaults not at all', async () => {
  const cwd = await emptyFolder();
  mkdirSync(join(cwd, '.svc'));
  writeFileSync(join(cwd, '.svc', 'config.toml'), '[proxy]\nproject = "apollo"\nprovider = "ollama"\n');
  const { out } = await status({ cwd, flags: { 'log.level': 'debug' }, env: { SVC_API_TOKEN: TOKEN } });
  const settings = out.slice(out.indexOf('Settings'));
  assert.match(settings, /api\.token +\[redacted\] +SVC_API_TOKEN\n/);
  assert.match(settings, new RegExp(`proxy\\.project +apollo +${join(cwd, '.svc', 'config.toml')}\n`));
  assert.match(settings, /log\.level +debug +--log-level\n/);
  assert.not.match(settings, 'proxy.provider');
  assert.not.match(settings, 'journal.max_bytes');
  await removeFolder(cwd);
});

test('no secret is ever printed, on the page or in the document, up or down', async () => {
  const secrets = keys.filter(({ secret }) => secret);
  assert.ok(secrets.length >= 3);
  const OTHERS: Record<string, string> = {
    'api.token': TOKEN,
    'telemetry.headers': 'x-key=planted-word',
    'budget.webhook': 'http://localhost:1/planted-word',
  };
  const planted = (path: string) => OTHERS[path] ?? 'postgres://somebody:planted-word@db.internal:5432/turns';
  const env = Object.fromEntries(secrets.flatMap(({ env, path }) => (env ? [[env, planted(path)]] : [])));
  const nowhere = {};
  for (const flags of [nowhere, there()])
    for (const json of [false, true]) {
      const { out } = await status({ flags, env, json });
      assert.not.match(out, 'planted');
      assert.match(out, '[redacted]');
      if (flags === nowhere) assert.match(out, 'PostgreSQL at db.internal:5432/turns');
    }
});

test('a service that was started with other settings is told apart', async () => {
  const env = { SVC_API_TOKEN: TOKEN, SVC_STORAGE_POSTGRES_DSN: 'postgres://svc@db.internal/turns' };
  const { out } = await status({ flags: there(), env });
  assert.match(out, 'it uses the embedded database, these say a PostgreSQL server');
});

test('from the folder of a service on other ports, that service is found without a word about them', async () => {
  const loaded = loadConfig({ flags: {}, env: { SVC_API_TOKEN: TOKEN }, cwd: folder, home: folder });
  let out = '';
  assert.is(await printStatus(loaded, { json: false }, { out: (text) => (out += text) }, '0.1.0'), 0);
  const page = stripVTControlCharacters(out);
  for (const address of [service.proxy, service.api, service.ingest]) assert.match(page, address);
  assert.not.match(page, 'down');
});

test('from another folder, the service that answers is described: its folder, data, listeners and settings', async () => {
  const cwd = await emptyFolder();
  mkdirSync(join(cwd, '.svc'));
  writeFileSync(join(cwd, '.svc', 'config.toml'), '[proxy]\nproject = "apollo"\n[journal]\nmax_bytes = 268435456\n');
  const flags = { 'client.api_target': service.api };
  const { code, out } = await status({ cwd, flags, env: { SVC_API_TOKEN: TOKEN } });
  assert.is(code, 0, out);
  assert.match(out, `folder          ${join(folder, '.svc')}, not ${join(cwd, '.svc')}\n`);
  assert.match(out, `data            ${join(folder, '.svc', 'data')}\n`);
  assert.match(out, `capture proxy   ${service.proxy} `);
  assert.match(out, new RegExp(`ingest API +${service.ingest} +up\n`));
  assert.match(out, 'of at most 1.1 GB');
  const settings = out.slice(out.indexOf('Settings'));
  assert.match(settings, /api\.listen +:0 +SVC_API_LISTEN\n/);
  assert.not.match(settings, 'apollo');
  await removeFolder(cwd);
});

test('where a service that was killed has listened is not asked any more', async () => {
  const cwd = await emptyFolder();
  const killed = await startService(cwd);
  await killed.kill();
  assert.ok(existsSync(join(cwd, '.svc', 'service.json')));
  assert.match((await status({ cwd })).out, /read API +http:\/\/localhost:2 +down/);
  const again = await startService(cwd);
  assert.is(await again.stop(), 0);
  assert.not.ok(existsSync(join(cwd, '.svc', 'service.json')), 'and one that stops takes it back');
  await removeFolder(cwd);
});

test('down: not running, where the data lie, and what waits in the journal', async () => {
  const cwd = await emptyFolder();
  const run = join(cwd, '.svc', 'journal', '019aa5f0-8f1a-7c33-9d0e-3a6f5e0b7c11');
  mkdirSync(run, { recursive: true });
  writeFileSync(join(run, '00000001.seg'), Buffer.alloc(1_234_567));
  writeFileSync(join(run, '00000002.seg'), Buffer.alloc(1_000));
  const { code, out } = await status({ cwd });
  assert.is(code, 1);
  assert.match(out, /^svc 0\.1\.0: not running\n/);
  assert.match(out, /read API +http:\/\/localhost:2 +down: nobody listens there\n/);
  assert.match(out, `data            ${join(cwd, '.svc', 'data')}\n`);
  assert.match(
    out,
    'journal         1.2 MB on disk; what of it is not in the database yet comes there at the next start\n',
  );
  await removeFolder(cwd);
});

test('up without its database: its data lie where it has them, and what waits in the journal comes there by itself', async () => {
  const cwd = await emptyFolder();
  const own = join(cwd, '.svc');
  const run = join(own, 'journal', '019aa5f0-8f1a-7c33-9d0e-3a6f5e0b7c11');
  mkdirSync(run, { recursive: true });
  writeFileSync(join(run, '00000001.seg'), Buffer.alloc(3_800));
  const unlock = await lockFolder(own);
  await listening(standIn({ code: 'database-unavailable' }, 503), async (address) => {
    const published = publishService(
      own,
      { proxy: [], api: [address], ingest: [] },
      { data: 'PostgreSQL at db.example/svc' }, // as its DSN was a flag, which these settings do not have
    );
    published.update([{ name: 'service', state: 'up', pid: 1, since: '2026-07-27T09:12:31Z', restarts: 0 }]);
    const { code, out } = await status({ flags: { 'api.listen': address }, cwd });
    assert.is(code, 1);
    assert.match(out, 'data            PostgreSQL at db.example/svc\n');
    assert.match(out, 'journal         3.8 kB on disk; what of it is not in the database yet comes there by itself\n');
  });
  await unlock();
  await removeFolder(cwd);
});

test('a half of it up: the read API is named as what does not run', async () => {
  const { code, out } = await status({ flags: { ...there(), 'api.listen': ':2' }, env: { SVC_API_TOKEN: TOKEN } });
  assert.is(code, 1);
  assert.match(out, /^svc 0\.1\.0: the read API is not running\n/);
  assert.match(out, /ingest API +http:\/\/localhost:\d+ +up\n/);
});

test('a token that is missing or wrong is said to be so', async () => {
  const missing = await status({ flags: there() });
  assert.is(missing.code, 1);
  assert.match(missing.out, /^svc is running, and does not tell its status\n/);
  assert.match(missing.out, 'api.token is missing');
  const wrong = await status({ flags: there(), env: { SVC_API_TOKEN: 'planted-token-2' } });
  assert.is(wrong.code, 1);
  assert.match(wrong.out, 'api.token is wrong');
  assert.not.match(wrong.out, 'planted');
});

test('another program on a port is said to be one, and never learns the token', async () => {
  const heard: string[] = [];
  const server = web((request, response) => {
    heard.push(`${request.url} ${request.headers.authorization ?? 'nothing'}`);
    response.end('<h1>It works!</h1>');
  });
  await listening(server, async (address) => {
    const { code, out } = await status({ flags: { 'api.listen': address }, env: { SVC_API_TOKEN: TOKEN } });
    assert.is(code, 1);
    assert.match(out, /not running/);
    assert.match(out, `http://${address}`);
    assert.match(out, /read API .*another program answers there, which is not svc\n/);
    assert.equal(heard, ['/ping nothing']);
    assert.match((await status({ flags: { 'ingest.listen': address } })).out, /ingest API .*another program/);
  });
});

test('a redirect of /ping is no answer, and is not followed', async () => {
  const elsewhere: string[] = [];
  await listening(
    web((request, response) => {
      elsewhere.push(request.url ?? '');
      response.end('"pong"');
    }),
    (target) =>
      listening(
        web((_request, response) => response.writeHead(302, { location: `http://${target}/ping` }).end()),
        async (address) => {
          assert.match((await status({ flags: { 'api.listen': address } })).out, /read API .*another program/);
        },
      ),
  );
  assert.equal(elsewhere, []);
});

test('what speaks no HTTP is another program; what says nothing is told apart within seconds', async () => {
  const chatty = createTcpServer((socket) =>
    socket
      .on('error', () => {})
      .resume()
      .end('SSH-2.0-OpenSSH_9.2\r\n'),
  );
  await listening(chatty, async (address) => {
    assert.match((await status({ flags: { 'api.listen': address } })).out, /read API .*another program/);
  });
  const mute = createTcpServer((socket) => socket.on('error', () => {}).resume());
  await listening(mute, async (address) => {
    const { code, out } = await status({ flags: { 'api.listen': address } });
    assert.is(code, 1);
    assert.match(out, /read API .*takes connections, and does not answer\n/);
    assert.match(out, 'The read API is stuck');
  });
});

/** A read API that says what a test wants it to say. */
const standIn = (answer: Json, code = 200) =>
  web((request, response) => {
    response.writeHead(request.url === '/ping' ? 200 : code, { 'content-type': 'application/json' });
    response.end(request.url === '/ping' ? '"pong"' : JSON.stringify(answer));
  });

test('what waits and what was given up is told with what to do about it', async () => {
  const now = new Date().toISOString();
  const answer = {
    ...statusExample,
    parked_sessions: statusExample.parked_sessions.map((one) => ({ ...one, parked_at: now })),
    derive: { ...statusExample.derive, queued: 3, parked: 42, lag_seconds: 65.2 },
  };
  await listening(standIn(answer), async (address) => {
    const { code, out } = await status({ flags: { 'api.listen': address } });
    assert.is(code, 0);
    assert.match(out, 'derivation      3 sessions wait, the longest for 1 min; rules of version 1\n');
    assert.match(out, '42 sessions cannot be worked out:\n');
    assert.match(out, /7d1c9f9e-\S+ {2}RangeError in 8 attempts, given up \d s ago {2}claude\/0b0e7d0c/);
    assert.match(out, '  and 41 before these\n');
    assert.match(out, 'POST /v1/admin/derive/run with {"session_id": "<id>"}');
    assert.match(out, '1 turn could not be stored:\n');
    assert.match(out, /019aa5f0-\S+ {2}DatabaseError 22P05, .* ago, 18\.2 kB\n/);
    assert.match(out, 'requests        9,900 came in: 9,790 captured, 13 partial, 96 not_a_turn, 1 poison\n');
    assert.match(out, 'about 31,046 spans in 1,377 traces, 20,118 nodes\n');
    assert.match(out, 'find            31,040 of 31,046 spans in the index of texts so far\n');
    assert.match(out, 'up for 3 h 12 min\n');
    assert.match(out, 'extensions      vector 0.8.0\n');
  });
});

test('cassettes: how far their background work is, why a run failed, and why one is not in', async () => {
  const at = new Date().toISOString();
  const one = { state: 'admitted', since: at, isolation: 'inline' };
  const list = {
    cassettes: [
      { ...one, name: 'export' },
      {
        ...{ ...one, name: 'search', progress: { done: 1204, pending: 35, failed: 2 } },
        last_run: { scheduled_at: at, ended_at: at, error: 'Cannot embed:\u001b[2J no answer' },
      },
      { ...one, name: 'skills', state: 'rejected' },
    ],
    problems: [{ subject: 'skills', reason: 'Cannot take it: it changed' }],
  };
  const server = web((request, response) => {
    const answers: Record<string, Json> = { '/ping': 'pong', '/v1/admin/status': statusExample, '/v1/cassettes': list };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answers[request.url ?? '']));
  });
  await listening(server, async (address) => {
    const { code, out } = await status({ flags: { 'api.listen': address } });
    assert.is(code, 0);
    const section = out.slice(out.indexOf('Cassettes:'), out.indexOf('Settings'));
    assert.match(section, 'search          1,204 done, 35 waiting, 2 failed\n');
    assert.match(section, /search {10}its last run, \d s ago, failed: Cannot embed:\ufffd\[2J no answer\n/);
    assert.match(section, 'skills          rejected: Cannot take it: it changed\n');
    assert.not.match(section, 'export');
    const json: Json = JSON.parse((await status({ flags: { 'api.listen': address }, json: true })).out);
    assert.equal(json.cassettes.cassettes[1].progress, { done: 1204, pending: 35, failed: 2 });
  });
});

test('growth and what is left of the disk are told, and an older service without them is read too', async () => {
  const { disk, find: _, ...older } = statusExample;
  for (const [answer, line] of [
    [statusExample, /disk +477 MB with all logs, 12\.6 MB more each day; 210 GB free, enough for 16,725 days\n/],
    [
      { ...older, disk: { ...disk, growth_bytes_per_day: -1, days_left: undefined } },
      /logs, not growing; 210 GB free\n/,
    ],
    [{ ...statusExample, find: { spans: 7, spans_indexed: 7 } }, /find +all of 7 spans in the index of texts\n/],
    [older, /database +PostgreSQL/],
  ] as const)
    await listening(standIn(answer), async (address) => {
      const { code, out } = await status({ flags: { 'api.listen': address } });
      assert.is(code, 0, out);
      assert.match(out, line);
    });
});

test('what clients have named cannot write on the terminal', async () => {
  const [parked] = statusExample.parked_sessions;
  const name = '\u001b]0;owned\u0007\u001b[2J\r\u202e';
  const answer = { ...statusExample, parked_sessions: [{ ...parked, harness_session_id: name, error: name }] };
  let raw = '';
  await listening(standIn(answer), async (address) => {
    const loaded = loadConfig({ flags: { 'api.listen': address }, env: {}, cwd: folder, home: folder });
    await printStatus(loaded, { json: false }, { out: (text) => (raw += text) }, '0.1.0');
  });
  assert.match(raw, 'owned');
  for (const sign of ['\u001b]', '\u001b[2J', '\u0007', '\r', '\u202e']) assert.not(raw.includes(sign));
});

test('a status that cannot be had: why is told, for each kind of answer', async () => {
  const cases: [Json, number, string][] = [
    [{ code: 'database-unavailable' }, 503, 'the service cannot reach its database'],
    [{ code: 'route-unknown' }, 404, 'the service is of another version, which has none'],
    [{ version: '9.0.0' }, 200, 'whose status reads differently'],
    [null, 200, 'whose status reads differently'],
    [{}, 500, 'the service answers with 500'],
  ];
  for (const [answer, code, reason] of cases)
    await listening(standIn(answer, code), async (address) => {
      const { code, out } = await status({ flags: { 'api.listen': address } });
      assert.is(code, 1);
      assert.match(out, reason);
    });
});

test('--json is one document: what is up, the status, the configuration without its secrets', async () => {
  const up = await status({ flags: there(), env: { SVC_API_TOKEN: TOKEN }, json: true });
  assert.is(up.code, 0);
  const document: Json = JSON.parse(up.out);
  assert.equal(document.up, { proxy: true, api: true, ingest: true });
  assert.is(document.status.database.kind, 'embedded');
  assert.equal(document.listeners.api, { address: service.api, state: 'up' });
  assert.is(document.config.api.token, '[redacted]');
  assert.is(document.config.capture.mode, 'full');
  assert.is(document.config_from['api.token'], 'SVC_API_TOKEN');
  assert.equal(document.remarks, []);

  const down: Json = JSON.parse((await status({ json: true })).out);
  assert.equal(down.up, { proxy: false, api: false, ingest: false });
  assert.is(down.status, null);
});

test('a port that the system chooses cannot be known, unless client.api_target tells it', async () => {
  const unknown = await status({ flags: { 'api.listen': ':0' } });
  assert.is(unknown.code, 1);
  assert.match(unknown.out, 'whether it is running is not known');
  const flags = { 'api.listen': ':0', 'client.api_target': service.api, 'client.proxy_target': service.proxy };
  const { code, out } = await status({ flags, env: { SVC_API_TOKEN: TOKEN } });
  assert.is(code, 0, out);
  assert.match(out, `capture proxy   ${service.proxy}`);
});

test('an address for all hosts is asked on this machine', async () => {
  await listening(standIn(statusExample), async (address) => {
    const port = address.slice(address.lastIndexOf(':'));
    const { code, out } = await status({ flags: { 'api.listen': `0.0.0.0${port}` } });
    assert.is(code, 0);
    assert.match(out, `http://${address}`);
  });
});

test('it loads neither a server nor a database', () => {
  const packages = new Set<string>();
  const seen = new Set<string>();
  const walk = (file: string) => {
    if (seen.has(file)) return;
    seen.add(file);
    const text = readFileSync(file, 'utf8');
    for (const [, type, from = ''] of text.matchAll(/^(?:import|export) (type )?[^;]*?from '([^']+)';/gm)) {
      if (type) continue;
      if (from.startsWith('.')) walk(resolve(dirname(file), from));
      else if (!from.startsWith('node:')) packages.add(from);
    }
  };
  walk(resolve(import.meta.dirname, '../../../core/cli/status.ts'));
  assert.ok(seen.size > 5);
  assert.equal([...packages].sort(), ['picocolors', 'zod/mini']);
});

test.run();
