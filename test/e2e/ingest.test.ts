/** The ingest API as a gateway meets it: a test for each row that the seed has of it, then what may go wrong beside it. */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import * as assert from 'uvu/assert';
import { packageRoot } from '../../core/package-root.ts';
import { bodyOf } from '../support/ingested-turns.ts';
import { officialClients } from '../support/official-clients.ts';
import {
  type Accepted,
  acceptance,
  acceptedTurn,
  derivedSession,
  plainTurn,
  postTurn,
  type RawTurn,
  rawTurnsOf,
  requestOf,
  writesOf,
} from '../support/post-turns.ts';
import type { Json } from '../support/read-api.ts';
import { spansOf } from '../support/read-sessions.ts';
import { eventually, read, type Service } from '../support/serve.ts';
import { onEachDatabase, sessionsOf } from '../support/whole-service.ts';

const LIMIT = 15_379_114;
const TOO_LARGE = '{"error":"request body exceeds the ingest size limit"}';

/** A body of exactly so many bytes, nearly all of them the words of its question. */
const bodyOfSize = (request_id: string, bytes: number): string => {
  const empty = plainTurn(request_id, '').replace('Answer to ', 'Fine');
  return empty.replace('"role":"user","content":"', `$&${'x'.repeat(bytes - empty.length)}`);
};

const json = { 'content-type': 'application/json' };

