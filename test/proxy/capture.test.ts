import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import type { CallClosed } from '../../core/capture/journal-format.ts';
import { echo, send } from '../support/upstream.ts';
import { answerTo, closeStands, openStand, readAnswer, until } from './stand.ts';

const test = suite('proxy: what is kept, and one outcome for each request');
test.after.each(closeStands);

const request = (method: string, target: string, headers: string[] = [], body = '{}') =>
  [
    `${method} ${target} HTTP/1.1`,
    'Host: h',
    'Connection: close',
    ...headers,
    ...(method === 'GET' || method === 'HEAD' ? ['', ''] : [`Content-Length: ${body.length}`, '', body]),
  ].join('\r\n');

for (const [method, target, outcome] of [
  ['POST', '/v1/messages?beta=true', 'anthropic captured'],
  ['POST', '/anthropic/v1/messages', 'anthropic captured'],
  ['POST', '/openai/v1/chat/completions', 'openai captured'],
  ['POST', '/ollama/v1/chat/completions', 'ollama captured'],
  ['POST', '/v1/messages/count_tokens', 'anthropic not_a_turn'],
  ['POST', '/v1/messages/batches', 'anthropic not_a_turn'],
  ['GET', '/v1/messages', 'anthropic not_a_turn'],
  ['HEAD', '/', 'anthropic not_a_turn'],
  ['OPTIONS', '/v1/messages', 'anthropic not_a_turn'],
  ['DELETE', '/openai/v1/files/x', 'openai not_a_turn'],
  ['GET', '/openai/v1/models', 'openai not_a_turn'],
  ['POST', '/openai/v1/embeddings', 'openai not_a_turn'],
  ['POST', '/openai/v1/responses/resp_1/cancel', 'openai not_a_turn'],
  ['POST', '/openai/v1/responses/input_tokens', 'openai not_a_turn'],
  ['GET', '/openai/v1/responses/compact', 'openai not_a_turn'],
  ['POST', '/openai/v1/responses/compact', 'openai unsupported_format'],
  ['POST', '/openai/v1/threads', 'openai not_a_turn'],
  ['POST', '/openai/v1/threads/thread_1', 'openai not_a_turn'],
  ['POST', '/openai/v1/threads/thread_1/messages/msg_1', 'openai not_a_turn'],
  ['POST', '/openai/v1/threads/thread_1/runs/run_1', 'openai not_a_turn'],
  ['POST', '/openai/v1/threads/thread_1/runs/run_1/cancel', 'openai not_a_turn'],
  ['GET', '/openai/v1/threads/thread_1/runs', 'openai not_a_turn'],
  ['POST', '/openai/v1/threads/thread_1/runs', 'openai unsupported_format'],
  ['POST', '/openai/v1/threads/runs/?stream=true', 'openai unsupported_format'],
  ['POST', '/openai/v1/threads/thread_1/runs/run_1/submit_tool_outputs', 'openai unsupported_format'],
  ['POST', '/gemini/v1/projects/p/locations/l/publishers/google/models/m:rawPredict', 'gemini not_a_turn'],
  [
    'POST',
    '/gemini/v1/projects/p/locations/l/publishers/anthropic/models/claude-sonnet-4-5:rawPredict',
    'gemini unsupported_format',
  ],
  ['POST', '/ollama/api/embed', 'ollama not_a_turn'],
  ['POST', '/ollama/api/show', 'ollama not_a_turn'],
  ['POST', '/api/event_logging/batch', 'anthropic not_a_turn'],
  ['POST', '/openai/v1/responses', 'openai unsupported_format'],
  ['POST', '/openai/v1/completions', 'openai unsupported_format'],
  ['POST', '/ollama/api/chat', 'ollama unsupported_format'],
  ['POST', '/ollama/api/generate', 'ollama unsupported_format'],
  ['POST', '/v1beta/models/gemini-pro:streamGenerateContent?alt=sse', 'anthropic unsupported_format'],
  ['POST', '/v1beta/models/gemini-pro:countTokens', 'anthropic not_a_turn'],
] as const) {
  test(`${method} ${target} is ${outcome}`, async () => {
    const stand = await openStand([{}]);
    assert.is(readAnswer(await answerTo(stand.port, request(method, target))).status, 'HTTP/1.1 200 OK');
    assert.equal(await stand.outcomes(1), [outcome]);
    const captured = outcome.endsWith('captured');
    assert.is(stand.kept.length, captured ? 1 : 0);
    assert.equal(
      stand.recorded.map(({ provider, outcome }) => `${provider} ${outcome}`),
      captured ? [] : [outcome],
    );
  });
}

