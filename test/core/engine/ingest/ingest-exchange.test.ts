/** A body of the ingest API is the exchange that its sender captured, byte for byte; what is wrong with it is said without quoting it. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { readAnswer } from '../../../../core/call/read-answer.ts';
import { skeletonOf, sliceBody } from '../../../../core/capture/slices.ts';
import { type Ingested, ingestExchange } from '../../../../core/engine/ingest/ingest-exchange.ts';
import { formatById } from '../../../../core/provider/formats.ts';
import { fixtureFolder } from '../../../support/fixtures.ts';

type Turn = Extract<Ingested, { kind: 'turn' }>;

const NOW = '2026-11-21T12:00:00.000000Z';
const reply = { message: { role: 'assistant', content: [{ type: 'text', text: 'hi' }] }, stop_reason: 'end_turn' };
const turn = { provider: 'anthropic', request: { messages: [] }, response: reply };
const raw = (text: string) => Buffer.from(text).toString('base64');

/** Bodies that are no text are posted as JSON. */
const posted = (body: unknown, subject: string | null = null): Ingested =>
  ingestExchange(typeof body === 'string' ? Buffer.from(body) : Buffer.from(JSON.stringify(body)), {
    identityKey: Buffer.from('key'),
    newId: () => 'minted',
    now: () => NOW,
    subject,
  });

function taken(body: unknown, subject: string | null = null): Turn {
  const ingested = posted(body, subject);
  if (ingested.kind === 'malformed') throw new Error(ingested.error);
  return ingested;
}
const exchangeOf = (body: unknown) => taken(body).exchange;
const withMeta = (meta: unknown) => exchangeOf({ ...turn, meta });
const identityOf = (body: unknown, skeleton: Record<string, unknown> | null = null) => taken(body).identityOf(skeleton);
const textOf = (bytes: Uint8Array) => Buffer.from(bytes).toString();
const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

const test = suite('ingest exchange');

test('a turn with nothing told but request and answer', () => {
  const { exchange, unusable } = taken(turn);
  const { client_key, request, response, ...rest } = exchange;
  assert.is(unusable, null);
  assert.match(client_key, /^[0-9a-f]{64}$/);
  assert.is(textOf(request), '{"messages":[]}');
  assert.is(textOf(response), JSON.stringify(reply));
  assert.equal(rest, {
    svc_proxy_request_id: null,
    request_id: 'minted',
    provider: 'anthropic',
    format: 'anthropic.messages',
    method: 'POST',
    url: '/v1/messages',
    status: 200,
    ending: 'complete',
    requested_at: NOW,
    last_byte_at: NOW,
    first_byte_at: null,
    request_bytes: 15,
    request_headers: [],
    response_bytes: Buffer.byteLength(JSON.stringify(reply)),
    response_headers: [['content-type', 'application/vnd.svc.reply+json']],
    keep: 'full',
    whole: true,
    meta: {},
  });
});

