/** The list of all traces: what is deleted takes no places in it, however much of it there is. */
import { PgDialect } from 'drizzle-orm/pg-core';
import * as assert from 'uvu/assert';
import { listTraces } from '../../../../core/db/read/list-traces.ts';
import type { TraceKey } from '../../../../core/db/read/trace-page.ts';
import type { Sql } from '../../../../core/db/sql.ts';
import { databaseSuite, type TestDatabase } from '../../../support/databases.ts';

const idOf = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;

/** Statements of the test's own connection. */
const within = (database: TestDatabase): Sql => ({
  kind: database.kind,
  rows: async (statement) => {
    const { sql: text, params } = new PgDialect().sqlToQuery(statement);
    return (await database.sql(text, params)) as never;
  },
  transaction: () => Promise.reject(new Error('a list has no transaction')),
  script: () => Promise.reject(new Error('a list has no script')),
});

databaseSuite('the list of traces', (test, database) => {
  test('pages are full where whole pages of deleted sessions stand before them, and end with the last one', async () => {
    const traces = Array.from({ length: 30 }, (_, i) => i + 1); // the greater, the newer
    const deleted = traces.filter((n) => n > 20 || (n > 8 && n < 15));
    for (const n of traces)
      await database().sql(
        `insert into svc.traces (trace_id, session_id, started_at) values ($1::uuid, $1::uuid, '2026-01-01'::timestamptz + $2 * interval '1 hour')`,
        [idOf(n), n],
      );
    for (const n of deleted)
      await database().sql('insert into svc.session_edits (session_id, deleted_at) values ($1::uuid, now())', [
        idOf(n),
      ]);
    const found: string[] = [];
    const sizes: number[] = [];
    let after: TraceKey | null = null;
    do {
      const page: Awaited<ReturnType<typeof listTraces>> = await listTraces(within(database()), {
        ...{ session_id: null, after, limit: 4 },
      });
      found.push(...page.traces.map(({ trace_id }) => trace_id));
      sizes.push(page.traces.length);
      after = page.next;
    } while (after !== null);
    assert.equal(
      found,
      traces
        .filter((n) => !deleted.includes(n))
        .toReversed()
        .map(idOf),
    );
    assert.equal(sizes, [4, 4, 4, 2]);
  });

  test('nothing but deleted sessions is an empty page', async () => {
    await database().sql(
      'insert into svc.session_edits (session_id, deleted_at) select session_id, now() from svc.traces on conflict do nothing',
    );
    assert.equal(await listTraces(within(database()), { session_id: null, after: null, limit: 4 }), {
      ...{ traces: [], next: null },
    });
  });
});
