/** Does a reader of outlines always have what is there, whatever was derived, derived again, merged, moved or deleted meanwhile? */
import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import { OUTLINE_SCHEMA, Outline } from '../../../core/model/outline.ts';
import { Problem } from '../../../core/model/problem.ts';
import { answer, assistant, type Call, toolResult, toolUse, user } from '../../support/call-turn.ts';
import { databaseSuite } from '../../support/databases.ts';
import { deriveAll } from '../../support/derive-all.ts';
import { generatedCalls } from '../../support/generated-calls.ts';
import { outlineReader } from '../../support/outline-reader.ts';
import { idOf, insertSessions } from '../../support/projection-rows.ts';
import { type Json, testApi } from '../../support/read-api.ts';
import { journalCall, storeCalls } from '../../support/stored-calls.ts';

databaseSuite('the outline of a session', (test, database) => {
  const api = (outlineSpans?: number) =>
    testApi({ execute: database().execute, ...(outlineSpans === undefined ? {} : { outlineSpans }) });
  const get = async (path: string): Promise<Json> => {
    const response = await api().request(path);
    assert.is(response.status, 200, `${path}: ${response.status}`);
    return response.json();
  };
  const fails = async (path: string) => {
    const response = await api().request(path);
    return [response.status, Problem.parse(await response.json()).code];
  };
  const store = async (session: string, ...calls: Call[]): Promise<string> => {
    const [session_id = ''] = await storeCalls(
      database(),
      calls.map((call) => journalCall(session, call)),
    );
    return session_id;
  };

  test.before.each(() => database().reset());

  test('columns of what was derived, without reading a payload', async () => {
    const session_id = await store('s', ...conversation);
    await deriveAll(database());
    const outline = await get(`/v1/sessions/${session_id}/outline`);
    assert.equal(Outline.parse(outline), outline);
    const { names, traces, spans, links } = outline as Outline;
    const words = (column: number[]) => column.map((index) => names[index]);
    assert.is(outline.schema, OUTLINE_SCHEMA);
    assert.is(outline.whole, true);
    assert.is(outline.base_at, '2026-11-21T09:00:00.000000Z');
    assert.equal(traces.user_prompt, ['And now?', 'Look at it'], 'the newest first');
    assert.equal(traces.error_count, [0, 1]);
    assert.equal(words(spans.kind), ['agent', 'llm', 'agent', 'llm', 'tool', 'llm']);
    assert.equal(spans.trace, [0, 0, 1, 1, 1, 1]);
    assert.equal(spans.parent, [-1, 0, -1, 2, 2, 2]);
    assert.equal(spans.seq, [0, 1, 0, 1, 2, 3]);
    assert.equal(spans.label, ['', 'Better', '', 'I look', 'ls -l dist', 'It is broken']);
    assert.equal(words(spans.status), ['ok', 'ok', 'ok', 'ok', 'error', 'ok']);
    assert.equal(spans.input_lines, [0, 1, 0, 1, 1, 0]);
    assert.equal(spans.input_characters, [0, 8, 0, 10, 10, 0]);
    assert.equal(spans.output_lines, [0, 1, 0, 1, 3, 1]);
    assert.equal(spans.output_characters, [0, 6, 0, 6, 5, 12]);
    assert.equal(spans.started_us, [10_000_000, 10_000_000, 0, 0, 500_000, 1_000_000]);
    assert.equal(spans.first_byte_us, [null, 10_200_000, null, 200_000, null, 1_200_000]);
    assert.equal(spans.duration_us, [500_000, 500_000, 1_500_000, 500_000, 500_000, 500_000]);
    assert.equal(spans.input_tokens, [0, 100, 0, 100, 0, 100]);
    assert.equal(
      words(links.kind)
        .map((kind, i) => [kind, links.from[i], links.to[i]])
        .sort(),
      [
        ['emits', 3, 4],
        ['feeds', 4, 5],
      ],
    );
    assert.equal(outline.others, []);
  });

  test('after a revision only what changed, with what it refers to', async () => {
    const [first, second, third] = conversation;
    const session_id = await store('s', first as Call);
    await deriveAll(database());
    const { rev } = await get(`/v1/sessions/${session_id}/outline`);
    assert.equal((await get(`/v1/sessions/${session_id}/outline?after=${rev}`)).spans.span_id, []);
    await store('s', second as Call);
    await deriveAll(database());
    const delta: Outline = await get(`/v1/sessions/${session_id}/outline?after=${rev}`);
    assert.is(delta.whole, false);
    assert.ok(Number(delta.rev) > Number(rev));
    assert.equal(delta.traces.trace_id.length, 1);
    assert.equal(
      delta.spans.label,
      ['', 'ls -l dist', 'It is broken'],
      'the root and the tool have ended, the call is new',
    );
    assert.is(delta.others.length, 1, 'the first call, which requested the tool');
    await store('s', third as Call);
    await deriveAll(database());
    const next: Outline = await get(`/v1/sessions/${session_id}/outline?after=${delta.rev}`);
    assert.equal(next.traces.user_prompt, ['And now?']);
    assert.equal(next.spans.label, ['', 'Better']);
  });

  test('pages hold so many spans, and together all of them', async () => {
    const session_id = await store('s', ...conversation);
    await deriveAll(database());
    const whole = outlineReader(api(), session_id);
    assert.is((await whole.follow()).length, 1);
    for (const size of [1, 2, 4, 5]) {
      const paged = outlineReader(api(size), session_id);
      const pages = await paged.follow();
      assert.is(pages.length, Math.ceil(6 / size), `pages of ${size}`);
      assert.ok(pages.every((page) => page.whole && page.rev === pages[0]?.rev));
      assert.equal(paged.read(), whole.read());
    }
    const traces = async (query: string) =>
      ((await get(`/v1/sessions/${session_id}/outline?${query}`)) as Outline).traces.user_prompt;
    assert.equal(await traces('order=newest'), ['And now?', 'Look at it']);
    assert.equal(await traces('order=oldest'), ['Look at it', 'And now?']);
    const path = `/v1/sessions/${session_id}/outline?order=oldest`;
    const beginning: Outline = await get(`${path}&limit=3`);
    const rest: Outline = await get(`${path}&cursor=${beginning.next_cursor}`);
    const newest: Outline = await get(`/v1/sessions/${session_id}/outline`);
    assert.equal(
      [...newest.spans.span_id.slice(2), ...newest.spans.span_id.slice(0, 2)],
      [...beginning.spans.span_id, ...rest.spans.span_id],
    );
    assert.is(beginning.spans.span_id.length, 3);
    assert.is(rest.next_cursor, undefined);
    for (const query of [`order=newest&cursor=${beginning.next_cursor}`, 'limit=0', 'order=up'])
      assert.equal(await fails(`/v1/sessions/${session_id}/outline?${query}`), [400, 'bad-request'], query);
    const [page] = await outlineReader(api(2), session_id).follow();
    assert.equal(await fails(`/v1/sessions/${session_id}/outline?after=1&cursor=${page?.next_cursor}`), [
      400,
      'bad-request',
    ]);
  });

  test('around a span: what comes before and after it, as it stands in the whole', async () => {
    const session_id = await store('s', ...conversation);
    await deriveAll(database());
    const path = `/v1/sessions/${session_id}/outline`;
    for (const order of ['newest', 'oldest']) {
      const { spans: all }: Outline = await get(`${path}?order=${order}`);
      for (const [place, span] of all.span_id.entries())
        for (const limit of [1, 2, 3, 4, 6, 20_000]) {
          const part: Outline = await get(`${path}?order=${order}&around=${span}&limit=${limit}`);
          const where = `${order}, span ${place} of 6, ${limit}`;
          assert.equal([part.whole, part.rev, part.next_cursor], [false, '0', undefined], where);
          const { span_id } = part.spans;
          const first = all.span_id.indexOf(span_id[0] ?? '');
          assert.equal(
            span_id,
            all.span_id.slice(first, first + limit),
            `${where}: in a row, and no fewer than there are`,
          );
          assert.ok(span_id.includes(span), where);
          assert.ok(span_id.indexOf(span) <= (limit - 1) / 2, `${where}: at most half of them come before it`);
        }
    }
    const [, , , , tool = ''] = (await get(path)).spans.span_id;
    const { spans, others, links, traces }: Outline = await get(`${path}?around=${tool}&limit=1`);
    assert.equal([spans.span_id, traces.user_prompt], [[tool], ['Look at it']]);
    assert.equal(
      [spans.parent, links.kind.length, others.length],
      [[1], 2, 3],
      'its parent and both ends are elsewhere',
    );
    assert.is((await get(`${path}?after=0`)).whole, true, 'the whole comes after it');
    for (const query of [`around=${tool}&after=1`, `around=${tool}&cursor=x`, 'around=x'])
      assert.equal(await fails(`${path}?${query}`), [400, 'bad-request'], query);
    assert.equal(await fails(`${path}?around=${idOf('span', 7)}`), [404, 'span-unknown']);
    await insertSessions(database(), [{ n: 1 }]);
    const other = `/v1/sessions/${idOf('session', 1)}/outline`;
    assert.equal(await fails(`${other}?around=${tool}`), [404, 'span-unknown'], 'of another session');
  });

  test('no such session is 404, a revision that is none is 400, and one that never was gives all', async () => {
    assert.equal(await fails(`/v1/sessions/${idOf('session', 7)}/outline`), [404, 'session-unknown']);
    await insertSessions(database(), [{ n: 1 }]);
    const path = `/v1/sessions/${idOf('session', 1)}/outline`;
    for (const after of ['-1', '1.5', 'x', '', '9'.repeat(16), '1&after=2'])
      assert.equal(await fails(`${path}?after=${after}`), [400, 'bad-request'], after);
    const empty = await get(path);
    assert.equal([empty.rev, empty.whole, empty.spans.span_id], ['1', true, []]);
    assert.is((await get(`${path}?after=1`)).whole, false);
    assert.is((await get(`${path}?after=99`)).whole, true);
    await database().execute('deleteSession', { session_id: idOf('session', 1) });
    assert.equal(await fails(path), [404, 'session-unknown']);
  });

  test('turns that move to another session, and turns that are purged, leave no reader with what is gone', async () => {
    const session_id = await store('s', ...conversation);
    const other_id = await store('other', { at: 3, call_id: 'z', says: [user('Hello')], answers: answer('Hi') });
    await deriveAll(database());
    const readers = [outlineReader(api(), session_id), outlineReader(api(), other_id)];
    const agree = async () => {
      for (const [i, id] of [session_id, other_id].entries()) {
        const fresh = outlineReader(api(), id);
        await fresh.follow();
        await readers[i]?.follow();
        assert.equal(readers[i]?.read(), fresh.read());
      }
    };
    await agree();
    const target = { harness_id: 'test', thread_id: '', parent_harness_session_id: null, reason: 'a test' };
    for (const [call, harness_session_id] of [
      ['a', 'other'],
      ['c', 'other'],
      ['a', 's'],
    ] as const) {
      const own = { ...target, harness_session_id, raw_turn_id: null, svc_proxy_request_id: call };
      assert.ok((await database().execute('repairAttribution', own))?.recorded);
      await agree();
      await deriveAll(database());
      await agree();
    }
    const before = Object.keys(readers[1]?.read().spans ?? {}).length;
    assert.is(before, 4, 'the call that moved, and the one that was there');
    const opened = await database().execute('openPurge', { session_id });
    await database().execute('purgeSession', { session_id, up_to: opened?.up_to ?? 0, made: [], reason: 'a test' });
    assert.equal(await fails(`/v1/sessions/${session_id}/outline`), [404, 'session-unknown']);
    await readers[1]?.follow();
    await deriveAll(database());
    const [last] = (await readers[1]?.follow()) ?? [];
    const fresh = outlineReader(api(), other_id);
    await fresh.follow();
    assert.equal(readers[1]?.read(), fresh.read());
    assert.is(last?.whole, false, 'it has what was derived anew');
  });

  test('whatever comes in whatever order: changes laid over each other are what is there', async () => {
    await fc.assert(
      fc.asyncProperty(
        generatedCalls({ minLength: 2, maxLength: 12 }),
        fc.array(fc.nat({ max: 1000 }), { minLength: 12, maxLength: 12 }),
        fc.nat({ max: 3 }),
        async (calls, order, together) => {
          await database().reset();
          const shuffled = calls
            .map((call, i) => ({ call, at: i + ((order[i] ?? 0) % 4) }))
            .sort((a, b) => a.at - b.at)
            .map(({ call }) => call);
          let reader: ReturnType<typeof outlineReader> | null = null;
          for (let from = 0; from < shuffled.length; from += 1 + together) {
            const session_id = await store('s', ...shuffled.slice(from, from + 1 + together));
            await deriveAll(database());
            reader ??= outlineReader(api(), session_id);
            await reader.follow();
            const fresh = outlineReader(api(3), session_id);
            await fresh.follow();
            assert.equal(reader.read(), fresh.read());
          }
        },
      ),
      { numRuns: 12 },
    );
  });
});

const conversation: Call[] = [
  {
    at: 0,
    call_id: 'a',
    says: [user('Look at it')],
    answers: answer('I look', toolUse('t1', 'Bash', { command: 'ls -l dist' })),
  },
  {
    at: 1,
    call_id: 'b',
    says: [
      user('Look at it'),
      assistant(...answer('I look', toolUse('t1', 'Bash', { command: 'ls -l dist' })).content),
      user(toolResult('t1', 'a\nb\nc', true)),
    ],
    answers: answer('It is broken'),
  },
  {
    at: 10,
    call_id: 'c',
    says: [
      user('Look at it'),
      assistant(...answer('I look', toolUse('t1', 'Bash', { command: 'ls -l dist' })).content),
      user(toolResult('t1', 'a\nb\nc', true)),
      assistant(...answer('It is broken').content),
      user('And now?'),
    ],
    answers: answer('Better'),
  },
];