test('what is no turn is malformed, and the sentence names the member', () => {
  const session = (envelope: unknown) => ({ ...turn, session: envelope });
  for (const [body, why] of [
    ['', 'it is no JSON'],
    ['secret', 'it is no JSON'],
    ['{"provider":"secret"', 'it is no JSON'],
    ['{"provider":"anthropic","request":{secret}}', 'it is no JSON'],
    ['"secret"', 'it is no JSON object'],
    ['null', 'it is no JSON object'],
    [[turn], 'it is no JSON object'],
    [{}, 'provider is no string'],
    [{ ...turn, provider: 7 }, 'provider is no string'],
    [{ ...turn, provider: null }, 'provider is no string'],
    [{ ...turn, request: undefined }, 'request is missing'],
    [{ ...turn, agent_name: 7 }, 'agent_name is no string'],
    [{ ...turn, meta: 'secret' }, 'meta is no object'],
    [{ ...turn, meta: ['secret'] }, 'meta is no object'],
    [{ ...turn, meta: { request_id: 7 } }, 'meta.request_id is no string'],
    [{ ...turn, raw_response: 7 }, 'raw_response is no string'],
    [{ ...turn, raw_response: 'secret!' }, 'raw_response is no base64'],
    [{ ...turn, raw_response: 'YQ' }, 'raw_response is no base64'],
    [{ ...turn, raw_response_encoding: ['gzip'] }, 'raw_response_encoding is no string'],
    [{ ...turn, raw_response_withheld: 'yes' }, 'raw_response_withheld is no boolean'],
    [session('secret'), 'session is no object'],
    [session([]), 'session is no object'],
    [session({ org_id: 'secret' }), 'session.org_id is no UUID'],
    [session({ org_id: 7 }), 'session.org_id is no UUID'],
    [session({ harness_id: 7 }), 'session.harness_id is no string'],
    [session({ harness_session_id: {} }), 'session.harness_session_id is no string'],
    [session({ cwd: ['secret'] }), 'session.cwd is no string'],
    [session({ parent_harness_session_id: '' }), 'session.parent_harness_session_id is empty'],
    [session({ harness_metadata: 'secret' }), 'session.harness_metadata is no object'],
    [session({ harness_metadata: ['secret'] }), 'session.harness_metadata is no object'],
  ] as const) {
    assert.equal(posted(body), { kind: 'malformed', error: `Cannot read the turn: ${why}` }, JSON.stringify(body));
  }
});

test('null says what absence says', () => {
  const nulls = {
    agent_name: null,
    raw_response: null,
    raw_response_encoding: null,
    raw_response_withheld: null,
    meta: null,
    session: null,
  };
  const session = Object.fromEntries(
    ['harness_id', 'harness_session_id', 'parent_harness_session_id', 'cwd', 'name', 'org_id', 'harness_metadata'].map(
      (key) => [key, null],
    ),
  );
  const bare = taken(turn);
  for (const body of [
    { ...turn, ...nulls },
    { ...turn, session, meta: { request_id: null, path: null } },
  ]) {
    const { exchange, identityOf: identityWith } = taken(body);
    assert.equal({ ...exchange, meta: {} }, bare.exchange);
    assert.equal(identityWith(null), bare.identityOf(null));
  }
});

test('a turn that nobody can read is kept, and why is said', () => {
  const zeros = { model: '', created_at: '0001-01-01T00:00:00Z', message: { role: '', content: null }, done: false };
  const noAnswer = 'neither raw_response nor response gives an answer';
  for (const [body, why] of [
    [{ ...turn, provider: 'secret' }, 'its provider is unknown'],
    [{ ...turn, provider: '' }, 'its provider is unknown'],
    [{ ...turn, provider: 'OpenAI' }, 'its provider is unknown'],
    [{ ...turn, request: '{"messages":[]}' }, 'its request is no JSON object'],
    [{ ...turn, request: null }, 'its request is no JSON object'],
    [{ ...turn, request: [1] }, 'its request is no JSON object'],
    [{ ...turn, response: undefined }, noAnswer],
    [{ ...turn, response: null }, noAnswer],
    [{ ...turn, response: zeros }, noAnswer],
    [{ ...turn, response: zeros, raw_response: '', raw_response_withheld: true }, noAnswer],
  ] as const) {
    const { exchange, unusable } = taken(body);
    assert.is(unusable, `Cannot read the turn: ${why}`, JSON.stringify(body));
    assert.is(textOf(exchange.request), JSON.stringify(body.request));
  }
});

test('an unknown provider keeps its name, as far as one can print it', () => {
  const provider = (name: string) => exchangeOf({ ...turn, provider: name }).provider;
  assert.is(provider(' my\u0000 gate\u001bway é'), 'my gateway');
  assert.is(provider('x'.repeat(1000)), 'x'.repeat(64));
  assert.is(provider('\ud800\u0007'), 'unknown');
  assert.is(exchangeOf({ ...turn, provider: 'x' }).format, null);
});

