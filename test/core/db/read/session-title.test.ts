/** A session has one title, wherever it is named. */
import * as assert from 'uvu/assert';
import { answer, user } from '../../../support/call-turn.ts';
import { databaseSuite, type TestDatabase } from '../../../support/databases.ts';
import { deriveAll } from '../../../support/derive-all.ts';
import { testApi } from '../../../support/read-api.ts';
import { journalCall, storeCalls } from '../../../support/stored-calls.ts';

/** The title of the only session, from each place that has it. */
async function titlesOf(database: TestDatabase, session_id: string): Promise<unknown[]> {
  const { items } = await (await testApi({ execute: database.execute }).request('/v1/sessions')).json();
  const keys = (await database.sql('select trace_id, span_id from svc.spans')) as {
    trace_id: string;
    span_id: string;
  }[];
  const { spans } = await database.execute('candidateSpans', { keys });
  const all = { project: null, before: null, since: null, after: null };
  const toPurge = await database.execute('sessionsToPurge', { ...all, session_id, limit: 10 });
  const found = await database.execute('findTextInSession', { session_id, forms: ['nothing'] });
  return [
    items[0].display_title,
    ...spans.map(({ title }) => title),
    ...toPurge.map(({ title }) => title),
    found?.title,
  ];
}

databaseSuite('the title of a session', (test, database) => {
  test('lists, finds, purges and searches for a text name it alike', async () => {
    const [session_id = ''] = await storeCalls(database(), [
      journalCall('the-session-of-a-harness', { at: 0, says: [user('Fix the adder')], answers: answer('Done.') }),
    ]);
    await deriveAll(database());
    for (const [changed, title] of [
      ["name = 'adder-slug'", 'Fix the adder'],
      [`preview = '[{"role":"user"}]'`, 'adder-slug'],
      ["name = '', preview = ''", 'the-session-'],
      ["title = 'The adder'", 'The adder'],
    ] as const) {
      await database().sql(`update svc.session_rollups set ${changed}`);
      assert.equal(new Set(await titlesOf(database(), session_id)), new Set([title]), changed);
    }
  });
});
