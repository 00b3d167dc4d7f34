/** A conversation that goes on from within another is linked to it, whichever of the two is derived anew. */
import type { SQL } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';
import * as assert from 'uvu/assert';
import { linksOf } from '../../../core/db/read/session-traces.ts';
import type { Sql } from '../../../core/db/sql.ts';
import { capturedCall, chat, chatAnswer, requestId, takeIn } from '../../support/captured-calls.ts';
import { databaseSuite } from '../../support/databases.ts';
import { deriveAll } from '../../support/derive-all.ts';
import { idOf } from '../../support/projection-rows.ts';
import { type Json, testApi } from '../../support/read-api.ts';

/** One conversation that goes on in two ways. */
const LEFT = ['Hello', 'ok', 'More', 'More it is', 'Left'];
const CALLS = [
  capturedCall({ n: 1, request: chat('Hello') }),
  capturedCall({ n: 2, request: chat(...LEFT.slice(0, 3)), response: chatAnswer('More it is') }),
  capturedCall({ n: 3, request: chat(...LEFT), response: chatAnswer('Left it is') }),
  capturedCall({ n: 4, request: chat(...LEFT.slice(0, 4), 'Right'), response: chatAnswer('Right it is') }),
];

databaseSuite('fork links', (test, database) => {
  test.before.each(() => database().reset());

  const api = () => testApi({ execute: database().execute });
  const get = async (path: string): Promise<Json> => {
    const response = await api().request(path);
    assert.is(response.status, 200, path);
    return response.json();
  };
  const spanOf = async (n: number): Promise<{ trace_id: string; span_id: string; session_id: string }> => {
    const [span] = await database().sql(
      `select s.trace_id, s.span_id, s.session_id from svc.spans s join svc.raw_turns t on t.raw_turn_id = s.raw_turn_id
        where s.kind = 'llm' and t.svc_proxy_request_id = $1`,
      [requestId(n)],
    );
    if (!span) throw new Error(`call ${n} has a span`);
    return span as never;
  };
  const forkLinks = async (path: string) => (await get(path)).links.filter(({ kind }: Json) => kind === 'fork-of');
  const expected = async (from: number, to: number) => {
    const [a, b] = [await spanOf(from), await spanOf(to)];
    assert.is.not(a.session_id, b.session_id);
    return {
      kind: 'fork-of',
      ...{ from_trace_id: a.trace_id, from_span_id: a.span_id, to_trace_id: b.trace_id, to_span_id: b.span_id },
    };
  };

  test('the first call of the fork is linked to the call whose answer it goes on from', async () => {
    await takeIn(database(), CALLS);
    await deriveAll(database());
    const [fork, origin] = [await spanOf(4), await spanOf(2)];
    const link = await expected(4, 2);
    assert.equal(await forkLinks(`/v1/sessions/${fork.session_id}/traces`), [link]);
    assert.equal(await forkLinks(`/v1/sessions/${origin.session_id}/traces`), [], 'it is a link of the fork');
    for (const { session_id } of [fork, origin]) {
      const { spans, links, names, others }: Json = await get(`/v1/sessions/${session_id}/outline`);
      const rows = links.kind.flatMap((kind: number, row: number) => (names[kind] === 'fork-of' ? [row] : []));
      assert.is(rows.length, 1, 'an outline has it on both sides');
      const [from, to] = [links.from[rows[0]], links.to[rows[0]]].map(
        (end) => others[end - spans.span_id.length]?.session_id ?? session_id,
      );
      assert.equal([from, to], [fork.session_id, origin.session_id]);
    }
    assert.equal(await forkLinks(`/v1/traces/${fork.trace_id}`), [link]);
    assert.equal(await forkLinks(`/v1/traces/${origin.trace_id}`), [link]);
    assert.equal(
      await database().sql(
        `select kind, from_trace_id, from_span_id, to_trace_id, to_span_id from svc_v1.span_links where session_id = $1`,
        [fork.session_id],
      ),
      [link],
    );
    const [first = 0] = (await database().sql('select count(*)::integer as n from svc.traces')).map(({ n }) => n);
    for (const { trace_id } of await database().sql('select trace_id from svc.traces'))
      if (trace_id !== fork.trace_id && trace_id !== origin.trace_id)
        assert.equal(await forkLinks(`/v1/traces/${trace_id}`), []);
    assert.ok(Number(first) > 2, 'there are others');
  });

  test('another answer to the same prompt is linked to the call that was asked with it', async () => {
    await takeIn(database(), [
      ...CALLS.slice(0, 3),
      capturedCall({ n: 5, request: chat(...LEFT.slice(0, 3)), response: chatAnswer('No more') }),
    ]);
    await deriveAll(database());
    assert.equal(await forkLinks(`/v1/traces/${(await spanOf(5)).trace_id}`), [await expected(5, 2)]);
  });

  test('deriving either side anew loses nothing, nor does the order in which they are derived', async () => {
    await takeIn(database(), CALLS);
    await deriveAll(database());
    const { session_id } = await spanOf(4);
    const before = await forkLinks(`/v1/sessions/${session_id}/traces`);
    for (const n of [4, 2]) {
      await database().execute('markFromScratch', { session_id: (await spanOf(n)).session_id });
      await deriveAll(database());
      assert.equal(await forkLinks(`/v1/sessions/${session_id}/traces`), before);
    }
    await database().sql('truncate svc.traces, svc.spans, svc.span_links, svc.session_rollups, svc.derive_states');
    assert.equal(await forkLinks(`/v1/sessions/${session_id}/traces`), [], 'neither is there');
    await database().execute('markFromScratch', { session_id });
    await deriveAll(database());
    assert.equal(await forkLinks(`/v1/sessions/${session_id}/traces`), [], 'the origin is not there');
    await database().execute('markFromScratch', { session_id: null });
    await deriveAll(database());
    assert.equal(await forkLinks(`/v1/sessions/${session_id}/traces`), before);
  });

  test('a deleted session is linked to nothing, on either side', async () => {
    for (const gone of [2, 4]) {
      await database().reset();
      await takeIn(database(), CALLS);
      await deriveAll(database());
      const left = await spanOf(gone === 2 ? 4 : 2);
      const response = await api().request(`/v1/sessions/${(await spanOf(gone)).session_id}`, { method: 'DELETE' });
      assert.is(response.status, 204);
      assert.equal(await forkLinks(`/v1/traces/${left.trace_id}`), []);
      assert.equal(await forkLinks(`/v1/sessions/${left.session_id}/traces`), []);
      assert.equal(await database().sql(`select 1 from svc_v1.span_links where kind = 'fork-of'`), []);
    }
  });

  test('links come in pages, those of forks in their place among the others', async () => {
    await takeIn(database(), CALLS);
    await deriveAll(database());
    const { session_id, trace_id, span_id } = await spanOf(4);
    await database().sql(
      `insert into svc.span_links (session_id, kind, from_trace_id, from_span_id, to_trace_id, to_span_id)
       select $1::uuid, 'emits', $2::uuid, (to_hex(n) || substr($3::text, 2))::uuid, $2::uuid, $3::uuid
         from generate_series(0, 15) n`,
      [session_id, trace_id, span_id],
    );
    for (const of of [{ session_id }, { trace_id }]) {
      const all = (await database().execute('linksOf', { of, after: null, limit: 100 })).links;
      assert.is(all.length, 17);
      assert.equal(
        all.map((link) => `${link.from_span_id} ${link.to_trace_id} ${link.kind}`),
        all.map((link) => `${link.from_span_id} ${link.to_trace_id} ${link.kind}`).sort(),
      );
      const paged: Json[] = [];
      for (let after: Json = null; ; ) {
        const { links, next } = await database().execute('linksOf', { of, after, limit: 3 });
        paged.push(...links);
        if (!next) break;
        after = next;
      }
      assert.equal(paged, all);
    }
  });

  test('among fifty thousand forks those of one session or trace are found by their indexes', async () => {
    const id = (digit: number, n = 'n') =>
      `(${digit}::text || lpad(to_hex(${n}), 7, '0') || '-0000-4000-8000-000000000000')::uuid`;
    const each = 'generate_series(0, 49999) n';
    for (const statement of [
      `insert into svc.sessions (session_id, harness_id, harness_session_id, client_key, fork_of_session_id, fork_of_node_hash,
                                 started_at, last_seen_at)
       select ${id(5)}, 'unknown', n::text, '', ${id(5, 'n / 10')}, sha256((n / 10)::text::bytea), now(), now() from ${each}`,
      `insert into svc.traces (trace_id, session_id, started_at) select ${id(7)}, ${id(5)}, now() from ${each}`,
      `insert into svc.spans (trace_id, span_id, session_id, seq, kind, call_kind, name, started_at, raw_turn_id)
       select ${id(7)}, ${id(9)}, ${id(5)}, 0, 'llm', 'main', '', now(), n from ${each}`,
      `insert into svc.nodes (session_id, node_hash, raw_turn_id, call_id, position, depth, role, model, provider, agent_name,
                              project, is_root, is_head, requested_at, created_at)
       select ${id(5)}, sha256(n::text::bytea), n, '', 0, 0, 'user', '', '', '', '', true, true, now(), now() from ${each}`,
      ...['sessions', 'traces', 'spans', 'nodes', 'span_links', 'session_edits'].map((table) => `analyze svc.${table}`),
    ])
      await database().sql(statement);
    const explained = async (text: string, params: readonly unknown[]): Promise<Json> => {
      const [row] = await database().sql(`explain (analyze, timing off, format json) ${text}`, params);
      const answer = row?.['QUERY PLAN'];
      return (typeof answer === 'string' ? JSON.parse(answer) : answer)[0].Plan;
    };
    const statements: SQL[] = [];
    const listening = {
      kind: database().kind,
      rows: async (one: SQL) => {
        statements.push(one);
        return [];
      },
    } as unknown as Sql;
    await linksOf(listening, { of: { session_id: idOf('session', 4_321) }, after: null, limit: 50 });
    await linksOf(listening, { of: { trace_id: idOf('trace', 432) }, after: null, limit: 50 });
    const queries = statements.map((one) => new PgDialect().sqlToQuery(one));
    const ids = [0, 1, 2].map((n) => idOf('session', 4_321 + n));
    queries.push(
      { sql: 'select * from svc_v1.span_links l where l.session_id = $1::uuid', params: [ids[0]] },
      {
        sql: `select a.id, (select count(*) from svc_v1.span_links l where l.session_id = a.id) as links
                from unnest($1::uuid[]) as a (id)`,
        params: [`{${ids.join(',')}}`],
      },
    );
    const found = [1, 11, 1, 3]; // ten sessions go on from the trace's, and it goes on from another
    for (const [i, { sql, params }] of queries.entries()) {
      const plan = await explained(sql, params);
      const read = nodesOf(plan)
        .filter((node) => /Scan/.test(node['Node Type']) && node['Node Type'] !== 'Subquery Scan')
        .reduce(
          (sum, node) => sum + node['Actual Loops'] * (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)),
          0,
        );
      assert.is(plan['Actual Rows'], found[i]);
      assert.ok(read < 200, `${read} rows are read: ${JSON.stringify(plan, null, 1)}`);
    }
  });
});

const nodesOf = (plan: Json): Json[] => [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
