/** Copied commands, run in a real shell against real servers: what arrives is what was recorded. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { UPSTREAMS } from '../../../../../../core/provider/provider-ids.ts';
import { providers } from '../../../../../../core/provider/providers.ts';
import {
  curlCommand,
  type ReplayedTurn,
  resumeCommand,
  verifyCommand,
} from '../../../../../../core/web/client/pages/session/copy-as.ts';
import { upstreamOf } from '../../../../../../core/web/client/pages/session/upstreams.ts';

type Arrived = { method: string; url: string; headers: [string, string][]; body: string };

const test = suite('copied commands');
const run = promisify(execFile);

/** A server that is provider and read API in one, and the requests that it took. */
async function startServer(body: Buffer) {
  const arrived: Arrived[] = [];
  const server = createServer((request, response) => {
    void answer(request).then((bytes) => response.end(bytes));
  });
  async function answer(request: IncomingMessage): Promise<Buffer> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { rawHeaders } = request;
    const headers = rawHeaders.flatMap((name, i): [string, string][] =>
      i % 2 === 0 ? [[name, rawHeaders[i + 1] ?? '']] : [],
    );
    arrived.push({
      method: request.method ?? '',
      url: request.url ?? '',
      headers,
      body: Buffer.concat(chunks).toString('utf8'),
    });
    return request.url?.startsWith('/v1/raw_turns/') ? body : Buffer.from('answered');
  }
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { base, arrived, close: () => server.close() };
}

/** Runs the command with the provider's address replaced by the server's, as bash types it. */
async function typed(command: string, provider: string, base: string, env: Record<string, string> = {}) {
  const line = command.replace(upstreamOf(provider)?.address ?? '', base);
  const { stdout } = await run('bash', ['--norc', '-c', line], { env: { PATH: process.env.PATH, ...env } });
  return stdout;
}

const turn = (fields: Partial<ReplayedTurn> = {}): ReplayedTurn => ({
  raw_turn_id: 41,
  provider: 'anthropic',
  method: 'POST',
  url: '/v1/messages?beta=true',
  headers: [
    ['Host', 'localhost:8080'],
    ['X-Api-Key', '[redacted]'],
    ['anthropic-version', '2023-06-01'],
    ['Content-Type', 'application/json'],
    ['content-length', '17'],
    ['Accept-Encoding', 'gzip, br'],
    ['connection', 'keep-alive, x-hop'],
    ['x-hop', 'of one connection'],
    ['x-svc-harness-id', 'claude'],
    ['proxy-authorization', '[redacted]'],
    ['anthropic-beta', 'first'],
    ['anthropic-beta', 'it\'s second; $(touch /tmp/never) `id` "x" !! \\n'],
    ['x-empty', ''],
  ],
  ...fields,
});

test('a piped call: the body byte for byte, headers in their order, the credential from the environment', async () => {
  const body = Buffer.from(JSON.stringify({ text: `it's "${'x'.repeat(200_000)}" \u202e é ␛ $HOME` }));
  const { base, arrived, close } = await startServer(body);
  const command = curlCommand(turn(), { api: base, needsToken: true }) ?? '';
  assert.match(command, /^curl -fsS -H 'authorization: Bearer '"\$SVC_API_TOKEN" /);
  const env = { ANTHROPIC_API_KEY: 'sk-ant-1', SVC_API_TOKEN: 'sesame' };
  assert.is(await typed(command, 'anthropic', base, env), 'answered');
  close();
  const [read, sent] = arrived;
  assert.is(read?.url, '/v1/raw_turns/41/request?as=decoded');
  assert.equal(
    read?.headers.find(([name]) => name.toLowerCase() === 'authorization'),
    ['authorization', 'Bearer sesame'],
  );
  assert.is(sent?.method, 'POST');
  assert.is(sent?.url, '/v1/messages?beta=true');
  assert.is(sent?.body, body.toString('utf8'));
  assert.equal(
    sent?.headers.filter(([name]) => !['Host', 'Content-Length'].includes(name)),
    [
      ['X-Api-Key', 'sk-ant-1'],
      ['anthropic-version', '2023-06-01'],
      ['Content-Type', 'application/json'],
      ['anthropic-beta', 'first'],
      ['anthropic-beta', 'it\'s second; $(touch /tmp/never) `id` "x" !! \\n'],
      ['x-empty', ''],
    ],
  );
});

test('a short body is in the command itself, and curl adds no header of its own', async () => {
  const body = '{"text":"it\'s $(id) \\u001b Ἀθῆναι 日本 \\"!\\""}';
  const { base, arrived, close } = await startServer(Buffer.from(''));
  const command = curlCommand(turn({ headers: [['x-api-key', '[redacted]']] }), { api: base, needsToken: false, body });
  assert.not.match(command ?? '', '|');
  await typed(command ?? '', 'anthropic', base, { ANTHROPIC_API_KEY: 'k' });
  close();
  assert.is(arrived.length, 1);
  assert.is(arrived[0]?.body, body);
  assert.equal(
    arrived[0]?.headers.map(([name]) => name.toLowerCase()),
    ['host', 'x-api-key', 'content-length'],
  );
});

