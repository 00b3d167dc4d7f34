/** Does a provider's own client understand what we answer in its provider's place, and read in it what went wrong? */
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import Anthropic from '@anthropic-ai/sdk';
import { Ollama } from 'ollama';
import OpenAI from 'openai';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { Answering } from '../support/upstream.ts';
import { cert, key } from './local-tls.ts';
import { answerTo, closeStands, openStand, readAnswer } from './stand.ts';

const test = suite('proxy: an upstream that fails, as its own client sees it');
test.after.each(closeStands);

type ClientError = { class: string; status: number | undefined; type: unknown; message: string };

const messages = [{ role: 'user' as const, content: 'Hello' }];

/** Each asks once, streamed as agents do, and gives what it threw. */
const clients: Record<string, (proxy: string) => Promise<unknown>> = {
  anthropic: (proxy) =>
    new Anthropic({ baseURL: `${proxy}/anthropic`, apiKey: 'k', maxRetries: 0 }).messages
      .stream({ model: 'm', max_tokens: 9, messages })
      .finalMessage(),
  'openai, chat': (proxy) =>
    new OpenAI({ baseURL: `${proxy}/openai/v1`, apiKey: 'k', maxRetries: 0 }).chat.completions
      .stream({ model: 'm', messages })
      .finalChatCompletion(),
  'openai, responses': (proxy) =>
    new OpenAI({ baseURL: `${proxy}/openai/v1`, apiKey: 'k', maxRetries: 0 }).responses
      .stream({ model: 'm', input: 'Hello' })
      .finalResponse(),
  ollama: (proxy) => new Ollama({ host: `${proxy}/ollama` }).chat({ model: 'm', messages, stream: true }),
};

async function thrownBy(client: string, proxy: string): Promise<ClientError> {
  const error = await clients[client]?.(proxy).then(
    () => assert.unreachable('there was an answer'),
    (thrown: unknown) => thrown,
  );
  const { status, status_code, type, error: body, message } = error as Record<string, unknown>;
  const words = (body as { error?: { message: string } })?.error?.message ?? message;
  return {
    class: (error as Error).constructor.name,
    status: (status ?? status_code) as number,
    type: type ?? null,
    message: String(words).replace(/^502 /, ''),
  };
}

const understood: Record<string, Omit<ClientError, 'message'>> = {
  anthropic: { class: 'InternalServerError', status: 502, type: 'api_error' },
  'openai, chat': { class: 'InternalServerError', status: 502, type: 'upstream_error' },
  'openai, responses': { class: 'InternalServerError', status: 502, type: 'upstream_error' },
  ollama: { class: 'ResponseError', status: 502, type: null },
};

const hangsUp: Answering = (_request, answering) => answering.socket?.destroy() as never;
const talksNonsense: Answering = (_request, answering) => answering.socket?.end('SSH-2.0-OpenSSH\r\n') as never;

const failures: Record<string, { script: Answering[]; upstreamUrl?: string; reason: RegExp }> = {
  'refuses connections': { script: [], upstreamUrl: 'http://127.0.0.1:9', reason: /refuses .*\(ECONNREFUSED\)$/ },
  'has a name that is unknown': {
    script: [],
    upstreamUrl: 'http://provider.invalid',
    reason: /host name .*\((ENOTFOUND|EAI_AGAIN)\)$/,
  },
  'hangs up without a word': { script: [hangsUp], reason: /closed the connection .*\(ECONNRESET\)$/ },
  'talks something else': { script: [talksNonsense], reason: /not HTTP \(HPE_INVALID_CONSTANT\)$/ },
};

for (const [what, { script, reason, ...options }] of Object.entries(failures)) {
  test(`one that ${what}`, async () => {
    const stand = await openStand(script, options);
    for (const [client, expected] of Object.entries(understood)) {
      const { message, ...error } = await thrownBy(client, `http://127.0.0.1:${stand.port}`);
      assert.equal(error, expected, client);
      assert.match(message, reason, client);
      assert.match(message, /^Cannot reach the upstream https?:\/\/[\w.-]+(:\d+)?: /, client);
    }
  });
}

test('one that cannot prove who it is, and one that does not speak TLS', async () => {
  const server = createServer({ key, cert }, (_incoming, outgoing) => outgoing.end('secure'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const { port } = server.address() as AddressInfo;
    const stranger = await openStand([], { upstreamUrl: `https://127.0.0.1:${port}` });
    const plain = await openStand([{}]);
    const deaf = await openStand([], { upstreamUrl: plain.upstream.url.replace('http:', 'https:') });
    for (const [client, expected] of Object.entries(understood)) {
      const untrusted = await thrownBy(client, `http://127.0.0.1:${stranger.port}`);
      assert.match(untrusted.message, /NODE_EXTRA_CA_CERTS .*\(DEPTH_ZERO_SELF_SIGNED_CERT\)$/, client);
      const unsecured = await thrownBy(client, `http://127.0.0.1:${deaf.port}`);
      assert.match(unsecured.message, /does not speak TLS \(E[A-Z_]+\)$/, client);
      for (const { message: _, ...error } of [untrusted, unsecured]) assert.equal(error, expected, client);
    }
    assert.is(plain.upstream.requests.length, 0);
  } finally {
    server.close();
  }
});

test('the answer is a document of its own, that ends and leaves the connection open for the next call', async () => {
  const stand = await openStand([], { upstreamUrl: 'http://127.0.0.1:9' });
  const ask = 'POST /openai/v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n';
  const twice = await answerTo(stand.port, `${ask}\r\n{}${ask}Connection: close\r\n\r\n{}`);
  const { status, headers, body } = readAnswer(twice);
  assert.is(status, 'HTTP/1.1 502 Bad Gateway');
  assert.ok(headers.includes('Content-Type: application/json'));
  assert.is(twice.toString().split('HTTP/1.1 502 Bad Gateway').length, 3, 'both were answered');
  const length = Number(headers.find((line) => /^content-length/i.test(line))?.split(' ')[1]);
  assert.is(JSON.parse(body.subarray(0, length).toString()).error.code, null);
  assert.equal(await stand.outcomes(2), ['openai partial', 'openai partial']);
});

test.run();
