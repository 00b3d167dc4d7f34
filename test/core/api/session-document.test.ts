/** A session or a trace while its next call is derived: what the document says of the whole and what it says of each step are of one moment. */
import * as assert from 'uvu/assert';
import { openPool } from '../../../core/db/client/server.ts';
import type { Database } from '../../../core/db/database.ts';
import { sessionStart } from '../../../core/db/read/session-start.ts';
import { databaseSuite } from '../../support/databases.ts';
import {
  idOf,
  insertLinks,
  insertRollups,
  insertSessions,
  insertSpans,
  insertTraces,
} from '../../support/projection-rows.ts';
import { type Json, testApi } from '../../support/read-api.ts';

databaseSuite('a session document under writes', (test, database) => {
  const session_id = idOf('session', 1);
  const limits = { traces: 200, spans: 500, firstSpans: 500, links: 1_000 };

  test.before.each(async () => {
    await database().reset();
    await insertSessions(database(), [{ n: 1 }]);
    await insertRollups(database(), [{ n: 1 }]);
  });

  /** A trace of two calls with a link between them, all in one transaction, as a fold is committed. */
  let lastTrace = 0;
  const derive = async () => {
    const n = ++lastTrace;
    const statements: [text: string, values: unknown[] | undefined][] = [];
    const later = { sql: async (text: string, values?: unknown[]) => void statements.push([text, values]) as never };
    await insertTraces(later, [{ n, session: 1, input_tokens: 10 }]);
    await insertSpans(later, [
      { n: 2 * n, trace: n, session: 1, input_tokens: 4 },
      { n: 2 * n + 1, trace: n, session: 1, input_tokens: 6 },
    ]);
    await insertLinks(later, [{ kind: 'feeds', session: 1, from: [n, 2 * n], to: [n, 2 * n + 1] }]);
    const parts = statements.map(([text], i) => `part${i} as (${text.replace('$1', `$${i + 1}`)})`);
    // One statement is one transaction: its foreign keys are looked at when it ends.
    await database().sql(
      `with ${parts.join(', ')}
       update svc.session_rollups set input_tokens = input_tokens + 10, trace_count = trace_count + 1 where session_id = $4::uuid`,
      [...statements.map(([, values]) => values?.[0]), session_id],
    );
  };

  const agrees = ({ session, traces, links }: Json) => {
    const spans = traces.flatMap((entry: Json) => entry.spans);
    const tokens = spans.reduce((sum: number, span: Json) => sum + span.usage.input_tokens, 0);
    assert.equal(
      [traces.length, spans.length, tokens, links.length],
      [
        session.rollup.turn_count,
        2 * session.rollup.turn_count,
        session.rollup.usage.input_tokens,
        session.rollup.turn_count,
      ],
    );
  };

  test('whatever is derived between two of its questions, the whole agrees with its parts', async () => {
    await derive();
    const execute = (async (name: 'ping', args: never) => {
      const answer = await database().execute(name, args);
      await derive();
      return answer;
    }) as Database['execute'];
    const api = testApi({ execute });
    for (let n = 0; n < 3; n++) agrees(await (await api.request(`/v1/sessions/${session_id}/traces`)).json());
  });

  test('nor is anything told that is derived while its first pages are read', async () => {
    await derive();
    const { dsn } = database();
    if (dsn === undefined) return; // the embedded database does one transaction at a time
    const pool = openPool({ dsn, pooled: false, size: 1 });
    const db = pool.sqlFor(60_000);
    const busy: typeof db = {
      ...db,
      transaction: (work) =>
        db.transaction((tx) =>
          work({
            ...tx,
            rows: async (statement) => {
              const rows = await tx.rows(statement);
              await derive();
              return rows as never;
            },
          }),
        ),
    };
    try {
      const start = await sessionStart(busy, { session_id, payload: 'full', limits });
      assert.equal(
        [
          start?.session.rollup.usage.input_tokens,
          start?.traces.traces.length,
          start?.spans.spans.length,
          start?.links?.links.length,
        ],
        [10, 1, 2, 1],
      );
      assert.is(
        (await database().execute('sessionStart', { session_id, payload: 'full', limits }))?.traces.traces.length,
        5,
        'and it was written meanwhile',
      );
    } finally {
      await pool.close();
    }
  });

  test('whatever is derived of a trace between two questions, its totals agree with its steps', async () => {
    await derive();
    const trace_id = idOf('trace', lastTrace);
    let seq = 1;
    const step = () =>
      database().sql(
        `with step as (
           insert into svc.spans (trace_id, span_id, session_id, seq, kind, name, started_at, input_tokens)
           values ($1::uuid, gen_random_uuid(), $2::uuid, $3::integer, 'llm', '', now(), 5))
         update svc.traces set span_count = $3::integer + 1, input_tokens = 10 + ($3::integer - 1) * 5 where trace_id = $1::uuid`,
        [trace_id, session_id, ++seq],
      );
    await step();
    const execute = (async (name: 'ping', args: never) => {
      const answer = await database().execute(name, args);
      await step();
      return answer;
    }) as Database['execute'];
    for (let n = 0; n < 3; n++) {
      const { trace, spans }: Json = await (await testApi({ execute }).request(`/v1/traces/${trace_id}`)).json();
      const tokens = spans.reduce((sum: number, span: Json) => sum + span.usage.input_tokens, 0);
      assert.equal([spans.length, tokens], [trace.span_count, trace.usage.input_tokens]);
    }
  });

  test('a trace that is longer than its first page is told whole, and its links last', async () => {
    await derive();
    const trace_id = idOf('trace', lastTrace);
    const small = { spans: 1, firstSpans: 1, links: 1 };
    const start = await database().execute('traceStart', { trace_id, payload: 'full', limits: small });
    assert.equal([start?.spans.spans.length, start?.links], [1, null]);
    const api = testApi({
      execute: (name, args) =>
        database().execute(name, (name === 'traceStart' ? { ...args, limits: small } : args) as typeof args),
    });
    const document: Json = await (await api.request(`/v1/traces/${trace_id}`)).json();
    assert.equal([document.spans.length, document.links.length], [2, 1]);
  });

  test('a session that is longer than its first pages is told whole, and its links last', async () => {
    for (let n = 0; n < 5; n++) await derive();
    const small = { traces: 2, spans: 3, firstSpans: 2, links: 1 };
    const start = await database().execute('sessionStart', { session_id, payload: 'full', limits: small });
    assert.equal([start?.traces.traces.length, start?.spans.spans.length, start?.links], [2, 2, null]);
    const api = testApi({
      execute: (name, args) =>
        database().execute(name, (name === 'sessionStart' ? { ...args, limits: small } : args) as typeof args),
    });
    const document: Json = await (await api.request(`/v1/sessions/${session_id}/traces`)).json();
    assert.is(document.traces.length, 5);
    agrees(document);
  });
});
