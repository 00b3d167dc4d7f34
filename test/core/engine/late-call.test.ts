/** A conversation whose calls carry all that was said is one session in whatever order they come; so two proxies may take them in. */
import { sql } from 'drizzle-orm';
import { PgDialect } from 'drizzle-orm/pg-core';
import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import type { JournalCall } from '../../../core/capture/journal-format.ts';
import { isCarriedAnswer } from '../../../core/db/store/carried-answers.ts';
import { capturedCall, chat, chatAnswer, takeIn } from '../../support/captured-calls.ts';
import { dagDump } from '../../support/dag-dump.ts';
import { databaseSuite, type TestDatabase } from '../../support/databases.ts';
import { deriveAll } from '../../support/derive-all.ts';

/** The call that ends with the last of these words; before it they were said in turn. */
const call = (n: number, words: readonly string[], answer: string, client = 'one'): JournalCall =>
  capturedCall({ n, client, request: chat(...words), response: chatAnswer(answer) });

const words = ['Count', 'One', 'On', 'Two', 'More', 'Three', 'Still', 'Four'];
const conversation = [1, 3, 5, 7].map((length) => call(length, words.slice(0, length), words[length] ?? ''));

const sessions = (database: TestDatabase) =>
  database.sql(`
    select s.turn_count, s.fork_of_session_id is not null as is_fork,
           array(select t.user_prompt from svc.all_traces t where t.session_id = s.session_id order by t.started_at) as prompts
      from svc.sessions s order by s.started_at, s.session_id`);

/** Which call opened the session is another with each order; it gives it its id. */
const nodesOf = async (database: TestDatabase) =>
  (await dagDump(database)).map((line) => line.replace(/"session_id": "[^"]*"/, '')).sort();

const whole = { turn_count: 4, is_fork: false, prompts: ['Count', 'On', 'More', 'Still'] };

databaseSuite('late calls', (test, database) => {
  test.before.each(() => database().reset());

  const takenIn = async (...batches: JournalCall[][]) => {
    for (const batch of batches) await takeIn(database(), batch);
    await deriveAll(database());
    return await sessions(database());
  };

  test('in any order and any batches they make the session that they make in their own', async () => {
    assert.equal(await takenIn(conversation), [whole]);
    const inOrder = await nodesOf(database());
    await fc.assert(
      fc.asyncProperty(
        fc.shuffledSubarray(conversation, { minLength: 4 }),
        fc.integer({ min: 1, max: 4 }),
        async (calls, size) => {
          await database().reset();
          const batches = Array.from({ length: 4 / size + 1 }, (_, i) => calls.slice(i * size, (i + 1) * size));
          assert.equal(await takenIn(...batches.filter(({ length }) => length > 0)), [whole]);
          assert.equal(await nodesOf(database()), inOrder);
        },
      ),
      { numRuns: 16, seed: 20_261_123 },
    );
  });

  test('a fork is one still, and the late call between goes to the session that it was made in', async () => {
    const [first, second, third] = conversation;
    const fork = call(20, [...words.slice(0, 4), 'Elsewhere'], 'Done');
    if (!first || !second || !third) throw new Error('there are four');
    const made = await takenIn([first], [third], [fork], [second]);
    assert.equal(made, [
      { turn_count: 3, is_fork: false, prompts: ['Count', 'On', 'More'] },
      { turn_count: 1, is_fork: true, prompts: ['Elsewhere'] },
    ]);
  });

  test('whoever opens with the same words and gets the same answer, later or as another client, begins a session', async () => {
    const [, second] = conversation;
    if (!second) throw new Error('there are four');
    const made = await takenIn([second], [call(30, ['Count'], 'One')], [call(1, ['Count'], 'One', 'two')]);
    assert.equal(
      made.map(({ turn_count }) => turn_count),
      [1, 1, 1],
    );
  });

  test('a second call with the same words and answer does not join what has had its first', async () => {
    const [, second] = conversation;
    if (!second) throw new Error('there are four');
    const made = await takenIn([second], [call(1, ['Count'], 'One')], [call(0, ['Count'], 'One')]);
    assert.equal(
      made.map(({ turn_count }) => turn_count),
      [1, 2],
    );
  });

  test('among ten thousand sessions with the same answer the one that shows it in a request is found by its index', async () => {
    await takeIn(database(), conversation.slice(1, 2));
    await database().sql(`
      insert into svc.nodes (session_id, node_hash, raw_turn_id, call_id, position, depth, role, model, provider, agent_name, project,
                             stop_reason, is_root, is_head, requested_at, created_at)
      select gen_random_uuid(), n.node_hash, n.raw_turn_id, 'like ' || i, 0, 1, 'assistant', '', '', '', '', '', false, true, now(), now()
        from svc.nodes n, generate_series(1, 10000) i
       where n.role = 'assistant' and n.slice_id is not null`);
    await database().sql('analyze svc.nodes');
    const { sql: text } = new PgDialect().sqlToQuery(sql`
      explain (format json)
      select n.session_id from svc.nodes n
       where n.node_hash = (select node_hash from svc.nodes where slice_id is not null and role = 'assistant')
         and ${isCarriedAnswer(sql`n`)}`);
    const [row] = await database().sql(text);
    const plan = JSON.stringify(row);
    assert.match(plan, 'nodes_brought_along');
  });
});
