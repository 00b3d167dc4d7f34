import * as assert from 'uvu/assert';
import type { OperationArgs, OperationResult } from '../../../core/db/database.ts';
import { PAGE_BYTES } from '../../../core/db/read/session-traces.ts';
import { Problem } from '../../../core/model/problem.ts';
import { Span } from '../../../core/model/span.ts';
import { SessionDocument, SpanWindow, TraceDocument, TracePage } from '../../../core/model/trace.ts';
import { databaseSuite } from '../../support/databases.ts';
import {
  idOf,
  insertLinks,
  insertSessions,
  insertSpans,
  insertTraces,
  instantAt,
} from '../../support/projection-rows.ts';
import { type Json, testApi } from '../../support/read-api.ts';

databaseSuite('traces of the read API', (test, database) => {
  const get = async (path: string, api = testApi({ execute: database().execute })): Promise<Json> => {
    const response = await api.request(path);
    assert.is(response.status, 200, `${path}: ${response.status}`);
    return response.json();
  };
  const fails = async (path: string) => {
    const response = await testApi({ execute: database().execute }).request(path);
    return [response.status, Problem.parse(await response.json()).code];
  };

  test.before.each(() => database().reset());

  test('the list pages through all traces or those of one session, the newest first', async () => {
    await insertSessions(database(), [{ n: 1 }, { n: 2 }]);
    await insertTraces(
      database(),
      Array.from({ length: 9 }, (_, n) => ({ n, session: 1 + (n % 2), started_at: instantAt(Math.floor(n / 3)) })),
    );
    const paged = async (query: string) => {
      const seen: string[] = [];
      for (let cursor = ''; ; ) {
        const page = await get(`/v1/traces?limit=2${query}${cursor && `&cursor=${cursor}`}`);
        TracePage.parse(page);
        seen.push(...page.items.map((item: Json) => item.trace_id));
        if (!page.next_cursor) return seen;
        cursor = page.next_cursor;
      }
    };
    assert.equal(
      await paged(''),
      [8, 7, 6, 5, 4, 3, 2, 1, 0].map((n) => idOf('trace', n)),
    );
    assert.equal(
      await paged(`&session_id=${idOf('session', 2)}`),
      [7, 5, 3, 1].map((n) => idOf('trace', n)),
    );
    const { next_cursor } = await get('/v1/traces?limit=2');
    assert.equal(await fails(`/v1/traces?session_id=${idOf('session', 2)}&cursor=${next_cursor}`), [
      400,
      'bad-request',
    ]);
    assert.equal(await fails(`/v1/traces?session_id=${idOf('session', 7)}`), [404, 'session-unknown']);
  });

  test('a trace tells all that is known of it, and nothing that is empty', async () => {
    await insertSessions(database(), [{ n: 1 }]);
    await insertTraces(database(), [
      {
        n: 1,
        session: 1,
        source: 'transcript',
        synthetic: 'post-compaction',
        status: 'error',
        response_preview: 'It is done',
        ended_at: instantAt(2_000_001),
        duration_ns: 2_000_000_000,
        span_count: 3,
        tool_calls: 2,
        input_tokens: 100,
        cost_usd: '0.000000012',
        unpriced_models: ['llama3'],
      },
      { n: 2, session: 1 },
    ]);
    const { items } = await get('/v1/traces');
    assert.equal(items[1], {
      trace_id: idOf('trace', 1),
      session_id: idOf('session', 1),
      source: 'transcript',
      status: 'error',
      synthetic: 'post-compaction',
      user_prompt: 'prompt 1',
      response_preview: 'It is done',
      started_at: instantAt(1),
      ended_at: instantAt(2_000_001),
      duration_ns: 2_000_000_000,
      span_count: 3,
      tool_calls: 2,
      error_count: 0,
      usage: {
        input_tokens: 100,
        output_tokens: 0,
        cache_read_tokens: 0,
        cache_write_tokens: 0,
        reasoning_tokens: 0,
        cost_usd: 0.000000012,
        unpriced_models: ['llama3'],
      },
      main_usage: { input_tokens: 0, output_tokens: 0 },
    });
    assert.is(items[0].usage.cost_usd, null);
    for (const absent of ['synthetic', 'response_preview', 'ended_at', 'duration_ns'])
      assert.not.ok(absent in items[0], absent);
  });

  test('a session is told with its traces in order, their spans in the order of the walk, and all links', async () => {
    await insertSessions(database(), [{ n: 1 }, { n: 2 }]);
    await insertTraces(database(), [
      { n: 3, session: 1, started_at: instantAt(7) },
      { n: 2, session: 1, started_at: instantAt(7) },
      { n: 1, session: 1, started_at: instantAt(9) },
      { n: 4, session: 1, started_at: instantAt(1) },
      { n: 5, session: 2 },
    ]);
    await insertSpans(database(), [
      { n: 1, trace: 1, session: 1, seq: 1 },
      { n: 2, trace: 1, session: 1, seq: 0, kind: 'agent' },
      { n: 3, trace: 2, session: 1 },
      { n: 4, trace: 4, session: 1, seq: 2 },
      { n: 5, trace: 4, session: 1, seq: 10 },
      { n: 6, trace: 5, session: 2 },
    ]);
    await insertLinks(database(), [
      { kind: 'emits', session: 1, from: [1, 1], to: [1, 2], io: 'output' },
      { kind: 'retry-of', session: 1, from: [1, 1], to: [4, 4] },
      { kind: 'emits', session: 2, from: [5, 6], to: [5, 6] },
    ]);
    const document = await get(`/v1/sessions/${idOf('session', 1)}/traces`);
    SessionDocument.parse(document);
    assert.is(document.session.id, idOf('session', 1));
    assert.equal(
      document.traces.map(({ trace, spans }: Json) => [trace.trace_id, spans.map((span: Json) => span.span_id)]),
      [
        [idOf('trace', 4), [idOf('span', 4), idOf('span', 5)]],
        [idOf('trace', 2), [idOf('span', 3)]],
        [idOf('trace', 3), []],
        [idOf('trace', 1), [idOf('span', 2), idOf('span', 1)]],
      ],
    );
    const emits = {
      kind: 'emits',
      from_trace_id: idOf('trace', 1),
      from_span_id: idOf('span', 1),
      from_io: 'output',
      to_trace_id: idOf('trace', 1),
      to_span_id: idOf('span', 2),
      to_io: 'output',
    };
    const retry = {
      kind: 'retry-of',
      from_trace_id: idOf('trace', 1),
      from_span_id: idOf('span', 1),
      to_trace_id: idOf('trace', 4),
      to_span_id: idOf('span', 4),
    };
    assert.equal(document.links, [emits, retry]);

    const alone = await get(`/v1/traces/${idOf('trace', 4)}`);
    TraceDocument.parse(alone);
    assert.equal(
      alone,
      { schema: document.schema, ...document.traces[0], links: [retry] },
      'with links from elsewhere',
    );
    assert.equal(await fails(`/v1/traces/${idOf('trace', 9)}`), [404, 'trace-unknown']);
  });

  test('a span is told whole', async () => {
    await insertSessions(database(), [{ n: 1 }]);
    await insertTraces(database(), [{ n: 1, session: 1 }]);
    await insertSpans(database(), [
      {
        n: 1,
        trace: 1,
        session: 1,
        parent_span_id: idOf('span', 2),
        duration_ns: 5,
        input: [{ type: 'text', text: 'How are you?' }],
        output: [{ type: 'tool_use', tool_use_id: 't', tool_name: 'Bash', tool_input: { command: 'ls' } }],
        input_tokens: 12,
        cost_usd: '0.5',
        price: { model: 'm', source: 's', date: 'd' },
        raw_turn_id: 77,
        node_hash: '\\xabcd',
      },
    ]);
    const span = await get(`/v1/traces/${idOf('trace', 1)}/spans/${idOf('span', 1)}`);
    Span.parse(span);
    assert.equal(span, {
      trace_id: idOf('trace', 1),
      span_id: idOf('span', 1),
      session_id: idOf('session', 1),
      parent_span_id: idOf('span', 2),
      seq: 1,
      kind: 'llm',
      call_kind: 'main',
      name: 'span 1',
      thread_id: '',
      status: 'ok',
      model: '',
      provider: '',
      stop_reason: '',
      started_at: instantAt(1),
      duration_ns: 5,
      input: [{ type: 'text', text: 'How are you?' }],
      output: [{ type: 'tool_use', tool_use_id: 't', tool_name: 'Bash', tool_input: { command: 'ls' } }],
      usage: {
        input_tokens: 12,
        output_tokens: 0,
        cache_read_tokens: 0,
        cache_write_5m_tokens: 0,
        cache_write_1h_tokens: 0,
        reasoning_tokens: 0,
        cost_usd: 0.5,
      },
      price: { model: 'm', source: 's', date: 'd' },
      raw_turn_id: 77,
      node_hash: 'abcd',
    });
    assert.equal(await fails(`/v1/traces/${idOf('trace', 1)}/spans/${idOf('span', 2)}`), [404, 'span-unknown']);
    assert.equal(await fails(`/v1/traces/${idOf('trace', 2)}/spans/${idOf('span', 1)}`), [404, 'span-unknown']);
  });

  test('a preview cuts strings at whole characters wherever they stand, leaves images out, and says so', async () => {
    await insertSessions(database(), [{ n: 1 }]);
    await insertTraces(database(), [{ n: 1, session: 1 }]);
    const long = '😀'.repeat(513);
    const input = [
      { type: 'text', text: long },
      { type: 'text', text: '😀'.repeat(512) },
      { type: 'tool_use', tool_input: { deep: [{ er: 'x'.repeat(600) }], count: 3 } },
      { type: 'image', media_type: 'image/png', image_base64: 'A'.repeat(600) },
    ];
    await insertSpans(database(), [{ n: 1, trace: 1, session: 1, input, output: [] }]);
    for (const path of [`/v1/traces/${idOf('trace', 1)}`, `/v1/sessions/${idOf('session', 1)}/traces`]) {
      const spansOf = (document: Json) => document.spans ?? document.traces[0].spans;
      const [full] = spansOf(await get(path));
      assert.equal(full.input, input);
      assert.not.ok('payload' in full);
      assert.equal(spansOf(await get(`${path}?payload=full`))[0], full);
      const [preview] = spansOf(await get(`${path}?payload=preview`));
      assert.is(preview.payload, 'preview');
      assert.equal(preview.input, [
        { type: 'text', text: `${'😀'.repeat(512)}…` },
        { type: 'text', text: '😀'.repeat(512) },
        { type: 'tool_use', tool_input: { deep: [{ er: `${'x'.repeat(512)}…` }], count: 3 } },
        { type: 'image', media_type: 'image/png', image_base64: '' },
      ]);
    }
  });

  test('a large session arrives whole, in a handful of questions that each hold a page', async () => {
    await insertSessions(database(), [{ n: 1 }]);
    await insertTraces(
      database(),
      Array.from({ length: 230 }, (_, n) => ({ n, session: 1, started_at: instantAt(Math.floor(n / 3)) })),
    );
    const spans = Array.from({ length: 1_700 }, (_, n) => ({ n, trace: Math.floor((n * 230) / 1_700), session: 1 }));
    await insertSpans(database(), spans);
    await insertLinks(
      database(),
      Array.from({ length: 1_200 }, (_, n) => ({
        kind: 'feeds',
        session: 1,
        from: [0, n] as [number, number],
        to: [1, n] as [number, number],
      })),
    );
    const queries: string[] = [];
    const execute: ReturnType<typeof database>['execute'] = (name, args) => {
      queries.push(name);
      return database().execute(name, args);
    };
    const document = await get(`/v1/sessions/${idOf('session', 1)}/traces`, testApi({ execute }));
    assert.is(document.traces.length, 230);
    assert.equal(
      document.traces.flatMap((entry: Json) => entry.spans.map((span: Json) => [entry.trace.trace_id, span.span_id])),
      spans.map(({ n, trace }) => [idOf('trace', trace), idOf('span', n)]),
    );
    assert.is(document.links.length, 1_200);
    assert.is(new Set(document.links.map((link: Json) => link.from_span_id)).size, 1_200);
    assert.ok(queries.length <= 9, queries.join(' '));
  });

  test('large payloads make small pages, however well they compress', async () => {
    await insertSessions(database(), [{ n: 1 }]);
    await insertTraces(database(), [{ n: 1, session: 1 }]);
    const LARGE = 3_000_000;
    await insertSpans(
      database(),
      Array.from({ length: 40 }, (_, n) => ({ n, trace: 1, session: 1 })),
    );
    await database().sql(
      `update svc.spans set input = jsonb_build_array(jsonb_build_object('type', 'text', 'text', repeat('all the same ', $1::integer)))
        where seq % 4 = 1`,
      [Math.floor(LARGE / 13)],
    );
    await database().sql(`update svc.spans set output = input, input = '[]' where seq % 8 = 1`); // where it stands is all one
    const [stored] = await database().sql('select max(pg_column_size(input)) as bytes from svc.spans');
    assert.ok(Number(stored?.bytes) < LARGE / 20, `${stored?.bytes} bytes are stored`);
    const seen: number[] = [];
    for (let after: OperationArgs<'spansOf'>['after'] = null; ; ) {
      const page: OperationResult<'spansOf'> = await database().execute('spansOf', {
        of: { trace_id: idOf('trace', 1) },
        after,
        limit: 500,
        payload: 'full',
      });
      const sizes = page.spans.map(({ span }) => JSON.stringify([span.input, span.output]).length);
      const before = sizes.slice(0, -1).reduce((sum, size) => sum + size, 0);
      assert.ok(before < PAGE_BYTES, `${before} bytes and one span more`);
      seen.push(...page.spans.map(({ span }) => span.seq));
      if (!page.next) break;
      after = page.next;
    }
    assert.equal(
      seen,
      Array.from({ length: 40 }, (_, n) => n),
    );
    const document = await get(`/v1/traces/${idOf('trace', 1)}`);
    assert.equal(
      document.spans.map((span: Json) => span.seq),
      Array.from({ length: 40 }, (_, n) => n),
    );
  });

  test('a window of a trace: some of its spans, from a place or around one of them', async () => {
    await insertSessions(database(), [{ n: 1 }]);
    await insertTraces(database(), [
      { n: 1, session: 1 },
      { n: 2, session: 1 },
    ]);
    const long = [{ type: 'text', text: 'x'.repeat(600) }];
    await insertSpans(
      database(),
      Array.from({ length: 9 }, (_, n) => ({ n, trace: 1, session: 1, input: long })),
    );
    const path = `/v1/traces/${idOf('trace', 1)}/spans`;
    const window = async (query: string) => {
      const found = SpanWindow.parse(await get(`${path}?${query}`));
      return [found.items.map(({ seq }) => seq), found.next_seq];
    };
    assert.equal(await window(''), [[0, 1, 2, 3, 4, 5, 6, 7, 8], undefined]);
    assert.equal(await window('limit=4'), [[0, 1, 2, 3], 4]);
    assert.equal(await window('from_seq=4&limit=5'), [[4, 5, 6, 7, 8], undefined]);
    assert.equal(await window('from_seq=9'), [[], undefined]);
    assert.equal(await window('from_seq=9999999999'), [[], undefined]);
    assert.equal(await window(`around=${idOf('span', 6)}&limit=4`), [[4, 5, 6, 7], 8]);
    assert.equal(await window(`around=${idOf('span', 1)}&limit=4`), [[0, 1, 2, 3], 4]);
    const [preview, full] = [await get(`${path}?limit=1`), await get(`${path}?limit=1&payload=full`)];
    assert.equal([preview.items[0].payload, preview.items[0].input[0].text.length], ['preview', 513]);
    assert.equal([full.items[0].payload, full.items[0].input], [undefined, long]);
    assert.equal(await get(`/v1/traces/${idOf('trace', 2)}/spans`), { schema: 'svc.projection/v1', items: [] });
    assert.equal(await fails(`/v1/traces/${idOf('trace', 3)}/spans`), [404, 'trace-unknown']);
    assert.equal(await fails(`${path}?around=${idOf('span', 10)}`), [404, 'span-unknown']);
    for (const query of ['from_seq=-1', 'from_seq=x', 'limit=0', 'around=1', `from_seq=1&around=${idOf('span', 1)}`])
      assert.equal(await fails(`${path}?${query}`), [400, 'bad-request'], query);
  });

  test('a window holds no more than fits in memory', async () => {
    await insertSessions(database(), [{ n: 1 }]);
    await insertTraces(database(), [{ n: 1, session: 1 }]);
    const large = [{ type: 'text', text: 'all the same '.repeat(200_000) }];
    await insertSpans(
      database(),
      Array.from({ length: 5 }, (_, n) => ({ n, trace: 1, session: 1, input: large })),
    );
    const seen: number[] = [];
    for (let from: number | undefined = 0; from !== undefined; ) {
      const { items, next_seq } = await get(`/v1/traces/${idOf('trace', 1)}/spans?from_seq=${from}`);
      assert.ok(items.length <= 2, `${items.length} spans of 2.6 MB`);
      seen.push(...items.map((span: Json) => span.seq));
      from = next_seq;
    }
    assert.equal(seen, [0, 1, 2, 3, 4]);
  });

  test('nothing of a deleted session is shown', async () => {
    await insertSessions(database(), [{ n: 1 }]);
    await insertTraces(database(), [{ n: 1, session: 1 }]);
    await insertSpans(database(), [{ n: 1, trace: 1, session: 1 }]);
    await database().sql('insert into svc.session_edits (session_id, deleted_at) values ($1::uuid, now())', [
      idOf('session', 1),
    ]);
    assert.equal((await get('/v1/traces')).items, []);
    for (const path of [
      `/v1/traces?session_id=${idOf('session', 1)}`,
      `/v1/traces/${idOf('trace', 1)}`,
      `/v1/traces/${idOf('trace', 1)}/spans`,
      `/v1/traces/${idOf('trace', 1)}/spans?around=${idOf('span', 1)}`,
      `/v1/traces/${idOf('trace', 1)}/spans/${idOf('span', 1)}`,
      `/v1/sessions/${idOf('session', 1)}/traces`,
    ])
      assert.is((await fails(path))[0], 404, path);
  });
});