test('a call is opened before it leaves, with everything but credentials', async () => {
  const stand = await openStand([
    (_request, answering) => {
      assert.is(stand.kept.length, 1);
      send(answering, { body: 'hello' });
    },
  ]);
  const headers = ['x-svc-Harness-id: claude', 'X-Api-Key: sk-ant-1', 'User-Agent: agent/1', 'Accept: a', 'Accept: b'];
  await answerTo(stand.port, request('POST', '/anthropic/v1/messages?beta=true&key=sk-2', headers, '{"a":1}'));
  await stand.outcomes(1);
  const call = stand.kept[0];
  assert.equal(call?.opened, {
    svc_proxy_request_id: 'call-1',
    requested_at: '2026-11-21T09:30:00.000000Z',
    provider: 'anthropic',
    format: 'anthropic.messages',
    method: 'POST',
    url: '/anthropic/v1/messages?beta=true&key=[redacted]',
    headers: [
      ['Host', 'h'],
      ['Connection', 'close'],
      ['x-svc-Harness-id', 'claude'],
      ['X-Api-Key', '[redacted]'],
      ['User-Agent', 'agent/1'],
      ['Accept', 'a'],
      ['Accept', 'b'],
      ['Content-Length', '7'],
    ],
    client_digest: call?.opened.client_digest,
    client_key: '',
    project: '',
    keep: 'full',
  });
  assert.match(call?.opened.client_digest ?? '', /^[0-9a-f]{64}$/);
  assert.is(Buffer.concat(call?.requestChunks ?? []).toString(), '{"a":1}');
  assert.is(Buffer.concat(call?.replied ?? []).toString(), 'hello');
  assert.equal(call?.closed, {
    ending: 'complete',
    last_byte_at: '2026-11-21T09:30:00.000000Z',
    request_bytes: 7,
    response_bytes: 5,
    cut: 'none',
    over_limit: false,
  });
  assert.is(stand.ttfb.length, 1);
});

for (const trusted of [true, false])
  test(`a caller's name is ${trusted ? 'kept where it is trusted' : 'dropped where anybody could have written it'}`, async () => {
    const stand = await openStand(() => ({}), { api: { trust_caller_header: trusted } });
    await answerTo(stand.port, request('POST', '/anthropic/v1/messages', ['X-Svc-Auth-Subject: ann'], '{}'));
    await stand.outcomes(1);
    const names = stand.kept[0]?.opened.headers.map(([name]) => name.toLowerCase());
    assert.is(names?.includes('x-svc-auth-subject'), trusted);
  });

test('planted secrets reach the provider, and nothing that is written', async () => {
  const secret = 'SECRET-4711';
  const stand = await openStand([
    {
      rawHeaders: [
        'set-cookie',
        `s=${secret}`,
        'location',
        `/x?token=${secret}`,
        'x-auth-token',
        secret,
        'content-length',
        '0',
      ],
    },
  ]);
  const names = [
    'authorization',
    'Proxy-authorization',
    'x-api-key',
    'API-KEY',
    'x-goog-api-key',
    'cookie',
    'x-paper-auth',
  ];
  const more = ['x-amz-security-token', 'X-My-Secret', 'ocp-apim-subscription-key', 'X-Password', 'x-access-key'];
  const headers = [...names, ...more].map((name) => `${name}: ${secret}`);
  const target = `http://user:${secret}@h/v1/messages?key=${secret}&API_KEY=${secret}&a=1;token=${secret}&%6bey=${secret}`;
  const answer = await answerTo(stand.port, request('POST', target, headers));
  await stand.outcomes(1);
  assert.ok(answer.includes(`s=${secret}`));
  assert.is(stand.upstream.requests[0]?.headers['x-api-key'], secret);
  assert.ok(stand.upstream.requests[0]?.url.includes(`key=${secret}`));
  assert.is(JSON.stringify(stand.kept).includes(secret), false, JSON.stringify(stand.kept));
});