test('the request is the bytes that stand in the body', () => {
  const request = '{ "messages" :[ ],\n"n": 1.50, "a":1, "a":2, "\\u0000": "\\ud800\\/" }';
  const of = (body: string) => textOf(exchangeOf(body).request);
  assert.is(of(`{"provider":"anthropic", "request" : ${request} ,"response":{}}`), request);
  assert.is(of(`{"requ\\u0065st":${request},"provider":"anthropic"}`), request, 'however its name is spelt');
  assert.is(of(`{"request":1,"provider":"anthropic","request":${request}}`), request, 'the last one counts');
  assert.is(of(`\uFEFF{"request":${request},"provider":"openai"}`), request);
  const notUtf8 = Buffer.concat([
    Buffer.from('{"provider":"anthropic","request":"'),
    Buffer.from([0xff]),
    Buffer.from('"}'),
  ]);
  const { exchange } = ingestExchange(notUtf8, {
    identityKey: Buffer.from(''),
    newId: () => '',
    now: () => NOW,
    subject: null,
  }) as Turn;
  assert.equal([...exchange.request], [0x22, 0xff, 0x22]);
});

test('what is kept does not hold on to the body', () => {
  const body = Buffer.from(JSON.stringify({ ...turn, raw_response: raw('x'.repeat(100_000)) }));
  const { exchange } = posted(body.toString()) as Turn;
  assert.is(exchange.request.buffer.byteLength, exchange.request_bytes);
});

test('the provider’s own bytes outrank what the sender read of them', () => {
  const answer = (more: object, meta: object = {}) => {
    const { response, response_headers, status } = exchangeOf({ ...turn, ...more, meta });
    return [textOf(response), response_headers, status];
  };
  const raw_response = raw('bytes');
  assert.equal(answer({ raw_response }), ['bytes', [], 200]);
  assert.equal(answer({ raw_response }, { content_type: ' text/event-stream ', upstream_status: 529 }), [
    'bytes',
    [['content-type', 'text/event-stream']],
    529,
  ]);
  assert.equal(answer({ raw_response, raw_response_encoding: 'gzip' }, { content_encoding: 'br' })[1], [
    ['content-encoding', 'gzip'],
  ]);
  assert.equal(answer({ raw_response, raw_response_encoding: '' }, { content_encoding: 'br' })[1], [
    ['content-encoding', 'br'],
  ]);
  assert.equal(answer({ raw_response }, { content_type: 'a\u0000', content_encoding: '\ud800' })[1], [], 'no header');
  assert.equal(answer({ raw_response: '' }, { content_type: 'text/plain', content_encoding: 'br' }), [
    JSON.stringify(reply),
    [['content-type', 'application/vnd.svc.reply+json']],
    200,
  ]);
});

test('a status is one of HTTP; without an answer it stands only where it was told', () => {
  for (const upstream_status of [99, 600, 200.5, '429', null, {}]) {
    assert.is(withMeta({ upstream_status }).status, 200);
    const { status, response_headers } = exchangeOf({ ...turn, response: null, meta: { upstream_status } });
    assert.equal([status, response_headers], [null, null]);
  }
  for (const upstream_status of [100, 429, 599]) {
    const { status, response_headers, response } = exchangeOf({ ...turn, response: null, meta: { upstream_status } });
    assert.equal([status, response_headers, response.byteLength], [upstream_status, [], 0]);
  }
});

test('an id is kept as it is, if it fits an index and the database', () => {
  const id = (request_id: unknown) => withMeta({ request_id }).request_id;
  assert.is(id('turn-1'), 'turn-1');
  assert.is(id(' turn 1 '), ' turn 1 ');
  assert.is(id(''), 'minted');
  assert.is(id('a\u0000b\ud800'), 'a\ufffdb\ufffd');
  assert.is(id('x'.repeat(256)), 'x'.repeat(256));
  assert.match(id('x'.repeat(257)) ?? '', /^sha256:[0-9a-f]{64}$/);
  assert.is.not(id('x'.repeat(257)), id('x'.repeat(258)));
});

