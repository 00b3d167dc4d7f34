/** Is the index what the sessions have now, however often the work was broken off, and whatever was derived again or removed meanwhile? */
import * as assert from 'uvu/assert';
import { openIndexing } from '../../../../core/engine/find/index-texts.ts';
import { removeBatch } from '../../../../core/engine/retention/remove-batch.ts';
import { answer, assistant, type Call, toolResult, toolUse, user } from '../../../support/call-turn.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { deriveAll } from '../../../support/derive-all.ts';
import { indexAll } from '../../../support/index-all.ts';
import { journalCall, storeCalls } from '../../../support/stored-calls.ts';

databaseSuite('the index of texts', (test, database) => {
  const store = async (session: string, ...calls: Call[]): Promise<string> => {
    const [session_id = ''] = await storeCalls(
      database(),
      calls.map((call) => journalCall(session, call)),
    );
    await deriveAll(database());
    return session_id;
  };
  const rows = () =>
    database().sql('select span_id, place, piece, at, terms from svc.found_texts order by span_id, place, piece');
  const coverage = () => database().execute('findCoverage', {});
  const conversation = (...prompts: string[]): Call[] => {
    const says: NonNullable<Call['says']> = [];
    return prompts.map((prompt, i) => {
      says.push(user(prompt));
      const call: Call = { at: i + 1, says: [...says], answers: answer(`answer ${i}`) };
      says.push(assistant(`answer ${i}`));
      return call;
    });
  };

  test.before.each(() => database().reset());

  test('work that is broken off goes on where it ended, and gives the same', async () => {
    const prompts = Array.from({ length: 6 }, (_, i) => `prompt number ${i}`);
    await store('s', ...conversation(...prompts));
    await indexAll(database());
    const whole = await rows();
    assert.is(whole.length, 6);
    await database().sql('truncate svc.found_texts, svc.found_sessions');
    for (let i = 0; i < 20; i += 1) {
      const stopping = new AbortController();
      const { spans, spans_indexed } = await coverage();
      if (spans_indexed === spans) break;
      // Aborted after its first write, which has two spans.
      const indexBehind = openIndexing({
        execute: (async (name: string, args: object) => {
          const limited = name === 'spansToIndex' ? { ...args, limit: 2 } : args;
          const result = await database().execute(name as never, limited as never);
          if (name === 'writeIndexed') stopping.abort();
          return result;
        }) as never,
        committing: (work) => work(),
        rest: async () => {},
      });
      await indexBehind(stopping.signal);
    }
    assert.equal(await rows(), whole);
    assert.equal(await coverage(), { spans: 12, spans_indexed: 12 });
  });

  test('only what changed is read again', async () => {
    await store('s', ...conversation('one', 'two'));
    await indexAll(database());
    await store('s', ...conversation('one', 'two', 'three').slice(2));
    const read: number[] = [];
    const indexBehind = openIndexing({
      execute: (async (name: string, args: never) => {
        const result = await database().execute(name as never, args);
        if (name === 'spansToIndex') read.push((result as { spans: unknown[] }).spans.length);
        return result;
      }) as never,
      committing: (work) => work(),
      rest: async () => {},
    });
    await indexBehind(new AbortController().signal);
    assert.equal(read, [2]);
    assert.is((await rows()).length, 3);
  });

  test('after everything was derived again the index is the same', async () => {
    const session_id = await store(
      's',
      { at: 1, says: [user('look')], answers: answer(toolUse('t1', 'Bash', { command: 'ls' })) },
      {
        at: 2,
        says: [user('look'), assistant(toolUse('t1', 'Bash', { command: 'ls' })), user(toolResult('t1', 'found'))],
        answers: answer('so'),
      },
    );
    await indexAll(database());
    const before = await rows();
    await database().execute('markFromScratch', { session_id });
    await deriveAll(database());
    await indexAll(database());
    assert.equal(await rows(), before);
  });

  test('a call that comes late moves what is after it, and leaves nothing behind', async () => {
    const [first, , third] = conversation('one', 'two', 'three');
    await store('s', first as Call, third as Call);
    await indexAll(database());
    await store('s', conversation('one', 'two', 'three')[1] as Call);
    await indexAll(database());
    const after = await rows();
    await database().sql('truncate svc.found_texts, svc.found_sessions');
    await indexAll(database());
    assert.equal(await rows(), after);
  });

  test('what retention removes is not in it', async () => {
    const session_id = await store('s', ...conversation('one', 'two'));
    await store('other', { at: 9, says: [user('else')], answers: answer('yes') });
    await indexAll(database());
    const [{ last_seen_at } = {}] = await database().sql(
      `select last_seen_at::text from svc.sessions where session_id = '${session_id}'`,
    );
    const removing = {
      database: database(),
      committing: <T>(work: () => Promise<T>) => work(),
      pause: async () => {},
      signal: new AbortController().signal,
    };
    const due = [{ session_id, last_seen_at: String(last_seen_at), turns: 2 }];
    assert.is((await removeBatch(removing, due as never, 'test')).sessions, 1);
    for (const table of ['found_texts', 'found_sessions', 'found_prompt_uses'])
      assert.equal(await database().sql(`select 1 from svc.${table} where session_id = '${session_id}'`), [], table);
    assert.is((await rows()).length, 1);
  });
});
