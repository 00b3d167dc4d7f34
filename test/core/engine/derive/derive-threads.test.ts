/** Rows that a later call of another thread changes, and puts back when a late call takes the reason away. */
import * as assert from 'uvu/assert';
import { builtIn } from '../../../../core/call/reader.ts';
import type { Database } from '../../../../core/db/database.ts';
import { deriveSession } from '../../../../core/engine/derive/derive-session.ts';
import { answer, assistant, type Call, toolResult, toolUse, user } from '../../../support/call-turn.ts';
import { databaseSuite, type TestDatabase } from '../../../support/databases.ts';
import { journalCall, storeCalls } from '../../../support/stored-calls.ts';

async function deriveOnce(database: Database): Promise<void> {
  const [lease] = await database.execute('leaseDirty', { limit: 1, background: true, lease_ms: 60_000 });
  if (!lease) throw new Error('Cannot derive: no session is due');
  await deriveSession({ database, reader: builtIn, signal: new AbortController().signal }, lease);
}

const rows = async (database: TestDatabase): Promise<unknown[][]> =>
  Promise.all(
    ['traces', 'spans', 'span_links', 'session_rollups'].map((table) =>
      database.sql(`select (to_jsonb(x) - 'raw_turn_id' - 'rev')::text as row from svc.${table} x order by 1`),
    ),
  );

const agent = async (database: TestDatabase) => {
  const [found] = await database.sql(`
    select a.name, p.name as parent, p.input #> '{0,tool_input}' as tool_input, p.verdict is null as unjudged,
           (select count(*)::int
              from svc.span_links l
             where l.session_id = a.session_id and l.kind = 'rejoin' and l.from_span_id = a.span_id) as rejoins
      from svc.spans a
      join svc.spans p on p.session_id = a.session_id and p.trace_id = a.trace_id and p.span_id = a.parent_span_id
     where a.kind = 'agent' and a.thread_id <> ''`);
  return found;
};

const tools = [
  toolUse('a', 'spawn_agent', { message: 'Count', task_name: 'count' }),
  toolUse('b', 'spawn_agent', { message: 'Count', task_name: 'count' }),
];
const bringing = (at: number, result: object): Call => ({
  at,
  says: [user('Share the work'), assistant(...tools), user(toolResult('b', JSON.stringify(result)))],
  answers: answer(`Thanks ${at}`),
});
const calls: Call[] = [
  { at: 0, says: [user('Share the work')], answers: answer(...tools) },
  { at: 1, thread_id: 'w', says: [user('Count')], answers: answer('One') },
  ...Array.from({ length: 20 }, (_, i): Call => ({ at: 10 + i, says: [user(`Other ${i}`)], answers: answer('Ok') })),
  bringing(60, { agent_id: 'w' }),
].map((call) => ({ ...call, call_id: `call-${call.at}` }));
const late = { ...bringing(40, { agent_id: 'nobody' }), call_id: 'call-40' };

databaseSuite('threads in the database', (test, database) => {
  test('an agent moves under its tool when the result names it, and back when a late call shows that it did not', async () => {
    await storeCalls(
      database(),
      calls.map((call) => journalCall('s', call)),
    );
    await deriveOnce(database());
    assert.equal(await agent(database()), {
      name: 'count',
      parent: 'spawn_agent',
      tool_input: { message: 'Count', task_name: 'count' },
      unjudged: true,
      rejoins: 1,
    });

    await storeCalls(database(), [journalCall('s', late)]);
    await deriveOnce(database());
    const moved = await agent(database());
    assert.equal([moved?.name, moved?.parent, moved?.rejoins], ['subagent', 'main', 0]);

    const before = await rows(database());
    await database().sql('truncate svc.traces, svc.spans, svc.span_links, svc.session_rollups, svc.derive_states');
    await database().sql(`insert into svc.derive_queue (session_id) select session_id from svc.sessions`);
    await deriveOnce(database());
    assert.equal(await rows(database()), before, 'as from scratch');
  });
});