test('clients are told apart by credential, user agent and project', async () => {
  const stand = await openStand([{}]);
  const clients = [
    ['Authorization: Bearer a', 'User-Agent: x'],
    ['authorization: Bearer a', 'user-agent: x', 'X-Other: y'],
    ['Authorization: Bearer b', 'User-Agent: x'],
    ['Authorization: Bearer a', 'User-Agent: y'],
    ['Authorization: Bearer a', 'User-Agent: x', 'x-svc-project: p'],
    ['x-api-key: a', 'User-Agent: x'],
  ];
  for (const headers of clients) await answerTo(stand.port, request('POST', '/v1/messages', headers));
  const keys = stand.kept.map(({ opened }) => opened.client_digest);
  assert.is(keys[0], keys[1]);
  assert.is(new Set(keys).size, 5);
});

test('capture can be limited by the operator and by the caller, and never widened', async () => {
  for (const [mode, header, outcome, keep] of [
    ['full', 'x-svc-capture: OFF', 'anthropic disabled', undefined],
    ['off', 'x-svc-capture: full', 'anthropic disabled', undefined],
    ['metadata', 'x-svc-capture: full', 'anthropic captured', 'metadata'],
    ['full', 'x-svc-capture: metadata', 'anthropic captured', 'metadata'],
    ['full', 'x-svc-capture: nonsense', 'anthropic captured', 'full'],
  ] as const) {
    const stand = await openStand([{ body: 'hello' }], { capture: { mode } });
    await answerTo(stand.port, request('POST', '/v1/messages', [header]));
    assert.equal(await stand.outcomes(1), [outcome]);
    assert.is(stand.kept[0]?.opened.keep, keep);
    if (keep !== 'metadata') continue;
    assert.equal(stand.kept[0]?.requestChunks, []);
    assert.equal(stand.kept[0]?.replied, []);
    assert.is(stand.kept[0]?.closed?.request_bytes, 2);
    assert.is(stand.kept[0]?.closed?.response_bytes, 5);
    assert.is(stand.kept[0]?.closed?.cut, 'none');
  }
});

test('a full journal changes nothing for the client', async () => {
  const stand = await openStand([{ body: 'hello' }], { journalFull: true });
  assert.is(readAnswer(await answerTo(stand.port, request('POST', '/v1/messages'))).body.toString(), 'hello');
  assert.equal(await stand.outcomes(1), ['anthropic journal_full']);
  assert.is(stand.recorded.length, 1);
});

