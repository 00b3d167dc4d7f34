import { gzipSync } from 'node:zlib';
import * as assert from 'uvu/assert';
import type { Database } from '../../../core/db/database.ts';
import type { SlicesPage, TurnParts } from '../../../core/db/read/turn-chain-bytes.ts';
import { RawTurnPage } from '../../../core/model/raw-turn.ts';
import { capturedCall, chat, takeIn } from '../../support/captured-calls.ts';
import { databaseSuite } from '../../support/databases.ts';
import { idOf, insertRawTurns, insertSessions, instantAt } from '../../support/projection-rows.ts';
import { type Json, testApi } from '../../support/read-api.ts';

databaseSuite('raw turns of the read API', (test, database) => {
  const get = async (path: string, execute = database().execute): Promise<Json> => {
    const response = await testApi({ execute }).request(path);
    assert.is(response.status, 200, `${path}: ${response.status}`);
    return response.json();
  };
  const url = (session: number, query = '') => `/v1/sessions/${idOf('session', session)}/raw_turns${query}`;
  const bytesOf = ({ encoding, body }: Json) => Buffer.from(body, encoding === 'base64' ? 'base64' : 'utf8');

  test.before.each(() => database().reset());

  test('a page lists facts and sizes, and asks for no bytes', async () => {
    await insertSessions(database(), [{ n: 1 }]);
    const [id] = await insertRawTurns(database(), [
      {
        session: 1,
        seq: 1,
        request: Buffer.from('{"a":1}'),
        response: Buffer.from('ok'),
        thread_id: 'sub',
        meta: '{"x":1}',
      },
      { session: 1, seq: 2, request: Buffer.from('{}'), response: null, ending: 'upstream_error' },
    ]);
    const queries: string[] = [];
    const page = await get(url(1), (name, args) => {
      queries.push(name);
      return database().execute(name, args);
    });
    RawTurnPage.parse(page);
    const { received_at, ...first } = page.items[0];
    assert.ok(received_at);
    assert.equal(first, {
      raw_turn_id: id,
      svc_proxy_request_id: 'request-1-1',
      source: 'wire',
      session_id: idOf('session', 1),
      session_seq: 1,
      outcome: 'captured',
      ending: 'complete',
      provider: 'anthropic',
      method: 'POST',
      url: '/v1/messages',
      status: 200,
      harness_id: 'claude-code',
      harness_session_id: 'harness-session-1',
      thread_id: 'sub',
      agent_name: 'claude',
      requested_at: instantAt(1),
      request_bytes: 7,
      response_bytes: 2,
      turn_hash: '1'.padStart(64, '0'),
      meta: { x: 1 },
    });
    assert.not.ok('status' in page.items[1]);
    assert.not.ok('meta' in page.items[1]);
    assert.equal(queries, ['readSession', 'listRawTurns']);
    assert.is((await testApi({ execute: database().execute }).request(url(9))).status, 404);
  });

  test('pages hold every record once, in the order of storing', async () => {
    await insertSessions(database(), [{ n: 1 }, { n: 2 }]);
    const ids = await insertRawTurns(
      database(),
      Array.from({ length: 7 }, (_, n) => ({ session: 1, seq: n + 1, request: Buffer.from(`${n}`), response: null })),
    );
    await insertRawTurns(database(), [{ session: 2, seq: 1, request: Buffer.from('x'), response: null }]);
    const seen: number[] = [];
    for (let cursor = ''; ; ) {
      const page = await get(url(1, `?limit=3${cursor && `&cursor=${cursor}`}`));
      seen.push(...page.items.map((item: Json) => item.raw_turn_id));
      if (!page.next_cursor) break;
      cursor = page.next_cursor;
    }
    assert.equal(seen, ids);
    const { next_cursor } = await get(url(1, '?limit=3'));
    assert.is((await testApi({ execute: database().execute }).request(url(2, `?cursor=${next_cursor}`))).status, 400);
  });

  test('a corrected record belongs to the session it was corrected to', async () => {
    await insertSessions(database(), [{ n: 1 }, { n: 2 }]);
    const [moved = 0, back = 0, stays = 0] = await insertRawTurns(
      database(),
      [1, 2, 3].map((seq) => ({ session: 1, seq, request: Buffer.from(`${seq}`), response: null })),
    );
    const correct = (raw_turn_id: number, session: number) =>
      database().sql(
        "insert into svc.raw_turn_corrections (raw_turn_id, kind, session_id, thread_id, reason) values ($1::bigint, 'repair', $2::uuid, 't', 'test')",
        [raw_turn_id, idOf('session', session)],
      );
    await correct(moved, 2);
    await correct(back, 2);
    await correct(back, 1);
    const idsOf = async (session: number) => (await get(url(session))).items.map((item: Json) => item.raw_turn_id);
    assert.equal(await idsOf(1), [back, stays]);
    assert.equal(await idsOf(2), [moved]);
    const [item] = (await get(url(2))).items;
    assert.equal([item.session_id, item.thread_id], [idOf('session', 2), 't']);
  });

  test('of a chain of corrections the newest decides, and a record that comes back comes once, in its place', async () => {
    await insertSessions(database(), [{ n: 1 }, { n: 2 }, { n: 3 }]);
    const ids = await insertRawTurns(
      database(),
      Array.from({ length: 12 }, (_, n) => ({
        session: 1 + (n % 2),
        seq: 1 + Math.floor(n / 2),
        request: Buffer.from(`${n}`),
        response: null,
      })),
    );
    const chains: [n: number, to: number[]][] = [
      [0, [2]],
      [1, [1]],
      [2, [2, 1]],
      [3, [1, 3, 1]],
      [4, [1, 1]],
      [5, [1, 1, 2]],
      [6, [3, 2, 1, 2, 3]],
      [7, [3, 1]],
    ];
    for (const [n, to] of chains)
      for (const session of to)
        await database().sql(
          "insert into svc.raw_turn_corrections (raw_turn_id, kind, session_id, reason) values ($1::bigint, 'link', $2::uuid, 'test')",
          [ids[n], idOf('session', session)],
        );
    const ends = new Map(chains.map(([n, to]) => [n, to.at(-1)]));
    for (const session of [1, 2, 3]) {
      const expected = ids.filter((_, n) => (ends.get(n) ?? 1 + (n % 2)) === session);
      for (const limit of [1, 2, 3, 50]) {
        const seen: number[] = [];
        for (let cursor = ''; ; ) {
          const page = await get(url(session, `?limit=${limit}${cursor && `&cursor=${cursor}`}`));
          seen.push(...page.items.map((item: Json) => item.raw_turn_id));
          if (!page.next_cursor) break;
          cursor = page.next_cursor;
        }
        assert.equal(seen, expected, `session ${session} by ${limit}`);
      }
    }
  });

  test('the exact bytes come back, whatever they are', async () => {
    await insertSessions(database(), [{ n: 1 }]);
    const bodies: [request: Buffer, response: Buffer | null, coding: string | null, encoding: string][] = [
      [Buffer.from('{"a": "ä\\u0000"}'), Buffer.from('{"ok":true}'), null, 'utf-8'],
      [Buffer.from('\ufeff{"bom":1}'), Buffer.from([0xff, 0xfe, 0x00, 0x80]), null, 'base64'],
      [Buffer.from('a\u0000b\u001f"\\\r\n'), gzipSync('{"ok":true}'), 'gzip', 'base64'],
      [Buffer.from(''), Buffer.from(''), 'identity', 'utf-8'],
      [Buffer.from(`x${'ä😀'.repeat(200_000)}`), Buffer.from('plain all the same'), 'br', 'base64'],
      [Buffer.from(Array.from({ length: 100_001 }, (_, i) => (i * 31) % 256)), null, null, ''],
    ];
    await insertRawTurns(
      database(),
      bodies.map(([request, response, coding], i) => ({
        session: 1,
        seq: i + 1,
        request,
        response,
        response_headers: coding ? ([['Content-Encoding', coding]] as [string, string][]) : [],
      })),
    );
    const page = await get(url(1, '?include=payload'));
    RawTurnPage.parse(page);
    assert.is(page.items.length, bodies.length);
    for (const [i, [request, response, coding, encoding]] of bodies.entries()) {
      const { payload } = page.items[i];
      assert.ok(bytesOf(payload.request).equals(request), `request ${i}`);
      assert.equal(payload.request.headers, [['content-type', 'application/json']]);
      if (!response) {
        assert.not.ok('response' in payload);
        continue;
      }
      assert.is(payload.response.encoding, encoding, `response ${i}`);
      assert.ok(bytesOf(payload.response).equals(response), `response ${i}`);
      assert.is(payload.response.content_encoding, coding && coding !== 'identity' ? coding : undefined);
    }
  });

  test('bytes are fetched record by record as the reader takes them', async () => {
    await insertSessions(database(), [{ n: 1 }]);
    const request = Buffer.alloc(300_000, 'x');
    await insertRawTurns(
      database(),
      Array.from({ length: 30 }, (_, n) => ({ session: 1, seq: n + 1, request, response: null })),
    );
    let fetched = 0;
    const app = testApi({
      execute: (name, args) => {
        if (name === 'turnParts') fetched++;
        return database().execute(name, args);
      },
    });
    const reader = (await app.request(url(1, '?include=payload'))).body?.getReader();
    await reader?.read();
    assert.ok(fetched >= 1 && fetched <= 2, `${fetched} fetched for the first chunk`);
    await reader?.cancel();
  });

  test('what a request repeats of the one before it is read once', async () => {
    const words = Array.from({ length: 61 }, (_, i) => `word ${i}`);
    const calls = [57, 59, 61].map((length, n) =>
      capturedCall({ n, request: chat(...words.slice(0, length)), headers: [['x-svc-harness-session-id', 'long']] }),
    );
    const [first] = await takeIn(database(), calls);
    const read: string[][] = [];
    const { items } = await get(`/v1/sessions/${first?.session_id}/raw_turns?include=payload`, (name, args) => {
      if (name === 'slicesUpTo') read.push((args as { ids: string[] }).ids);
      return database().execute(name, args);
    });
    assert.equal(
      items.map(({ payload }: Json) => bytesOf(payload.request)),
      calls.map(({ request }) => Buffer.from(request)),
    );
    assert.is(new Set(read.flat()).size, read.flat().length, 'no slice twice');
    assert.ok(read.flat().length < 90, `${read.flat().length} slices of 177 messages`);
  });

  const words = (count: number) => Array.from({ length: count }, (_, i) => `${i} ä😀"\n`.repeat(90));
  /** Reads the payloads of the first call's session: the text, and the ids of the slices that were read before it began to come. */
  const streamed = async (session_id: string | undefined, execute = database().execute) => {
    const read: string[] = [];
    const response = await testApi({
      execute: (name, args) => {
        if (name === 'slicesUpTo') read.push(...(args as { ids: string[] }).ids);
        return execute(name, args);
      },
    }).request(`/v1/sessions/${session_id}/raw_turns?include=payload`);
    assert.is(response.status, 200);
    const first = [...read];
    return { text: await response.text(), first, read };
  };

  test('a request begins to come before the rest of it is read', async () => {
    const call = capturedCall({ n: 1, request: chat(...words(1_000)) });
    const [turn] = await takeIn(database(), [call]);
    const { text, first, read } = await streamed(turn?.session_id);
    const { request } = JSON.parse(text).items[0].payload;
    assert.is(request.encoding, 'utf-8');
    assert.ok(bytesOf(request).equals(Buffer.from(call.request)));
    assert.ok(first.length < 100, `${first.length} of ${read.length} slices`);
    assert.ok(read.length > 1_000);

    // The same as of a turn that an older version stored.
    const unnoted: Database['execute'] = async (name, args) => {
      const found = await database().execute(name, args);
      if (name === 'turnParts') for (const parts of found as TurnParts[]) parts.request_is_utf8 = null;
      return found as never;
    };
    assert.is((await streamed(turn?.session_id, unnoted)).text, text);
  });

  test('what is no text, and what has a content coding, comes as base64, however many pieces it has', async () => {
    const body = Buffer.from(JSON.stringify(chat(...words(300))));
    const invalid = Buffer.concat([body]);
    invalid[invalid.length - 10] = 0xff;
    const calls = [
      capturedCall({ n: 1, request: invalid, headers: [['x-svc-harness-session-id', 'one']] }),
      capturedCall({
        n: 2,
        request: gzipSync(body),
        headers: [
          ['x-svc-harness-session-id', 'one'],
          ['content-encoding', 'gzip'],
        ],
      }),
      // What its sender says of it is not so, and a reader still need not guess.
      capturedCall({
        n: 3,
        request: body,
        headers: [
          ['x-svc-harness-session-id', 'one'],
          ['content-encoding', 'br'],
        ],
      }),
    ];
    const [turn] = await takeIn(database(), calls);
    const { items } = JSON.parse((await streamed(turn?.session_id)).text);
    assert.equal(
      items.map(({ payload }: Json) => [payload.request.encoding, payload.request.content_encoding]),
      [
        ['base64', undefined],
        ['base64', 'gzip'],
        ['base64', 'br'],
      ],
    );
    for (const [n, { request }] of calls.entries())
      assert.ok(bytesOf(items[n].payload.request).equals(Buffer.from(request)), `${n}`);
  });

  test('a request of which the rest is missing is cut off, so that it does not look whole', async () => {
    const [turn] = await takeIn(database(), [capturedCall({ n: 1, request: chat(...words(300)) })]);
    let queries = 0;
    const execute: Database['execute'] = async (name, args) => {
      const found = await database().execute(name, args);
      if (name === 'slicesUpTo' && ++queries > 2) (found as SlicesPage).slices = [];
      return found as never;
    };
    const response = await testApi({ execute }).request(`/v1/sessions/${turn?.session_id}/raw_turns?include=payload`);
    assert.is(response.status, 200);
    const end = await response.text().then(
      () => 'whole',
      () => 'cut off',
    );
    assert.is(end, 'cut off');
  });
});
