/** Turns are stored once, whole, chained, and with the same nodes whatever order they came in. */
import { brotliCompressSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { builtIn } from '../../../../core/call/reader.ts';
import { rereadSession } from '../../../../core/engine/derive/reread-session.ts';
import { headersDigest, type TurnFacts, turnHash } from '../../../../core/merkle/turn-chain.ts';
import {
  capturedCall,
  chat,
  chatAnswer,
  recordedJournalCalls,
  requestId,
  takeIn,
} from '../../../support/captured-calls.ts';
import { dagDump } from '../../../support/dag-dump.ts';
import { databaseSuite, type TestDatabase } from '../../../support/databases.ts';

const named = (session: string): [string, string][] => [['x-svc-harness-session-id', session]];
const coverage = async (database: TestDatabase) =>
  Object.fromEntries(
    (await database.sql('select outcome, sum(requests)::int as n from svc.coverage group by 1')).map(
      ({ outcome, n }) => [outcome, n],
    ),
  );
const count = async (database: TestDatabase, table: string) =>
  Number((await database.sql(`select count(*)::int as n from svc.${table}`))[0]?.n);

/** A conversation of five calls with a tool, a failed try and its repetition, an injected reminder, and a fork. */
const session = [
  capturedCall({ n: 1, request: chat('hi'), response: chatAnswer('well'), headers: named('s') }),
  capturedCall({
    n: 2,
    request: chat('hi', 'well', 'more'),
    response: null,
    headers: named('s'),
    closed: { ending: 'upstream_cut' },
  }),
  capturedCall({ n: 3, request: chat('hi', 'well', 'more'), response: chatAnswer('much'), headers: named('s') }),
  capturedCall({ n: 4, request: chat('hi', 'well', 'other'), response: chatAnswer('else'), headers: named('s') }),
  capturedCall({
    n: 5,
    request: {
      messages: [
        ...chat('hi', 'well', 'more', 'much').messages,
        { role: 'user', content: '# MCP Server Instructions\nx' },
        { role: 'user', content: 'end' },
      ],
    },
    response: chatAnswer('bye'),
    headers: named('s'),
  }),
];

databaseSuite('appendTurns', (test, database) => {
  test.before.each(() => database().reset());

  test('a turn is stored once, counted once, and its session waits to be derived', async () => {
    const [call] = session;
    assert.ok(call);
    const [stored] = await takeIn(database(), [call, call]);
    assert.equal(await takeIn(database(), [call]), []);
    assert.is(stored?.call_id, requestId(1));
    assert.is(await count(database(), 'raw_turns'), 1);
    assert.equal(await coverage(database()), { captured: 1 });
    const [queued] = await database().sql('select session_id, mark::int as mark from svc.derive_queue');
    assert.equal(queued, { session_id: stored?.session_id, mark: 1 });
  });

  test('the bytes come back as they were on the wire, whatever their coding', async () => {
    const request = {
      ...chat('hi', 'well', '\u{1F600} "quoted" \\'),
      tools: Array.from({ length: 100 }, (_, i) => ({ name: `tool ${i}` })),
    };
    const text = Buffer.from(JSON.stringify(request, null, 1));
    const coded: [Uint8Array, [string, string][]][] = [
      [text, []],
      [gzipSync(text), [['content-encoding', 'gzip']]],
      [brotliCompressSync(text), [['content-encoding', 'br']]],
      [Buffer.from([0xff, 0x00, 0x7b]), []],
      [Buffer.alloc(0), []],
    ];
    const response = gzipSync(chatAnswer('gz'));
    const calls = coded.map(([bytes, headers], n) =>
      capturedCall({
        n,
        request: bytes,
        response,
        headers: [...headers, ...named('bytes')],
        responseHeaders: [
          ['Content-Encoding', 'gzip'],
          ['Set-Cookie', 'a'],
          ['set-cookie', 'b'],
        ],
      }),
    );
    const stored = await takeIn(database(), calls);
    assert.equal(
      stored.map(({ outcome }) => outcome),
      ['captured', 'captured', 'captured', 'undecodable', 'undecodable'],
    );
    for (const [index, { raw_turn_id }] of stored.entries()) {
      const bytes = await database().execute('rawTurnBytes', { raw_turn_id });
      const call = calls[index];
      assert.ok(bytes && call);
      assert.equal(Buffer.from(bytes.request), Buffer.from(call.request));
      assert.equal(Buffer.from(bytes.response ?? []), response);
      assert.equal(bytes.request_headers, call.opened.headers);
      assert.equal(bytes.response_headers, call.responseHead?.headers);
    }
    const hashes = await database().sql('select distinct leaf_hash from svc.calls where leaf_hash is not null');
    assert.is(hashes.length, 1, 'the coding of a request does not move its messages');
    assert.is(await database().execute('rawTurnBytes', { raw_turn_id: 4711 }), null);
  });

  test('the recorded session is one session, with exact bytes, in a small part of the room', async () => {
    const calls = await recordedJournalCalls();
    if (!calls) return;
    const stored = await takeIn(database(), calls);
    assert.is(new Set(stored.map(({ session_id }) => session_id)).size, 1);
    assert.ok(stored.every(({ outcome }) => outcome === 'captured'));
    for (const [index, { raw_turn_id }] of stored.entries()) {
      const bytes = await database().execute('rawTurnBytes', { raw_turn_id });
      assert.equal(Buffer.from(bytes?.request ?? []), Buffer.from(calls[index]?.request ?? []));
      assert.equal(Buffer.from(bytes?.response ?? []), Buffer.from(calls[index]?.response ?? []));
      assert.equal(bytes?.request_headers, calls[index]?.opened.headers);
    }
    const [session] = await database().sql('select harness_id, harness_session_id, turn_count from svc.sessions');
    assert.equal(session, {
      harness_id: 'claude',
      harness_session_id: 'ac9b5a71-50d4-47c2-b771-4d5c3e96d899',
      turn_count: 9,
    });
    const wire = calls.reduce((sum, { request, response }) => sum + request.byteLength + response.byteLength, 0);
    const [room] = await database().sql(`
      select (select sum(length(bytes) + length(slice_id)) from svc.slices)::int
             + (select sum(pg_column_size(t.*)) from svc.raw_turns t)::int as bytes`);
    const share = Number(room?.bytes) / wire;
    console.log(`recordings: ${wire} bytes on the wire, ${room?.bytes} stored (${(share * 100).toFixed(1)} %)`);
    assert.ok(share < 0.12, `${share}`);
  });

  test('each turn carries the hash of the one before; an edit is found', async () => {
    await takeIn(database(), session.slice(0, 2));
    await takeIn(database(), session.slice(2));
    const turns = await database().sql(`
      select t.*, encode(prev_hash, 'hex') as prev, encode(turn_hash, 'hex') as hash, encode(request_digest, 'hex') as request_digest,
             encode(response_digest, 'hex') as response_digest,
             to_char(requested_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as requested_at,
             to_char(first_byte_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as first_byte_at,
             to_char(last_byte_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as last_byte_at
        from svc.raw_turns t order by session_seq`);
    let prev: string | null = null;
    for (const [index, turn] of turns.entries()) {
      const bytes = await database().execute('rawTurnBytes', { raw_turn_id: Number(turn.raw_turn_id) });
      const names = [
        'session_id',
        'session_seq',
        'source',
        'svc_proxy_request_id',
        'request_id',
        'outcome',
        'ending',
        'provider',
        'format',
      ];
      names.push(
        'method',
        'url',
        'status',
        'harness_id',
        'harness_session_id',
        'thread_id',
        'parent_harness_session_id',
        'identity',
      );
      names.push(
        'requested_at',
        'first_byte_at',
        'last_byte_at',
        'request_bytes',
        'request_digest',
        'response_bytes',
        'response_digest',
        'meta',
      );
      const facts = {
        ...Object.fromEntries(names.map((name) => [name, turn[name]])),
        request_headers_digest: headersDigest(bytes?.request_headers ?? null),
        response_headers_digest: headersDigest(bytes?.response_headers ?? null),
      } as TurnFacts;
      assert.is(turn.session_seq, index + 1);
      assert.is(turn.prev, prev);
      assert.is(turn.hash, turnHash(prev, facts), 'recomputed from what is stored');
      assert.is.not(turn.hash, turnHash(prev, { ...facts, url: '/edited' }));
      prev = String(turn.hash);
    }
    const [head] = await database().sql(`select turn_count, encode(head_turn_hash, 'hex') as head from svc.sessions`);
    assert.equal(head, { turn_count: 5, head: prev });
    await database()
      .sql(`update svc.raw_turns set url = '/edited'`)
      .then(
        () => assert.unreachable('the log was edited'),
        (error: Error) => assert.match(error.message, /append-only|23001/),
      );
  });

  test('the first turns of a session, stored all at once, make one chain', async () => {
    for (let round = 0; round < 10; round++) {
      const calls = Array.from({ length: 4 }, (_, i) =>
        capturedCall({ n: 10 * round + i, request: chat(`word ${i}`), headers: named(`at once ${round}`) }),
      );
      const stored = await Promise.all(calls.map((call) => takeIn(database(), [call])));
      const [session_id] = new Set(stored.flat().map((turn) => turn.session_id));
      const turns = await database().sql(
        `select session_seq, encode(prev_hash, 'hex') as prev, encode(turn_hash, 'hex') as hash
           from svc.raw_turns where session_id = $1 order by session_seq`,
        [session_id],
      );
      assert.equal(
        turns.map(({ session_seq, prev }) => ({ session_seq, prev })),
        [null, ...turns.map(({ hash }) => hash).slice(0, 3)].map((prev, i) => ({ session_seq: i + 1, prev })),
      );
      const [head] = await database().sql(
        `select turn_count, encode(head_turn_hash, 'hex') as head from svc.sessions where session_id = $1`,
        [session_id],
      );
      assert.equal(head, { turn_count: 4, head: turns.at(-1)?.hash });
    }
  });

  test('nodes: the conversation with its forks, its heads and its root', async () => {
    await takeIn(database(), session);
    const nodes = await database().sql(`
      select role, injected, depth, is_root, is_head, input_tokens::int as tokens, position, right(call_id, 1) as call, slice_id is null as answered
        from svc.nodes order by depth, call_id, position`);
    assert.equal(
      nodes.map(({ role, injected, depth, is_root, is_head, tokens, position, call, answered }) =>
        [role, injected, depth, is_root ? 'root' : '', is_head ? 'head' : '', tokens, position, call, answered].join(
          ' ',
        ),
      ),
      [
        'user  0 root  0 0 1 false',
        'assistant  1   10 1 1 true',
        'user  2   0 2 2 false', // more: the failed try showed it first
        'user  2   0 2 4 false', // other
        'assistant  3   10 3 3 true',
        'assistant  3  head 10 3 4 true',
        'user mcp-instructions 4   0 4 5 false',
        'user  4   0 5 5 false',
        'assistant  5  head 10 6 5 true',
      ],
    );
  });

  test('whatever order and batches turns come in, the nodes are the same', async () => {
    await takeIn(database(), session);
    const expected = await dagDump(database());
    const orders = fc.tuple(
      fc.shuffledSubarray(session, { minLength: session.length }),
      fc.integer({ min: 1, max: 5 }),
    );
    await fc.assert(
      fc.asyncProperty(orders, async ([order, size]) => {
        await database().reset();
        for (let at = 0; at < order.length; at += size) await takeIn(database(), order.slice(at, at + size));
        assert.equal(await dagDump(database()), expected);
      }),
      { numRuns: 12 },
    );
  });

  test('a long session: a late first call takes over what it showed first, and nothing else is written again', async () => {
    const words = Array.from({ length: 81 }, (_, i) => `word ${i}`);
    const calls = [21, 41, 61, 81].map((length, n) =>
      capturedCall({
        n,
        request: chat(...words.slice(0, length)),
        response: chatAnswer(`word ${length}`),
        headers: named('long'),
      }),
    );
    await takeIn(database(), calls);
    const expected = await dagDump(database());
    await database().reset();
    for (const n of [1, 3, 0, 2]) await takeIn(database(), calls.slice(n, n + 1));
    assert.equal(await dagDump(database()), expected);
  });

  test('nodes and calls that were thrown away come back the same', async () => {
    const recorded = (await recordedJournalCalls()) ?? [];
    const moved = recorded.map((call, index) => ({
      ...call,
      opened: { ...call.opened, svc_proxy_request_id: requestId(100 + index) },
    }));
    const metadata = capturedCall({ n: 50, request: chat('hi'), keep: 'metadata', headers: named('s') });
    const unreadable = capturedCall({
      n: 51,
      request: Buffer.from('no'),
      headers: [...named('s'), ['content-encoding', 'gzip']],
    });
    await takeIn(database(), [...session, ...moved, metadata, unreadable]);
    const expected = await dagDump(database());
    await database().sql('delete from svc.nodes');
    await database().sql('delete from svc.calls');
    const sessions = await database().sql('select session_id from svc.sessions');
    let restored = 0;
    for (const { session_id } of sessions) restored += await rereadSession(database(), builtIn, String(session_id));
    assert.is(restored, session.length + moved.length + 2);
    assert.equal(await dagDump(database()), expected);
    for (const { session_id } of sessions) await rereadSession(database(), builtIn, String(session_id));
    assert.equal(await dagDump(database()), expected, 'and again, over what stands');
  });

  test('a corrected turn is read for the session that it counts for', async () => {
    const [first, second] = [
      capturedCall({ n: 1, request: chat('hi'), headers: named('a') }),
      capturedCall({ n: 2, request: chat('ho'), headers: named('b') }),
    ];
    const [a, b] = await takeIn(database(), [first, second]);
    assert.ok(a && b);
    await database().sql(
      `insert into svc.raw_turn_corrections (raw_turn_id, kind, session_id, reason) values ($1, 'repair', $2, 'test')`,
      [a.raw_turn_id, b.session_id],
    );
    await database().sql('delete from svc.nodes');
    await database().sql('delete from svc.calls');
    assert.is(await rereadSession(database(), builtIn, a.session_id), 0);
    assert.is(await rereadSession(database(), builtIn, b.session_id), 2);
    assert.equal(await database().sql('select distinct session_id from svc.nodes'), [{ session_id: b.session_id }]);
  });

  test('a session knows its times and its people whatever order they come in', async () => {
    const calls = [1, 2, 3].map((n) =>
      capturedCall({
        n,
        request: chat('hi'),
        headers: [...named('s'), ...(n === 1 ? [] : [['x-svc-auth-subject', `user ${n}`] as [string, string]])],
      }),
    );
    const of = () => database().sql(`select started_at::text, last_seen_at::text, auth_subject from svc.sessions`);
    await takeIn(database(), calls);
    const expected = await of();
    assert.is(expected[0]?.auth_subject, 'user 2');
    for (const order of [
      [2, 1, 0],
      [1, 0, 2],
    ]) {
      await database().reset();
      for (const n of order) await takeIn(database(), calls.slice(n, n + 1));
      assert.equal(await of(), expected);
    }
  });

  test('twenty unnamed conversations with the same words stay twenty, in one batch and over many', async () => {
    const rounds = ['hi', 'more', 'and'];
    const calls = rounds.flatMap((_, round) =>
      Array.from({ length: 20 }, (_, who) => {
        const words = rounds.slice(0, round + 1).flatMap((word, i) => (i < round ? [word, `answer ${i}`] : [word]));
        return capturedCall({
          n: round * 20 + ((who * 7 + round) % 20),
          request: chat(...words),
          response: chatAnswer(`answer ${round}`),
        });
      }),
    );
    for (const size of [60, 7, 1]) {
      await database().reset();
      for (let at = 0; at < calls.length; at += size) await takeIn(database(), calls.slice(at, at + size));
      const sessions = await database().sql('select turn_count from svc.sessions');
      assert.equal(
        sessions.map(({ turn_count }) => turn_count),
        Array(20).fill(3),
        `${size} a batch`,
      );
    }
  });

  test('clients are kept apart, forks are noted, and a retry goes on with what it repeats', async () => {
    const retry: [string, string][] = [['x-stainless-retry-count', '1']];
    const call = (
      n: number,
      client: string,
      words: string[],
      response: string | null = 'well',
      headers: [string, string][] = [],
    ) =>
      capturedCall({
        n,
        client,
        request: chat(...words),
        response: response === null ? null : chatAnswer(response),
        headers,
      });
    await takeIn(database(), [call(1, 'one', ['hi']), call(2, 'two', ['hi'])]);
    const [mine] = await takeIn(database(), [call(3, 'one', ['hi', 'well', 'more'], 'much')]);
    const [first] = await database().sql('select session_id from svc.sessions where harness_session_id = $1', [
      requestId(1),
    ]);
    assert.is(mine?.session_id, first?.session_id);
    const [fork] = await takeIn(database(), [call(4, 'one', ['hi', 'well', 'other'], 'else')]);
    const [origin] = await database().sql(
      `select fork_of_session_id, (select role from svc.nodes n where n.node_hash = fork_of_node_hash limit 1) as role from svc.sessions where session_id = $1`,
      [fork?.session_id],
    );
    assert.equal(origin, { fork_of_session_id: first?.session_id, role: 'assistant' });
    const [failed] = await takeIn(database(), [call(5, 'one', ['hey'], null)]);
    const [again] = await takeIn(database(), [call(6, 'one', ['hey'], 'yes', retry)]);
    assert.is(again?.session_id, failed?.session_id);
    const [fresh] = await takeIn(database(), [call(7, 'one', ['hey'], 'yes')]);
    assert.is.not(fresh?.session_id, failed?.session_id);
  });

  test('an explicit session of an unknown harness is never gone on with by content', async () => {
    await takeIn(database(), [
      capturedCall({ n: 1, request: chat('hi'), response: chatAnswer('well'), headers: named('mine') }),
    ]);
    await takeIn(database(), [capturedCall({ n: 2, request: chat('hi', 'well', 'more') })]);
    assert.is(await count(database(), 'sessions'), 2);
  });

  test('what a hostile body holds is stored without harm', async () => {
    const content = 'nul \u0000 and half a pair \ud800 "\\{}';
    const metadata = Buffer.from(JSON.stringify({ '\u0000key': content })).toString('base64url');
    const request = {
      model: content,
      max_tokens: 1e15,
      messages: [{ role: 'user', content }],
      metadata: { user_id: content },
    };
    const call = capturedCall({
      n: 1,
      request,
      response: chatAnswer(content, content),
      headers: [
        ['x-svc-harness-metadata', metadata],
        ['x-odd', '{"\\,}'],
      ],
    });
    const [stored] = await takeIn(database(), [call]);
    assert.is(stored?.outcome, 'captured');
    const bytes = await database().execute('rawTurnBytes', { raw_turn_id: stored?.raw_turn_id ?? 0 });
    assert.equal(Buffer.from(bytes?.request ?? []), Buffer.from(call.request));
    assert.equal(bytes?.request_headers, call.opened.headers);
  });

  test('a batch that comes twice, since its answer was lost, counts its requests once', async () => {
    const position = { run_id: '0198c0de-0000-7000-8000-000000000000', segment: 1, byte_offset: 100, finished: false };
    const counted = [
      { at: '2026-11-21T09:00:00.000000Z', provider: 'openai', outcome: 'not_a_turn' as const, position },
    ];
    for (let i = 0; i < 2; i++)
      await database().execute('appendTurns', { turns: [], slices: [], counted, positions: [position] });
    assert.equal(await coverage(database()), { not_a_turn: 1 });
    await database().execute('appendTurns', {
      turns: [],
      slices: [],
      counted: [],
      positions: [{ ...position, byte_offset: 50 }],
    });
    assert.equal(await database().execute('journalPositions', {}), [position]);
  });

  test('a call put aside keeps its bytes and counts once', async () => {
    const call = capturedCall({ n: 1, request: Buffer.from([0, 255]) });
    for (let i = 0; i < 2; i++) await database().execute('parkTurn', { call, reason: 'test', position: null });
    const [parked] = await database().sql('select reason, request_body, head from svc.parked_turns');
    assert.equal(Buffer.from(parked?.request_body as Uint8Array), Buffer.from([0, 255]));
    assert.equal(parked?.head, call.opened);
    const again = await database().execute('parkedCall', { id: call.opened.svc_proxy_request_id });
    assert.equal(
      { ...again, request: Buffer.from(again?.request ?? []), response: Buffer.from(again?.response ?? []) },
      call,
    );
    assert.equal(await coverage(database()), { poison: 1 });
  });

  test('writers who share slices and sessions do not fail each other', async () => {
    const calls = Array.from({ length: 40 }, (_, n) =>
      capturedCall({
        n,
        request: chat(...Array.from({ length: 15 }, (_, i) => `word ${(i * 7 + n) % 15}`)),
        headers: named(`s${n % 3}`),
      }),
    );
    const one = async (call: (typeof calls)[number]): Promise<void> => {
      await takeIn(database(), [call]).catch((error: Error & { transient?: boolean }) => {
        if (error.transient) return one(call);
        throw error;
      });
    };
    await Promise.all(calls.map(one));
    assert.is(await count(database(), 'raw_turns'), 40);
    const chains = await database().sql(`
      select s.session_id from svc.sessions s
       where s.turn_count <> (select count(*) from svc.raw_turns t where t.session_id = s.session_id)
          or s.head_turn_hash is distinct from (select turn_hash from svc.raw_turns t where t.session_id = s.session_id order by session_seq desc limit 1)`);
    assert.equal(chains, []);
  });
});