test('a body with characters that a terminal acts on is piped, and one that begins with @ is no file', async () => {
  const piped = curlCommand(turn(), { api: 'http://127.0.0.1:1', needsToken: false, body: '{"a":"\u001b[201~rm"}' });
  assert.match(piped ?? '', '--data-binary @-');
  assert.ok(!(piped ?? '').includes('\u001b'));
  const { base, arrived, close } = await startServer(Buffer.from(''));
  const command = curlCommand(turn({ headers: [] }), { api: base, needsToken: false, body: '@/etc/hostname' });
  await typed(command ?? '', 'anthropic', base);
  close();
  assert.is(arrived[0]?.body, '@/etc/hostname');
});

test('a header with bytes above ASCII arrives with the same bytes', async () => {
  const { base, arrived, close } = await startServer(Buffer.from(''));
  const headers: ReplayedTurn['headers'] = [['x-name', "caf\xe9\t'x'\\"]];
  await typed(curlCommand(turn({ headers }), { api: base, needsToken: false, body: '{}' }) ?? '', 'anthropic', base);
  close();
  assert.is(arrived[0]?.headers.find(([name]) => name === 'x-name')?.[1], "caf\xe9\t'x'\\");
});

test('a key in the address is a variable, and brackets are not expanded', async () => {
  const url = '/v1beta/models/g:generateContent?key=[redacted]&x=[1-3]{a,b}';
  const { base, arrived, close } = await startServer(Buffer.from(''));
  const command = curlCommand(turn({ provider: 'gemini', url, headers: [] }), {
    api: base,
    needsToken: false,
    body: '{}',
  });
  await typed(command ?? '', 'gemini', base, { GEMINI_API_KEY: 'g-1' });
  close();
  assert.equal(
    arrived.map((one) => one.url),
    ['/v1beta/models/g:generateContent?key=g-1&x=[1-3]{a,b}'],
  );
});

test('a bearer keeps its scheme; a credential of an unknown name gets a variable that no other program has', () => {
  const headers: ReplayedTurn['headers'] = [
    ['Authorization', '[redacted]'],
    ['aws-secret-access-key', '[redacted]'],
    ['x-mixed', 'a [redacted] b'],
  ];
  const command = curlCommand(turn({ headers }), { api: 'http://h', needsToken: false }) ?? '';
  assert.match(command, `-H 'Authorization: Bearer '"$ANTHROPIC_AUTH_TOKEN"`);
  assert.match(command, `-H 'aws-secret-access-key: '"$REPLAY_AWS_SECRET_ACCESS_KEY"`);
  assert.match(command, `-H 'x-mixed: a '"$REPLAY_X_MIXED"' b'`);
});

test("the prefix by which a client names its provider to the proxy is not part of the provider's path", () => {
  const addressOf = (url: string) =>
    /https:\/\/[^' ]+/.exec(curlCommand(turn({ url }), { api: 'http://h', needsToken: false }) ?? '')?.[0];
  for (const [url, path] of [
    ['/anthropic/v1/messages', '/v1/messages'],
    ['/anthropic?beta=true', '/?beta=true'],
    ['/anthropics/v1', '/anthropics/v1'],
    ['/openai/v1', '/openai/v1'],
  ] as const)
    assert.is(addressOf(url), `https://api.anthropic.com${path}`);
});

test('the address of whoever ingested a turn never receives a credential', () => {
  for (const url of ['https://evil.example/v1/messages', '//evil.example/v1', 'http:evil.example', '/@evil.example/']) {
    const command = curlCommand(turn({ url }), { api: 'http://h', needsToken: false }) ?? '';
    assert.match(command, /curl -sS -g --path-as-is '?https:\/\/api\.anthropic\.com\//, url);
  }
  for (const url of ['@evil.example/', '.evil.example/', '', 'mailto:x'])
    assert.is(curlCommand(turn({ url }), { api: 'http://h', needsToken: false }), null, url);
});

test('a header whose name is no token reaches no command, since curl would read a file', () => {
  const headers: ReplayedTurn['headers'] = [
    ['@/etc/passwd', 'x'],
    ['a b', 'x'],
    ['x-lines', 'a\r\nb'],
    [':path', '/'],
  ];
  assert.not.match(
    curlCommand(turn({ headers }), { api: 'http://h', needsToken: false }) ?? '',
    /passwd|a b|x-lines|:path/,
  );
});

test('there is none for an unknown provider, a method that is none, and a WebSocket', () => {
  const source = { api: 'http://h', needsToken: false };
  assert.is(curlCommand(turn({ provider: 'constructor' }), source), null);
  assert.is(curlCommand(turn({ provider: undefined }), source), null);
  assert.is(curlCommand(turn({ method: 'PO ST' }), source), null);
  assert.is(curlCommand(turn({ headers: [['Sec-WebSocket-Key', 'x']] }), source), null);
});

test('the addresses are those of the providers', () => {
  for (const { id, keyHeader } of providers) {
    assert.is(upstreamOf(id)?.address, UPSTREAMS[id]);
    if (keyHeader) assert.ok(upstreamOf(id)?.credentials[keyHeader]);
  }
});

test('a conversation is resumed in its harness, if it has an id that is one', () => {
  const id = '019fa57e-6d3c-7a51-8a1c-5f2a9f1f7b20';
  assert.is(resumeCommand('claude', id), `claude --resume ${id}`);
  assert.is(resumeCommand('codex', id), `codex resume ${id}`);
  assert.is(resumeCommand('pi', id), null);
  assert.is(resumeCommand('claude', 'x; rm -rf ~'), null);
  assert.is(resumeCommand('claude', '--dangerously-skip-permissions'), null);
  assert.is(verifyCommand(id), `svc verify ${id}`);
});

test.run();