test('method, address and times are the sender’s', () => {
  const exchange = withMeta({
    method: 'PUT',
    path: '/gw/v1/messages?api_key=secret&beta=1',
    captured_at: '2026-11-21T10:30:00.5+01:00',
    elapsed_seconds: 1.5,
  });
  assert.equal(
    [exchange.method, exchange.url, exchange.requested_at, exchange.last_byte_at],
    ['PUT', '/gw/v1/messages?api_key=[redacted]&beta=1', '2026-11-21T09:29:59.000000Z', '2026-11-21T09:30:00.500000Z'],
  );
  for (const method of ['', 'GET /', 'x'.repeat(33), '\u0000', 7]) assert.is(withMeta({ method }).method, 'POST');
});

test('what the sender told besides is kept, but no key', () => {
  const sentMeta = '{"a":[{"b":"\\u0000"}],"path":"/v1?key=secret","__proto__":{"x":1},"stream":"true","n":1}';
  const { meta } = exchangeOf(`{"provider":"openai","request":{},"meta":${sentMeta},"raw_response_withheld":true}`);
  assert.is(
    JSON.stringify(meta),
    '{"a":[{"b":"\\u0000"}],"path":"/v1?key=[redacted]","__proto__":{"x":1},"stream":"true","n":1,"raw_response_withheld":true}',
  );
  assert.equal(exchangeOf({ ...turn, raw_response_withheld: false }).meta, {});
});

test('the envelope outranks what the harness says in the body, field by field', () => {
  const skeleton = { metadata: { user_id: JSON.stringify({ session_id: 'from-body' }) } };
  assert.equal(
    identityOf(
      {
        ...turn,
        agent_name: 'my-agent',
        meta: { thread_id: ' sub-1 ' },
        session: {
          harness_id: ' claude ',
          harness_version: '2.1',
          parent_harness_session_id: 'parent',
          cwd: '/home/é',
          name: 'a name',
          auth_subject: 'me',
          org_id: '00000000-0000-0000-0000-000000000000',
          harness_metadata: { a: 1 },
        },
      },
      skeleton,
    ),
    {
      harness_id: 'claude',
      harness_session_id: 'from-body',
      thread_id: 'sub-1',
      parent_harness_session_id: 'parent',
      parent_thread_id: '',
      harness_version: '2.1',
      cwd: '/home/é',
      session_name: 'a name',
      harness_metadata: { a: 1 },
      agent_name: 'my-agent',
      project: '',
      auth_subject: 'me',
    },
  );
  const named = { ...turn, session: { harness_id: 'mine', harness_session_id: 's' } };
  assert.equal(
    [identityOf(named, skeleton).harness_id, identityOf(named, skeleton).harness_session_id],
    ['mine', 's'],
    'the envelope first',
  );
  assert.is(identityOf(turn, skeleton).harness_id, 'claude', 'the body says it');
  assert.is(identityOf(turn).harness_id, 'unknown');
  assert.is(identityOf({ ...turn, session: { harness_id: '' } }).harness_id, 'unknown');
});

test('no label has a control character, and no id is longer than an index takes', () => {
  for (const bad of ['a\u0000', 'a\nb', '\u007f']) {
    const session = { cwd: bad, name: bad, harness_version: bad };
    const { cwd, session_name, harness_version } = identityOf({ ...turn, session });
    assert.equal([cwd, session_name, harness_version], ['', '', '']);
  }
  const long = 'x'.repeat(10_000);
  const identity = identityOf({
    ...turn,
    agent_name: long,
    meta: { thread_id: long },
    session: {
      harness_id: long,
      harness_session_id: long,
      parent_harness_session_id: long,
      cwd: long,
      auth_subject: long,
    },
  });
  assert.is(identity.cwd.length, 4096);
  assert.is(identity.agent_name.length, 4096);
  for (const id of [
    identity.harness_id,
    identity.harness_session_id,
    identity.thread_id,
    identity.parent_harness_session_id,
    identity.auth_subject,
  ])
    assert.match(id ?? '', /^sha256:/);
});