onEachDatabase('the ingest API', (test) => {
  test('POST /v1/ingest: appends one completed conversation turn', async ({ service }) => {
    const { status, text, headers } = await postTurn(service, plainTurn('one'));
    assert.equal([status, headers.get('content-type')], [202, 'application/json']);
    const { raw_turn_id, session_id, ...rest } = JSON.parse(text) as Accepted;
    assert.equal(rest, { status: 'accepted', request_id: 'one', deduped: false });

    const [turn, ...others] = await rawTurnsOf(service, session_id);
    assert.equal(others, []);
    assert.equal(
      [turn?.raw_turn_id, turn?.request_id, turn?.source, turn?.outcome, turn?.ending, turn?.status],
      [raw_turn_id, 'one', 'wire', 'captured', 'complete', 200],
    );
    assert.equal(
      [turn?.requested_at, turn?.last_byte_at],
      ['2026-11-21T09:00:00.000000Z', '2026-11-21T09:00:02.000000Z'],
    );
    const { traces } = await derivedSession(service, session_id, 1);
    assert.equal(
      traces.map(({ trace }) => [trace.user_prompt, trace.response_preview, trace.status]),
      [['Question one', 'Answer to Question one', 'ok']],
    );
  });

  test('raw turn: an immutable record appended by ingest', async ({ service }) => {
    const { raw_turn_id, session_id } = await acceptedTurn(service, plainTurn('immutable'));
    const before = await rawTurnsOf(service, session_id);
    const again = await acceptedTurn(service, plainTurn('immutable', 'Something else'));
    assert.equal([again.deduped, again.raw_turn_id, again.session_id], [true, raw_turn_id, session_id]);
    assert.equal(await rawTurnsOf(service, session_id), before);
  });

  test('a session with a main wire call is a wire projection', async ({ service }) => {
    const { session_id } = await acceptedTurn(service, plainTurn('projection'));
    const { traces } = await derivedSession(service, session_id, 1);
    assert.equal(
      traces.map(({ trace }) => trace.source),
      ['wire'],
    );
  });

  test('GET /ping: health', async ({ service }) => {
    const response = await fetch(`${service.ingest}/ping`);
    assert.equal([response.status, await response.json()], [200, { status: 'ok' }]);
  });

  test('GET /openapi: a separate ingest contract, whose routes are under the /v1 prefix', async ({ service }) => {
    const { info, paths } = await read<Json>(`${service.ingest}/openapi`);
    const { version } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')) as { version: string };
    assert.equal([info.title, info.version], ['svc ingest API', version]);
    assert.equal(
      Object.keys(paths).filter((path) => !path.startsWith('/v1/')),
      ['/ping', '/openapi'],
    );
    assert.ok(paths['/v1/ingest'].post);
    assert.not.ok((await read<Json>(`${service.api}/openapi`)).paths['/v1/ingest'], 'the read API has its own');
  });

  test('the ingest server only appends, and does not serve the read API', async ({ service }) => {
    const { paths } = await read<Json>(`${service.api}/openapi`);
    const others = Object.entries<Json>(paths).filter(([path]) => path !== '/ping' && path !== '/openapi');
    assert.ok(others.length > 10);
    for (const [path, methods] of [...others, ['/', { get: {} }]] as [string, object][])
      for (const method of Object.keys(methods)) {
        const target = path.replace(/\{\w+\}/g, '7d1c9f9e-2f0a-5f0e-9a55-0d3b5a3f4c10');
        const response = await fetch(`${service.ingest}${target}`, { method: method.toUpperCase() });
        assert.is(response.status, 404, `${method} ${path}`);
        assert.equal(Object.keys((await response.json()) as object), ['error'], path);
      }
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE'])
      assert.is((await fetch(`${service.ingest}/v1/ingest`, { method })).status, 405, method);
  });

  test('svc_ingest_writes_total: labels provider and status', async ({ service }) => {
    const series: [provider: string, status: string, bodies: BodyInit[]][] = [
      ['openai', 'accepted', [plainTurn('counted 1'), plainTurn('counted 2')]],
      ['openai', 'duplicate', [plainTurn('counted 1')]],
      ['anthropic', 'unusable', [bodyOf({ provider: 'anthropic' }, '[]')]],
      ['unknown', 'reject_envelope', ['{']],
    ];
    for (const [provider, status, bodies] of series) {
      const before = await writesOf(service, provider, status);
      for (const body of bodies) await postTurn(service, body);
      assert.is((await writesOf(service, provider, status)) - before, bodies.length, `${provider} ${status}`);
    }
  });

  test('every rejection, 413 included, is JSON with the single field error', async ({ service }) => {
    const post = { method: 'POST', headers: json };
    const at = (path: string, init: RequestInit) => fetch(`${service.ingest}${path}`, init);
    const rejections: [status: number, answer: Promise<Response>][] = [
      [400, at('/v1/ingest', { ...post, body: '{' })],
      [400, at('/v1/ingest', { ...post, body: '{"provider":"openai"}' })],
      [403, at('/v1/ingest', { ...post, headers: { ...json, origin: 'http://evil.example' }, body: plainTurn('web') })],
      [404, at('/v1/nothing', { ...post, body: '{}' })],
      [405, at('/v1/ingest', { method: 'PUT', headers: json, body: '{}' })],
      [413, at('/v1/ingest', { ...post, body: ' '.repeat(LIMIT + 1) })],
      [415, at('/v1/ingest', { method: 'POST', headers: { 'content-type': 'text/plain' }, body: plainTurn('text') })],
      [422, at('/v1/ingest', { ...post, body: bodyOf({ provider: 'acme' }, '{}') })],
    ];
    for (const [status, answer] of rejections) {
      const response = await answer;
      assert.equal([response.status, response.headers.get('content-type')], [status, 'application/json']);
      const rejection = (await response.json()) as Json;
      assert.equal([Object.keys(rejection), typeof rejection.error], [['error'], 'string'], String(status));
    }
    assert.match(
      await spoken(service.ingest, 'no HTTP\r\n\r\n'),
      /^HTTP\/1\.1 400 [\s\S]*\r\n\r\n\{"error":"[^"]+"\}$/,
    );
  });

  test('one request id sent twenty times at once is one turn: one answer says so, nineteen that it was there', async ({
    service,
  }) => {
    const posts = await Promise.all(Array.from({ length: 20 }, () => postTurn(service, plainTurn('twenty'))));
    const answers = posts.map(acceptance);
    assert.is(answers.filter(({ deduped }) => deduped).length, 19);
    assert.is(new Set(answers.map(({ raw_turn_id, session_id }) => `${raw_turn_id} ${session_id}`)).size, 1);
    assert.is((await rawTurnsOf(service, answers[0]?.session_id ?? '')).length, 1);
  });

  test('422: well-formed but unusable, and kept all the same under the number that the sentence names', async ({
    service,
  }) => {
    const chat = '{"model":"m","messages":[{"role":"user","content":"Hi"}]}';
    const unusable: Record<string, [turn: object, request: string, shown: string]> = {
      'its provider is unknown': [{ provider: 'acme', raw_response: 'AAAA' }, chat, 'partial'],
      'its request is no JSON object': [{ provider: 'openai', raw_response: 'AAAA' }, '[ 1,2 ]', 'partial'],
      'neither raw_response nor response gives an answer': [{ provider: 'openai' }, chat, 'error'], // nothing came back
      'Cannot read a chat answer': [{ provider: 'openai', raw_response: 'AAAA' }, chat, 'partial'],
    };
    const cases = Object.entries(unusable).map(async ([why, [turn, request, shown]]) => {
      const session = { harness_id: 'unusable', harness_session_id: why };
      const { status, text } = await postTurn(service, bodyOf({ ...turn, session }, request));
      const { error } = JSON.parse(text) as Json;
      assert.is(status, 422, why);
      assert.match(error, why);
      const raw_turn_id = Number(/ \(kept as raw turn (\d+)\)$/.exec(error)?.[1]);
      const kept = (await sessionsOf(service)).find(({ harness_session_id }) => harness_session_id === why);
      const [raw] = (await rawTurnsOf(service, kept?.id ?? '')) as [RawTurn];
      assert.is(raw.raw_turn_id, raw_turn_id);
      assert.is(requestOf(raw).toString(), request);
      assert.is.not(raw.outcome, 'captured');
      const derived = await derivedSession(service, raw.session_id, 1);
      assert.equal(
        spansOf(derived, 'llm').map((span) => span.status),
        [shown],
        why,
      );
    });
    await Promise.all(cases);
  });

  test('request, answer and meta are kept to the byte, whatever JSON allows', async ({ service }) => {
    const chat = (rest: string) => `{"model":"m","messages":[{"role":"user","content":"Hi"}]${rest}}`;
    const requests: Record<string, string | Buffer> = {
      'white space': '{ "model" :\t"m",\r\n "messages" : [ {"role":"user" , "content":"Hi" } ] }',
      'keys that repeat':
        '{"model":"a","messages":1,"model":"m","messages":[{"role":"user","content":1,"content":"Hi"}]}',
      'keys that are names elsewhere': chat(',"__proto__":{"a":1},"constructor":2,"":3'),
      'spellings of numbers': chat(',"temperature":1.0,"top_p":1E+0,"seed":-0,"n":12345678901234567890,"stop":[1e400]'),
      'spellings of characters':
        '{"model":"m","messages":[{"role":"user","content":"\\/ \\u00e9 é \\ud83d\\ude00 😀"}]}',
      'NUL and lone surrogates': '{"model":"m","messages":[{"role":"user","content":"\\u0000 \\ud800 \\udc00"}]}',
      'bytes that are no UTF-8': Buffer.from(
        '{"model":"m","messages":[{"role":"user","content":"\xed\xa0\x80\xff"}]}',
        'latin1',
      ),
    };
    const response = '{ "message":{"role":"assistant","content":"\\u0000 1.0" , "content":"Hi\\ud800"},"done":1.0 }';
    const cases = Object.entries(requests).map(async ([what, request]) => {
      const head = `{"provider":"openai","meta":{"a":"\\u0000\\ud800","b":[1.50]},"response":${response},"request":`;
      const body = Buffer.concat([Buffer.from(head), Buffer.from(request as string), Buffer.from('\n}')]);
      const { session_id } = await acceptedTurn(service, body);
      const [turn] = (await rawTurnsOf(service, session_id)) as [RawTurn];
      assert.ok(requestOf(turn).equals(Buffer.from(request as string)), what);
      assert.is(turn.payload?.response?.body, response, what);
      assert.equal(
        turn.meta,
        { a: '\ufffd\ufffd', b: [1.5] },
        'what the database has no character for is replaced there',
      );
      await derivedSession(service, session_id, 1);
    });
    await Promise.all(cases);
    const bytes = gzipSync('{"id":"chatcmpl-1","choices":[{"message":{"role":"assistant","content":"Hi"}}]}');
    const raw = { raw_response: bytes.toString('base64'), raw_response_encoding: 'gzip' };
    const { session_id } = await acceptedTurn(service, bodyOf({ provider: 'openai', ...raw }, chat('')));
    const [turn] = await rawTurnsOf(service, session_id);
    const { encoding, content_encoding, body } = turn?.payload?.response ?? {};
    assert.equal([encoding, content_encoding, body], ['base64', 'gzip', raw.raw_response]);
  });

  test('NUL and lone surrogates harm nothing, wherever they stand', async ({ service }) => {
    const cases = ['\u0000', 'a\ud800', '\udfff'].map(async (odd) => {
      const turn = {
        provider: 'openai',
        agent_name: odd,
        request: { model: odd, messages: [{ role: 'user', content: odd, name: odd }], [odd]: odd },
        response: { model: odd, message: { content: [{ type: odd, text: odd }] }, stop_reason: odd, [odd]: odd },
        meta: { request_id: `odd ${odd}`, path: odd, method: odd, ts_request: odd, content_type: odd, [odd]: odd },
        session: { harness_id: odd, harness_session_id: odd, cwd: odd, harness_metadata: { [odd]: odd } },
      };
      const { session_id } = await acceptedTurn(service, JSON.stringify(turn));
      assert.is(spansOf(await derivedSession(service, session_id, 1), 'llm')[0]?.status, 'ok');
    });
    await Promise.all(cases);
    await sessionsOf(service);
  });

  test('JSON nested 10,000 and 100,000 deep harms nothing: it is refused, or kept to the byte', async ({ service }) => {
    const validRequest = '{"model":"m","messages":[{"role":"user","content":"Hi"}]}';
    const validResponse = '{"message":{"content":"Hi"}}';
    const turn = (request: string, response: string, rest = '') =>
      `{"provider":"openai","request":${request},"response":${response}${rest}}`;
    const post = async (status: number, body: string) =>
      assert.is((await postTurn(service, body)).status, status, body.slice(0, 200));
    const kept = async (name: string, request: string) => {
      await post(422, turn(request, validResponse, `,"session":{"harness_id":"deep","harness_session_id":"${name}"}`));
      const session = (await sessionsOf(service)).find(({ harness_session_id }) => harness_session_id === name);
      const [raw] = (await rawTurnsOf(service, session?.id ?? '')) as [RawTurn];
      assert.ok(requestOf(raw).equals(Buffer.from(request)), name);
    };
    for (const depth of [10_000, 100_000]) {
      const deep = '['.repeat(depth) + ']'.repeat(depth);
      const raw = Buffer.from(`{"choices":${deep}}`).toString('base64');
      await Promise.all([
        kept(`${depth}, all of it`, deep),
        kept(`${depth}, messages`, `{"model":"m","messages":${deep}}`),
        kept(`${depth}, content`, `{"model":"m","messages":[{"role":"user","content":${deep}}]}`),
        kept(`${depth}, tools`, `{"model":"m","messages":[{"role":"user","content":"Hi"}],"tools":${deep}}`),
        post(422, turn(validRequest, deep)),
        post(422, turn(validRequest, `{"message":{"content":${deep}}}`)),
        post(422, turn(validRequest, 'null', `,"raw_response":"${raw}"`)),
        post(400, turn(validRequest, validResponse, `,"meta":{"a":${deep}}`)),
        post(400, turn(validRequest, validResponse, `,"session":{"harness_metadata":{"a":${deep}}}`)),
        post(202, turn(validRequest, validResponse, `,"session":{"what is not read":${deep}},"nor this":${deep}`)),
      ]);
    }
    const run = await fetch(`${service.api}/v1/admin/derive/run`, { method: 'POST' });
    const { pending, parked } = (await run.json()) as Json;
    assert.equal([run.status, pending, parked], [200, 0, 0], 'and can be derived, and derived again');
    assert.not.match(service.log(), 'the engine');
  });

  test('kill -9 right after an answer: what was answered 202 is there after the restart, once', async (stand) => {
    const sent: string[] = [];
    const answered: Accepted[] = [];
    let killed: Promise<void> | null = null;
    const senders = Array.from({ length: 6 }, async (_, sender) => {
      for (let n = 0; ; n++) {
        const id = `kill ${sender} ${n}`;
        sent.push(id);
        const posted = await postTurn(stand.service, plainTurn(id)).catch(() => null);
        if (!posted) return; // the answer did not come
        answered.push(acceptance(posted));
        if (answered.length >= 30) killed ??= stand.service.kill();
      }
    });
    await Promise.all(senders);
    await killed;

    const service = await stand.start();
    // one after the other: few may read payloads at once
    for (const { request_id, raw_turn_id, session_id } of answered) {
      const [turn, ...others] = await rawTurnsOf(service, session_id);
      assert.equal([turn?.raw_turn_id, turn?.request_id, others.length], [raw_turn_id, request_id, 0]);
      assert.is(turn && JSON.parse(requestOf(turn).toString()).messages[0].content, `Question ${request_id}`);
      const again = await acceptedTurn(service, plainTurn(request_id));
      assert.equal([again.deduped, again.raw_turn_id], [true, raw_turn_id]);
    }
    const all = await Promise.all(sent.map((id) => acceptedTurn(service, plainTurn(id))));
    assert.is(new Set(all.map(({ raw_turn_id }) => raw_turn_id)).size, sent.length);
    await derivedSession(service, answered[0]?.session_id ?? '', 1);
  });

  test('request body size: about 14.67 MiB pass; above it 413 before parsing, counted and logged', async ({
    service,
  }) => {
    const largest = bodyOfSize('largest', LIMIT);
    assert.is(Buffer.byteLength(largest), LIMIT);
    const { session_id } = await acceptedTurn(service, largest);
    const [turn] = await rawTurnsOf(service, session_id);
    assert.is(turn?.outcome, 'captured');
    assert.ok(turn && requestOf(turn).equals(Buffer.from(JSON.stringify(JSON.parse(largest).request))));

    const logged = () =>
      service
        .log()
        .split('\n')
        .filter((line) => line.includes('exceeds the ingest size limit'));
    const [counted, lines] = [await writesOf(service, 'unknown', 'reject_oversize'), logged().length];
    for (const body of [bodyOfSize('larger', LIMIT + 1), ' '.repeat(LIMIT + 1)]) {
      const { status, text } = await postTurn(service, body);
      assert.equal([status, text], [413, TOO_LARGE]);
    }
    assert.is(await writesOf(service, 'unknown', 'reject_oversize'), counted + 2);
    const entries = logged()
      .slice(lines)
      .map((line) => JSON.parse(line) as Json);
    assert.equal(
      entries.map(({ content_length, limit, path }) => [content_length, limit, path]),
      Array(2).fill([LIMIT + 1, LIMIT, '/v1/ingest']),
    );
  });

  test('the proxy works on beside heavy ingest', async ({ service, provider }) => {
    const client = officialClients.anthropic;
    const direct = client.open(provider.url, { key: 'key', stream: true });
    const proxied = client.open(`${service.proxy}${client.prefix}`, { key: 'key', stream: true });
    let sending = 4;
    const gateways = Array.from({ length: sending }, async (_, gateway) => {
      for (let n = 0; n < 3; n++) await acceptedTurn(service, bodyOfSize(`heavy ${gateway} ${n}`, 500_000));
      sending--;
    });
    let questionCount = 0;
    while (sending > 0 || questionCount < 3) {
      const question = `Question ${questionCount++} beside heavy ingest`;
      for (const conversation of [direct, proxied]) await conversation.ask(question);
    }
    await Promise.all(gateways);
    assert.equal(proxied.answers, direct.answers);
    await eventually('the conversation', async () => {
      const found = (await sessionsOf(service)).find(
        ({ rollup }) => rollup.preview === 'Question 0 beside heavy ingest',
      );
      return found && found.rollup.turn_count === questionCount;
    });
  });

  test.run();
});

/** What a listener answers to bytes as they are. */
const spoken = (address: Service['ingest'], bytes: string): Promise<string> =>
  new Promise((done, fail) => {
    const { hostname, port } = new URL(address);
    let heard = '';
    const socket = connect(Number(port), hostname, () => socket.write(bytes));
    socket.setEncoding('utf8').on('data', (text: string) => {
      heard += text;
    });
    socket.on('close', () => done(heard)).on('error', fail);
  });
