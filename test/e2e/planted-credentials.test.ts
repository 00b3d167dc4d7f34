/** Credentials go through the whole service in every place where calls carry them, and are looked for in all that it writes and says. */
import { cp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { brotliDecompressSync } from 'node:zlib';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { WebSocket } from 'ws';
import { openPool } from '../../core/db/client/server.ts';
import { openDatabase } from '../../core/db/open.ts';
import { openLog } from '../../core/log.ts';
import { answerTo } from '../proxy/stand.ts';
import { cassetteFolder, removeCassetteFolder } from '../support/cassette-folder.ts';
import { emptyServerDatabase, startTestThread, templateFolder } from '../support/databases.ts';
import { CREDENTIALS, KEPT_WORD, leaksIn, linesAt } from '../support/planted-credentials.ts';
import { rawSql } from '../support/raw-sql.ts';
import { echoing, socketProvider } from '../support/responses-socket.ts';
import { emptyFolder, eventually, removeFolder, type Service, startService, svc } from '../support/serve.ts';
import { type Answering, startUpstream } from '../support/upstream.ts';

type Row = Record<string, unknown>;
type Sql = (text: string) => Promise<Row[]>;

const test = suite('planted credentials');
const CLOSED_PORT = 9;

/** The paths that are captured, each with the least that its provider answers. */
const ANSWERS: Record<string, object> = {
  '/anthropic/v1/messages': {
    ...{ type: 'message', role: 'assistant', model: 'm', content: [{ type: 'text', text: 'Hello.' }] },
    ...{ stop_reason: 'end_turn', usage: { input_tokens: 3, output_tokens: 2 } },
  },
  '/openai/v1/chat/completions': {
    ...{ object: 'chat.completion', model: 'm' },
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello.' }, finish_reason: 'stop' }],
  },
  '/openai/v1/responses': {
    ...{ id: 'resp_1', object: 'response', status: 'completed', model: 'm' },
    output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Hello.' }] }],
  },
  '/gemini/v1beta/models/gemini-pro:generateContent': {
    candidates: [{ content: { role: 'model', parts: [{ text: 'Hello.' }] }, finishReason: 'STOP', index: 0 }],
  },
  '/api/chat': { model: 'm', message: { role: 'assistant', content: 'Hello.' }, done: true },
  '/api/generate': { model: 'm', response: 'Hello.', done: true },
};
const UNSUPPORTED = '/anthropic/v1/complete';
const CALLS = Object.keys(ANSWERS).length + 1; // and one on a socket

const answering: Answering = async (request, outgoing) => {
  await request.whole;
  const head = ['Content-Type: application/json', `X-Kept: ${KEPT_WORD}-answered`, ...linesAt('answer')];
  outgoing.writeHead(
    200,
    head.flatMap((line) => line.split(/: (.*)/s).slice(0, 2)),
  );
  const path = Object.keys(ANSWERS).find((known) =>
    request.url.includes(known.replace(/^\/(anthropic|gemini|openai)/, '')),
  );
  const body = JSON.stringify(ANSWERS[path ?? ''] ?? {});
  outgoing.write(body.slice(0, 1));
  outgoing.addTrailers(linesAt('answer-trailer').map((line) => line.split(': ', 2) as [string, string]));
  outgoing.end(body.slice(1));
};

const query = () => ['beta=true', ...linesAt('query')].join('&');

/** Each in a session of its own. */
const session = (path: string) => [
  'x-svc-harness-id: planted',
  `x-svc-harness-session-id: ${path.replaceAll('/', '-')}`,
];

/** A call with a credential in each place that a request has. */
function request(path: string, { method = 'POST', host = '127.0.0.1', more = [] as string[] } = {}): string {
  const body = '{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"Hi."}],"input":"Hi.","prompt":"Hi."}';
  const address = `http://${linesAt('address').join('')}api.example`;
  return [
    `${method} ${address}${path}?${query()}#${linesAt('fragment').join('&')} HTTP/1.1`,
    `Host: ${host}`,
    'Connection: close',
    `X-Kept: ${KEPT_WORD}-asked`,
    ...session(path),
    ...linesAt('request'),
    ...more,
    'Transfer-Encoding: chunked',
    '',
    body.length.toString(16),
    body,
    '0',
    ...linesAt('trailer'),
    '',
    '',
  ].join('\r\n');
}

/** A turn as a gateway posts it, with a credential in each place that it has beside its bodies. */
async function post({ ingest }: Service): Promise<void> {
  const object = (members: string[]) => `{${members.join(',')}}`;
  const body = object([
    '"provider":"anthropic"',
    '"request":{"model":"m","messages":[{"role":"user","content":"Hi."}]}',
    `"raw_response":"${Buffer.from(JSON.stringify(ANSWERS['/anthropic/v1/messages'])).toString('base64')}"`,
    `"meta":${object(['"upstream_status":200', `"kept":"${KEPT_WORD}-asked ${KEPT_WORD}-answered"`, ...linesAt('ingest-meta')])}`,
    `"session":${object(['"harness_id":"planted"', '"harness_session_id":"ingested"', ...linesAt('ingest-session')])}`,
    ...linesAt('ingest-turn'),
  ]);
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${ingest}/v1/ingest`, { method: 'POST', headers, body });
  assert.is(response.status, 202, await response.text());
}

/** One response on a socket whose protocols carry a key, as browsers have to send it. */
async function askOnSocket(proxy: string): Promise<void> {
  const lines = [`X-Kept: ${KEPT_WORD}-asked`, ...session('socket'), ...linesAt('request')];
  const headers: Record<string, string[]> = {};
  for (const line of lines) {
    const [name = '', value = ''] = line.split(/: (.*)/s);
    headers[name] = [...(headers[name] ?? []), value]; // some are repeated
  }
  const protocols = ['realtime', ...linesAt('socket')];
  const socket = new WebSocket(`${proxy.replace('http', 'ws')}/openai/v1/responses?${query()}`, protocols, {
    headers: headers as unknown as Record<string, string>, // Node sends a line for each of a list
  });
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));
  const answered = new Promise<void>((resolve) =>
    socket.on('message', (event) => {
      if (String(event).includes('response.completed')) resolve();
    }),
  );
  socket.send(JSON.stringify({ type: 'response.create', model: 'gpt-5', input: 'Hi.' }));
  await answered;
  socket.close();
}

/** What the proxy answers by itself, and tells its log: no way up, a stranger's host, nonsense, more than it takes. */
async function answersOfItsOwn(port: number): Promise<Buffer> {
  const asks = [
    request('/ollama/api/chat'),
    request('/ollama/api/tags', { method: 'PUT' }),
    request('/anthropic/v1/messages', { host: 'evil.example' }),
    request('/anthropic/v1/messages', { more: ['X-No Header: 1'] }),
    request('/anthropic/v1/messages', { more: [`X-Long: ${'x'.repeat(200_000)}`] }),
    `GET /openai/v1/responses?${query()} HTTP/1.1\r\nHost: evil.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${linesAt('request').join('\r\n')}\r\n\r\n`,
  ];
  return Buffer.concat(await Promise.all(asks.map((ask) => answerTo(port, ask))));
}

/** The read API's every word on what it has, once it has what was posted and what went through the socket. */
async function readEverything({ api }: Service): Promise<string> {
  const get = async (path: string) => (await fetch(`${api}${path}`)).text();
  const { items } = JSON.parse(await get('/v1/sessions')) as { items: { id: string }[] };
  if (items.length < CALLS + 1) return ''; // not yet
  const pages = ['/v1/sessions', '/v1/traces', '/v1/stats', '/v1/coverage', '/metrics', '/v1/browse/sessions'];
  const each = items.flatMap(({ id }) => [
    `/v1/sessions/${id}`,
    `/v1/sessions/${id}/traces?payload=full`,
    `/v1/sessions/${id}/raw_turns?include=payload`,
  ]);
  const words: string[] = [];
  for (const path of [...pages, ...each]) words.push(await get(path)); // of those with payloads few are read at once
  return words.join('\n');
}

/** What a cassette without `forward_auth` is handed of a request that a caller of the read API sends it. */
async function seenByCassette({ api }: Service): Promise<Buffer> {
  const lines = [...linesAt('request'), `X-Kept: ${KEPT_WORD}-asked`, 'Connection: close'];
  const head = `GET /v1/cassettes/notes/seen?${query()} HTTP/1.1\r\nHost: 127.0.0.1\r\n${lines.join('\r\n')}\r\n\r\n`;
  const port = Number(new URL(api).port);
  return eventually('an answer of the cassette', async () => {
    const answer = await answerTo(port, head);
    return answer.includes('200 OK') && answer;
  });
}

const filesBelow = async (folder: string): Promise<Buffer> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => readFile(join(entry.parentPath, entry.name)));
  return Buffer.concat(await Promise.all(files));
};

/** Every row of every table and what is packed in it. */
async function dump(sql: Sql): Promise<Buffer> {
  const tables = await sql(`select quote_ident(schemaname) || '.' || quote_ident(tablename) as name from pg_tables
                             where schemaname not in ('pg_catalog', 'information_schema')`);
  const pieces: Buffer[] = [];
  for (const { name } of tables) {
    for (const { line } of await sql(`select to_jsonb(t)::text as line from ${name} t`)) {
      const text = String(line);
      pieces.push(
        Buffer.from(text),
        ...[...text.matchAll(/\\\\x((?:[0-9a-f]{2})+)/g)].map(([, hex]) => unpacked(hex ?? '')),
      );
    }
  }
  return Buffer.concat(pieces);
}

function unpacked(hex: string): Buffer {
  const bytes = Buffer.from(hex, 'hex');
  try {
    return brotliDecompressSync(bytes);
  } catch {
    return bytes; // it is not packed
  }
}

async function dumpOf(folder: string, dsn: string): Promise<Buffer> {
  if (dsn !== '') {
    const pool = openPool({ dsn, pooled: false, size: 1 });
    return dump((text) => rawSql(pool.sqlFor(60_000), { text, params: [] })).finally(pool.close);
  }
  const log = openLog('silent');
  const database = await openDatabase({
    ...{ dsn, pooled: false, log, statementTimeoutMs: 60_000, startThread: startTestThread },
    folder: join(folder, '.svc'),
  });
  const ask = database.execute as unknown as (name: string, args: unknown) => Promise<Row[]>;
  return dump((text) => ask('rawSql', { text, params: [] })).finally(database.close);
}

async function plantAndLook(dsn: string): Promise<void> {
  const upstream = await startUpstream([answering]);
  const head = [`X-Kept: ${KEPT_WORD}-answered`, ...linesAt('answer')];
  upstream.onUpgrade(socketProvider(echoing, {}, head).answer);
  const folder = await emptyFolder();
  if (dsn === '') await cp(join(await templateFolder(), 'data'), join(folder, '.svc', 'data'), { recursive: true });
  const source = await cassetteFolder({
    before: "if (path.endsWith('/seen')) return json([request.url, ...request.headers]);",
  });
  const added = await svc(
    folder,
    ['cassette', 'add', source, '--yes'],
    dsn === '' ? {} : { SVC_STORAGE_POSTGRES_DSN: dsn },
  );
  assert.is(added.status, 0, added.out + added.err);
  const settings = linesAt('settings').map((line) => `${line}127.0.0.1:${CLOSED_PORT}`);
  try {
    const service = await startService(folder, {
      SVC_PROXY_UPSTREAMS_ANTHROPIC: upstream.url,
      SVC_PROXY_UPSTREAMS_GEMINI: upstream.url,
      SVC_PROXY_UPSTREAMS_OPENAI: upstream.url,
      SVC_PROXY_PROVIDER: 'ollama',
      SVC_PROXY_UPSTREAM: upstream.url,
      SVC_PROXY_UPSTREAMS_OLLAMA: 'http://model.example',
      SVC_STORAGE_POSTGRES_DSN: dsn,
      SVC_LOG_LEVEL: 'trace',
      HTTP_PROXY: settings[0] ?? '',
    });
    const port = Number(new URL(service.proxy).port);
    const paths = [...Object.keys(ANSWERS), UNSUPPORTED];
    const passed = await Promise.all(paths.map((path) => answerTo(port, request(path))));
    await askOnSocket(service.proxy);
    await post(service);
    const refusals = await answersOfItsOwn(port);
    const seen = await seenByCassette(service);
    assert.ok(seen.includes(`${KEPT_WORD}-asked`) && seen.includes('beta=true') && seen.includes('chat.example'));
    assert.equal(leaksIn(seen), [], 'what a cassette is handed');
    const words = await eventually('all sessions in the read API', async () => {
      const all = await readEverything(service);
      return all.split(`${KEPT_WORD}-asked`).length > CALLS + 1 && all.includes('You said: Hi.') && all;
    });
    const journal = await filesBelow(join(folder, '.svc', 'journal'));
    assert.is(await service.stop(), 0);
    const stored = await dumpOf(folder, dsn);

    const meant = (...places: string[]) =>
      CREDENTIALS.filter(({ place, line }) => places.includes(place) && !/^(Proxy-|x-svc-)/.test(line)).map(
        ({ where }) => where,
      );
    const answered = meant('answer', 'answer-trailer');
    for (const [n, bytes] of passed.entries()) assert.equal(leaksIn(bytes), answered, paths[n]);
    for (const { url, rawHeaders, rawTrailers } of upstream.requests)
      assert.equal(
        leaksIn(Buffer.from(JSON.stringify([url, rawHeaders, rawTrailers]))),
        meant('request', 'query', 'fragment', 'trailer'),
        `what the provider got at ${url.slice(0, 20)}`,
      );
    assert.is(upstream.requests.length, paths.length);
    assert.is(refusals.toString().match(/HTTP\/1\.1 (502|403|400|431) /g)?.length, 6, refusals.toString());

    for (const [where, bytes] of Object.entries({
      'the journal': journal,
      'the dump of the database': stored,
      'all that the read API says': Buffer.from(words),
    })) {
      assert.ok(bytes.includes(`${KEPT_WORD}-asked`) && bytes.includes(`${KEPT_WORD}-answered`), `calls in ${where}`);
      assert.equal(leaksIn(bytes), [], where);
    }
    assert.match(service.log(), /Cannot reach the upstream/);
    assert.equal(leaksIn(Buffer.from(service.log() + service.banner)), [], 'the log');
    assert.equal(leaksIn(refusals), [], 'the answers of the proxy itself');
    assert.equal(leaksIn(await filesBelow(folder)), [], 'every file that is left');
  } finally {
    await upstream.close();
    await removeFolder(folder);
    await removeCassetteFolder(source);
  }
}

test('there are at least 133 placements, in every place of a call', () => {
  console.log(
    `planted credentials: ${CREDENTIALS.length} placements in calls of ${CALLS + 1} kinds, and on the way to a cassette`,
  );
  assert.ok(CREDENTIALS.length >= 133);
  assert.is(new Set(CREDENTIALS.map(({ secret }) => secret)).size, CREDENTIALS.length);
});

test('they pass, and are nowhere in journal, database, log, read API and error answers (embedded)', () =>
  plantAndLook(''));

const cluster = process.env.SVC_TEST_DSN ?? '';
if (cluster === '') console.log('skip: planted credentials (server): SVC_TEST_DSN is not set');
else {
  test('they pass, and are nowhere in journal, database, log, read API and error answers (server)', async () => {
    const { dsn, drop } = await emptyServerDatabase(cluster);
    await plantAndLook(dsn).finally(drop);
  });
}

test.run();