test('who sends is who the gateway says, and tells its clients apart', () => {
  const key = (body: unknown, subject: string | null = null) => taken(body, subject).exchange.client_key;
  const me = { ...turn, session: { auth_subject: 'me' } };
  assert.is(taken(me, 'gateway').identityOf(null).auth_subject, 'gateway');
  assert.is(taken(me, null).identityOf(null).auth_subject, 'me');
  assert.is(key(turn), key({ ...turn, meta: { request_id: 'x' }, session: { cwd: '/' } }));
  assert.is(key(me), key(turn, 'me'));
  assert.is(key(me, 'you'), key(turn, 'you'));
  const keys = [key(turn), key(me), key({ ...me, agent_name: 'a' }), key({ ...turn, agent_name: 'a' })];
  assert.is(new Set(keys).size, 4);
});

test('nested as deep as may be, nothing overflows', () => {
  for (const depth of [10_000, 100_000]) {
    const deep = nested(depth);
    const { exchange, unusable } = taken(
      `{"provider":"openai","request":{"input":${deep}},"response":{"message":{"role":"assistant"},"x":${deep}},"other":${deep}}`,
    );
    assert.is(unusable, null);
    assert.is(exchange.request_bytes, 2 * depth + 10);
    assert.is(exchange.format, 'openai.responses');
    assert.is(
      taken(`{"provider":"openai","request":${deep}}`).unusable,
      'Cannot read the turn: its request is no JSON object',
    );
    for (const [member, name] of [
      [`"meta":{"x":${deep}}`, 'meta is nested too deep'],
      [`"session":{"harness_metadata":{"x":${deep}}}`, 'session.harness_metadata is nested too deep'],
      [`"session":${deep}`, 'session is no object'],
      [`"provider":${deep}`, 'provider is no string'],
      [`"raw_response":${deep}`, 'raw_response is no string'],
      [`"agent_name":${deep}`, 'agent_name is no string'],
    ]) {
      assert.equal(posted(`{"provider":"openai","request":{},${member}}`), {
        kind: 'malformed',
        error: `Cannot read the turn: ${name}`,
      });
    }
    assert.is(posted(deep).kind, 'malformed');
    assert.is(posted(deep.slice(0, depth)).kind, 'malformed');
    assert.is(posted(`{"provider":"openai","request":{},"session":{"other":${deep}}}`).kind, 'turn');
  }
});

test('metadata may be as deep as is said, and no deeper', () => {
  const kind = (member: string) => posted(`{"provider":"openai","request":{},${member}}`).kind;
  assert.is(kind(`"meta":{"x":${nested(63)}}`), 'turn');
  assert.is(kind(`"meta":{"x":${nested(64)}}`), 'malformed');
  assert.is(kind(`"session":{"harness_metadata": {"x":${nested(31)}}}`), 'turn');
  assert.is(kind(`"session": {"harness_metadata": {"x":${nested(32)}}}`), 'malformed');
});

test('NUL and lone surrogates harm nothing, wherever they stand', () => {
  for (const odd of ['\u0000', '\ud800', 'a\udfff\u0000']) {
    const { exchange, identityOf: identityWith } = taken({
      provider: odd,
      agent_name: odd,
      request: { [odd]: odd },
      response: { ...reply, [odd]: odd, model: odd },
      raw_response_encoding: odd,
      meta: {
        [odd]: odd,
        request_id: odd,
        thread_id: odd,
        method: odd,
        path: `/${odd}`,
        content_type: odd,
        ts_request: odd,
      },
      session: {
        harness_id: odd,
        harness_session_id: odd,
        parent_harness_session_id: odd,
        name: odd,
        cwd: odd,
        [odd]: odd,
      },
    });
    const { meta, request, response, ...rest } = exchange;
    const { harness_metadata: _, ...identity } = identityWith(null);
    for (const text of [...Object.values(rest), ...Object.values(identity)]) {
      if (typeof text !== 'string') continue;
      assert.ok(text.isWellFormed() && !text.includes('\u0000'), text);
    }
    assert.is(meta.request_id, odd, 'what is stored verbatim is made fit by who stores it');
    assert.is(textOf(request), JSON.stringify({ [odd]: odd }));
    assert.is((JSON.parse(textOf(response)) as { model: string }).model, odd);
  }
});