const inChunks = (...chunks: string[]) =>
  `POST /v1/messages HTTP/1.1\r\nHost: h\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n${chunks
    .map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`)
    .join('')}0\r\n\r\n`;

test('what is too large passes whole and is not kept', async () => {
  const stand = await openStand([echo], { capture: { max_body_bytes: 1024 } });
  const large = 'x'.repeat(5000);
  const chunked = inChunks('a'.repeat(1000), 'b'.repeat(1000));
  assert.is(readAnswer(await answerTo(stand.port, request('POST', '/v1/messages', [], large))).body.length, 5000);
  assert.is(readAnswer(await answerTo(stand.port, chunked)).body.length, 2000);
  assert.equal(await stand.outcomes(2), ['anthropic over_limit', 'anthropic over_limit']);
  for (const { closed } of stand.kept) {
    assert.is(closed?.over_limit, true);
    assert.is(closed?.cut, 'request');
    assert.is(closed?.ending, 'complete');
  }
  assert.ok(Buffer.concat(stand.kept[1]?.requestChunks ?? []).length <= 1024);
});

test('what is too large is that also where there was no room for its beginning', async () => {
  const closed: CallClosed[] = [];
  const copy = { requestBytes: () => false, responseHead: () => {}, responseBytes: () => true };
  const journal = { open: () => ({ ...copy, close: (end: CallClosed) => closed.push(end) }), recordOutcome: () => {} };
  const stand = await openStand([echo], { capture: { max_body_bytes: 1024 }, deps: { journal } });
  assert.is(readAnswer(await answerTo(stand.port, inChunks('a'.repeat(1000), 'b'.repeat(1000)))).body.length, 2000);
  assert.equal(await stand.outcomes(1), ['anthropic over_limit']);
  assert.equal(
    closed.map(({ over_limit, cut, ending }) => [over_limit, cut, ending]),
    [[true, 'request', 'complete']],
  );
});

test('a copy that cannot keep up is partial, and the client does not notice', async () => {
  for (const side of ['request', 'response'] as const) {
    const closed: unknown[] = [];
    const stand = await openStand([{ body: 'hello' }], {
      deps: {
        journal: {
          open: () => ({
            requestBytes: () => side !== 'request',
            responseHead: () => {},
            responseBytes: () => side !== 'response',
            close: (end) => closed.push(end),
          }),
          recordOutcome: () => {},
        },
      },
    });
    assert.is(readAnswer(await answerTo(stand.port, request('POST', '/v1/messages'))).body.toString(), 'hello');
    assert.equal(await stand.outcomes(1), ['anthropic partial']);
    assert.equal(closed, [
      {
        ending: 'overflow',
        last_byte_at: '2026-11-21T09:30:00.000000Z',
        request_bytes: 2,
        response_bytes: 5,
        cut: side,
        over_limit: false,
      },
    ]);
  }
});

test('a request that is refused at the door is not forwarded and has no outcome', async () => {
  const stand = await openStand([{}], {
    deps: { refuse: ({ host }) => (host === 'h' ? { status: 403, message: 'Cannot serve this host' } : null) },
  });
  const answer = readAnswer(await answerTo(stand.port, request('POST', '/openai/v1/chat/completions')));
  assert.is(answer.status, 'HTTP/1.1 403 Forbidden');
  assert.is(JSON.parse(answer.body.toString()).error.message, 'Cannot serve this host');
  const upgrade = 'GET /v1/x HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
  assert.match(readAnswer(await answerTo(stand.port, upgrade)).status, /^HTTP\/1\.1 403 /);
  await answerTo(stand.port, request('GET', '/x').replace('Host: h', 'Host: other'));
  assert.equal(await stand.outcomes(1), ['anthropic not_a_turn']);
  assert.is(stand.upstream.requests.length, 1);
});

test('a bug of ours costs one call and not the process', async () => {
  const stand = await openStand([{}], {
    deps: {
      refuse: ({ host }) => {
        if (host === 'bad') throw new TypeError('sk-secret');
        return null;
      },
    },
  });
  for (const target of ['/plain', '/%direct'])
    assert.is((await answerTo(stand.port, request('GET', target).replace('Host: h', 'Host: bad'))).length, 0);
  const upgrade = 'GET /x HTTP/1.1\r\nHost: bad\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n';
  assert.is((await answerTo(stand.port, upgrade)).length, 0);
  assert.is(readAnswer(await answerTo(stand.port, request('GET', '/x'))).status, 'HTTP/1.1 200 OK');
});

test('bare paths go to the configured upstream, prefixes to their own', async () => {
  const other = await openStand([{ body: 'other' }]);
  const stand = await openStand([{ body: 'own' }], {
    proxy: { provider: 'ollama', upstream: `${other.upstream.url}/base` },
  });
  assert.is(readAnswer(await answerTo(stand.port, request('GET', '/api/tags?x'))).body.toString(), 'other');
  assert.is(other.upstream.requests[0]?.url, '/base/api/tags?x');
  assert.is(stand.counted[0], 'ollama not_a_turn');
  await until(() => stand.counted.length === 1);
});

test.run();
