/** What the read API says of a session, `svc_v1.sessions` says in SQL. */
import * as assert from 'uvu/assert';
import { databaseSuite } from '../../support/databases.ts';
import { idOf, insertRollups, insertSessions } from '../../support/projection-rows.ts';
import { type Json, testApi } from '../../support/read-api.ts';

const used = (cost_usd: string | null) => [
  { model: 'm', price: null, calls: 1, input_tokens: 1, output_tokens: 1, cost_usd },
];

/** A rollup, and what people call the session. */
const sessions: { rollup: Record<string, unknown> | null; display_name?: string; harness_session_id?: string }[] = [
  { rollup: { title: 'Titled', preview: 'Asked', name: 'slug' }, display_name: 'Named' },
  { rollup: { title: 'Titled', preview: 'Asked', name: 'slug', model_usage: used('0.25'), cost_usd: '0.25' } },
  { rollup: { preview: 'Asked for more than a title', name: 'slug', model_usage: used(null) } },
  { rollup: { title: '  ', preview: '{"task":1}', name: 'slug', model_usage: [...used(null), ...used('0')] } },
  { rollup: { preview: '[1, 2]' } },
  { rollup: { preview: '{"task":"cut off wher', name: ' ' } },
  { rollup: { preview: '[{"role":"user","content":"cut o' } },
  { rollup: { preview: ' [draft] write a poem' } },
  { rollup: null },
  { rollup: null, harness_session_id: '' },
];

databaseSuite('the contract in SQL and over HTTP', (test, database) => {
  test('svc_v1.sessions has the title that people see, and null for a cost that is not known, as the API does', async () => {
    await insertSessions(
      database(),
      sessions.map(({ harness_session_id }, n) => ({
        n,
        ...(harness_session_id !== undefined && { harness_session_id }),
      })),
    );
    await insertRollups(
      database(),
      sessions.flatMap(({ rollup }, n) => (rollup ? [{ n, ...rollup }] : [])),
    );
    for (const [n, { display_name }] of sessions.entries())
      if (display_name)
        await database().sql('insert into svc.session_edits (session_id, display_name) values ($1::uuid, $2)', [
          idOf('session', n),
          display_name,
        ]);
    const rows = await database().sql(
      'select id::text, display_title, derived_title, total_cost_usd::float8 as cost from svc_v1.sessions order by id',
    );
    const answer = await testApi({ execute: database().execute }).request('/v1/sessions?limit=100');
    const { items } = (await answer.json()) as Json;
    assert.equal(
      rows.map(({ id, display_title, derived_title, cost }) => [id, display_title, derived_title ?? undefined, cost]),
      items
        .map(({ id, display_title, rollup }: Json) => [id, display_title, rollup.title, rollup.usage.cost_usd])
        .sort(),
    );
    assert.equal(rows.map(({ display_title }) => display_title).slice(0, 4), [
      'Named',
      'Titled',
      'Asked for more than a title',
      'slug',
    ]);
    assert.equal(rows.map(({ cost }) => cost).slice(0, 4), [null, 0.25, null, 0]);
  });

  test('svc_v1.session_changes counts the sessions with something new to derive, in every row', async () => {
    const counted = () => database().sql('select sessions_to_derive from svc_v1.session_changes');
    await database().sql(
      'insert into svc.session_changes (session_id) select gen_random_uuid() from generate_series(1, 2)',
    );
    assert.equal(await counted(), [{ sessions_to_derive: 0 }, { sessions_to_derive: 0 }]);
    await database().sql(`
      insert into svc.derive_queue (session_id, try_after, leased_until, parked_at)
      values (gen_random_uuid(), now(), null, null), (gen_random_uuid(), now(), now() + interval '15 s', null),
             (gen_random_uuid(), '-infinity', null, null), (gen_random_uuid(), now() + interval '1 minute', null, null),
             (gen_random_uuid(), now(), null, now())`);
    assert.equal(await counted(), [{ sessions_to_derive: 2 }, { sessions_to_derive: 2 }]);
  });
});