test('whatever JSON is posted, there is an answer, and none quotes it', () => {
  const member = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.constantFrom('openai', 'YQ==', '/v1/messages', turn, turn.request),
  );
  const names = 'provider agent_name request response raw_response raw_response_encoding meta session'.split(' ');
  const inner = 'request_id thread_id method path harness_id cwd name org_id harness_metadata ts_request'.split(' ');
  const object = (keys: string[], held: fc.Arbitrary<unknown>) => fc.dictionary(fc.constantFrom(...keys), held);
  fc.assert(
    fc.property(object(names, fc.oneof(member, object(inner, member))), fc.boolean(), (body, isTurn) => {
      const ingested = posted(isTurn ? { ...turn, ...body } : body);
      if (ingested.kind === 'malformed') {
        assert.match(
          ingested.error,
          /^Cannot read the turn: [a-z_.]+ is (no [a-zA-Z0-9]+|missing|empty|nested too deep)$/,
        );
        return;
      }
      const whole = JSON.parse(JSON.stringify({ ...turn, ...body })) as { request: unknown };
      assert.equal(JSON.parse(textOf(ingested.exchange.request)), whole.request);
      ingested.identityOf(null);
    }),
    { numRuns: 2000 },
  );
});

const folder = fixtureFolder('corpus');
if (folder) {
  type Row = {
    source: string;
    provider: string;
    request_id: string;
    harness_session_id: string;
    raw_request: unknown;
    response: unknown;
    meta: { ts_request: string; elapsed_seconds: number; thread_id?: string; path: string };
    session_envelope: Record<string, unknown>;
  };
  const rows = gunzipSync(readFileSync(join(folder, 'corpus-codex-delta.jsonl.gz')))
    .toString('utf8')
    .trim()
    .split('\n')
    .map((row) => JSON.parse(row) as Row)
    .filter(({ source }) => source === 'wire');

  test('turns of another system are usable as they stand', () => {
    assert.is(rows.length, 13);
    for (const { provider, request_id, harness_session_id, raw_request, response, meta, session_envelope } of rows) {
      const {
        exchange,
        identityOf: identityWith,
        unusable,
      } = taken({
        provider,
        request: raw_request,
        response,
        meta,
        session: session_envelope,
      });
      assert.is(unusable, null);
      assert.equal(
        [exchange.request_id, exchange.format, exchange.method, exchange.url, exchange.status],
        [request_id, 'openai.responses', 'POST', meta.path, 200],
      );
      assert.is(exchange.requested_at, `${meta.ts_request.slice(0, -1).padEnd(26, '0')}Z`);
      const lasted = Date.parse(exchange.last_byte_at ?? '') - Date.parse(exchange.requested_at);
      assert.ok(Math.abs(lasted - meta.elapsed_seconds * 1000) <= 1);
      assert.equal(JSON.parse(textOf(exchange.request)), raw_request);
      assert.equal(exchange.meta, meta);

      const identity = identityWith(skeletonOf(exchange.request, sliceBody(exchange.request)));
      assert.equal(
        [identity.harness_id, identity.harness_session_id, identity.thread_id, identity.harness_version],
        ['codex', harness_session_id, meta.thread_id ?? '', '0.145.0-alpha.30'],
      );
      assert.equal(
        [identity.cwd, identity.harness_metadata],
        [session_envelope.cwd, session_envelope.harness_metadata],
      );

      const answer = { bytes: exchange.response, headers: exchange.response_headers ?? [] };
      const read = readAnswer(formatById('openai.responses'), answer);
      assert.equal([read.unreadable, read.reply?.complete, read.reply?.stop_reason], [null, true, 'stop']);
    }
    assert.is(new Set(rows.map(({ meta }) => meta.thread_id ?? '')).size, 3, 'two sub-agents beside the main thread');
  });
}

test.run();
