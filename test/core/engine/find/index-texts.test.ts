/** Is the index what the sessions have now, however often the work was broken off, and whatever was derived again or removed meanwhile? */
import postgres from 'postgres';
import * as assert from 'uvu/assert';
import { openIndexing } from '../../../../core/engine/find/index-texts.ts';
import { removeBatch } from '../../../../core/engine/retention/remove-batch.ts';
import { answer, assistant, type Call, toolResult, toolUse, user } from '../../../support/call-turn.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { deriveAll } from '../../../support/derive-all.ts';
import { indexAll } from '../../../support/index-all.ts';
import { journalCall, storeCalls } from '../../../support/stored-calls.ts';

class RolledBack extends Error {}

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

  /** Indexes what is behind, and shows each operation with its result to `seen`. @returns how often each was executed */
  const indexShowing = async (
    seen: (name: string, result: unknown) => Promise<void> = async () => {},
    spansAtOnce = 200,
  ): Promise<Record<string, number>> => {
    const counts: Record<string, number> = {};
    const indexBehind = openIndexing({
      execute: (async (name: string, args: object) => {
        counts[name] = (counts[name] ?? 0) + 1;
        const limited = name === 'spansToIndex' ? { ...args, limit: spansAtOnce } : args;
        const result = await database().execute(name as never, limited as never);
        await seen(name, result);
        return result;
      }) as never,
      committing: (work) => work(),
      rest: async () => {},
    });
    await indexBehind(new AbortController().signal);
    return counts;
  };
  const small = (n: number) =>
    journalCall(`small-${n}`, { at: 100 + n, says: [user(`prompt of ${n}`)], answers: answer('so') });

  test('small sessions are indexed together, whatever is read at once', async () => {
    await storeCalls(database(), [
      ...Array.from({ length: 30 }, (_, n) => small(n)),
      ...conversation('one', 'two', 'three').map((call) => journalCall('larger', call)),
      ...Array.from({ length: 9 }, (_, n) => small(30 + n)),
    ]);
    await deriveAll(database());
    const { writeIndexed, pruneIndexed } = await indexShowing();
    assert.is(writeIndexed, 1);
    assert.is(pruneIndexed, undefined, 'nothing of them was in the index');
    const together = await rows();
    assert.is(together.length, 39 + 3);
    for (const spansAtOnce of [1, 4, 7]) {
      await database().sql('truncate svc.found_texts, svc.found_sessions');
      assert.ok(Number((await indexShowing(undefined, spansAtOnce)).writeIndexed) > 84 / 7 - 1);
      assert.equal(await rows(), together, `${spansAtOnce} at once`);
      const { spans, spans_indexed } = await coverage();
      assert.is(spans_indexed, spans);
    }
  });

  test('a session that is removed while it is read does not come into the index, and the others do', async () => {
    const [removed = ''] = await storeCalls(database(), [small(0), small(1), small(2)]);
    await deriveAll(database());
    await indexShowing(async (name) => {
      if (name === 'spansToIndex')
        await database().sql(`delete from svc.session_rollups where session_id = '${removed}'`);
    });
    const indexed = await database().sql(
      'select session_id from svc.found_texts union select session_id from svc.found_sessions',
    );
    assert.is(indexed.length, 2);
    assert.not.ok(indexed.some(({ session_id }) => session_id === removed));
  });

  test('a session that loses rows while it is read is read once more', async () => {
    const [changed = ''] = await storeCalls(database(), [small(0), small(1)]);
    await deriveAll(database());
    const indexed = async () =>
      (await database().sql('select session_id from svc.found_sessions')).map(({ session_id }) => session_id);
    await indexShowing(async (name) => {
      if (name === 'spansToIndex')
        await database().sql(`
          update svc.session_revisions set rev = rev + 1, floor = rev + 1 where session_id = '${changed}'`);
    });
    assert.is((await indexed()).length, 1);
    assert.not.ok((await indexed()).includes(changed));
    assert.is((await rows()).length, 1);
    await indexAll(database());
    assert.ok((await indexed()).includes(changed));
    assert.is((await rows()).length, 2);
  });

  test('a session whose removal is under way keeps nobody waiting, and is indexed if it stays', async () => {
    const { dsn } = database();
    if (dsn === undefined) return; // the embedded database has one connection
    const [locked = ''] = await storeCalls(database(), [small(0), small(1)]);
    await deriveAll(database());
    const other = postgres(dsn, { max: 1 });
    const rolledBack = await other
      .begin(async (tx) => {
        await tx`delete from svc.session_rollups where session_id = ${locked}`;
        await indexShowing();
        assert.is((await rows()).length, 1);
        throw new RolledBack();
      })
      .catch((error) => error);
    await other.end();
    assert.instance(rolledBack, RolledBack, String(rolledBack));
    await indexAll(database());
    assert.is((await rows()).length, 2);
  });

  /** A call with a system prompt. */
  const prompted = (n: number, system: string) => withPrompt(small(n), system);
  const withPrompt = (call: ReturnType<typeof journalCall>, system: string) => {
    const request = Buffer.from(JSON.stringify({ system, ...JSON.parse(call.request.toString()) }));
    return { ...call, request, closed: call.closed && { ...call.closed, request_bytes: request.byteLength } };
  };
  const uses = () =>
    database().sql(`
      select s.harness_session_id as session, u.block, u.start, p.text
        from svc.found_prompt_uses u join svc.found_prompts p using (piece_id) join svc.sessions s using (session_id)
       order by 1, 2, 3`);

  test('a system prompt that sessions share is stored once, and found in each; one whose bytes are missing spoils no other', async () => {
    await storeCalls(database(), [
      ...[0, 1, 2].map((n) => prompted(n, 'You are a zebra.')),
      prompted(3, 'You are a horse.'),
      prompted(4, 'You are a donkey.'),
    ]);
    await deriveAll(database());
    const [lost] = await database().sql(`
      select encode(substring(t.request_pages from 1 for 32), 'hex') as slice_id
        from svc.raw_turns t join svc.sessions s using (session_id) where s.harness_session_id = 'small-3'`);
    await database().sql(`delete from svc.slices where slice_id = decode('${lost?.slice_id}', 'hex')`);
    await indexAll(database());
    const zebra = { block: 0, start: 0, text: 'You are a zebra.' };
    assert.equal(await uses(), [
      ...[0, 1, 2].map((n) => ({ session: `small-${n}`, ...zebra })),
      { session: 'small-4', ...zebra, text: 'You are a donkey.' },
    ]);
    assert.is((await database().sql('select 1 from svc.found_prompts')).length, 2);
    assert.is((await rows()).length, 5, 'what was said is found all the same');
  });

  /** Some 700,000 characters. */
  const large = (n: number) => Array.from({ length: 30_000 }, (_, i) => `line ${i} of library ${n}\n`).join('');

  test('large prompts are written with commits of their own; of each the beginning is in the index', async () => {
    await storeCalls(database(), [
      ...[0, 1, 2].map((n) => prompted(n, large(n))),
      prompted(3, 'You are a horse.'),
      small(4),
      ...conversation('one', 'two').map((call) => journalCall('talk', call)),
    ]);
    await deriveAll(database());
    assert.ok(((await indexShowing()).writeIndexed ?? 0) >= 3);
    const { spans, spans_indexed } = await coverage();
    assert.is(spans_indexed, spans);
    const [indexed] = await database().sql(`
      select count(distinct u.session_id) as sessions, max(u.start + length(p.text)) as reached
        from svc.found_prompt_uses u join svc.found_prompts p using (piece_id)`);
    assert.equal([Number(indexed?.sessions), Number(indexed?.reached)], [4, 524_288]);
    assert.is((await rows()).length, 7);
  });

  test('a large prompt that sessions share costs one commit', async () => {
    await storeCalls(
      database(),
      [0, 1, 2, 3].map((n) => prompted(n, large(0))),
    );
    await deriveAll(database());
    assert.is((await indexShowing()).writeIndexed, 1);
    const [found] = await database().sql('select count(distinct session_id) as sessions from svc.found_prompt_uses');
    assert.is(Number(found?.sessions), 4);
  });

  test('of a session that is passed over nothing further is written: what is before would be missing', async () => {
    const calls = conversation('one', 'two').map((call, n) => withPrompt(journalCall('talk', call), large(n)));
    await storeCalls(database(), calls);
    await deriveAll(database());
    let writes = 0;
    const indexBehind = openIndexing({
      execute: (async (name: string, args: object) =>
        name === 'writeIndexed' && writes++ === 0 ? [] : database().execute(name as never, args as never)) as never,
      committing: (work) => work(),
      rest: async () => {},
    });
    await indexBehind(new AbortController().signal);
    assert.equal(await rows(), []);
    await indexAll(database());
    const { spans, spans_indexed } = await coverage();
    assert.equal([spans_indexed, (await rows()).length], [spans, 2]);
  });

  test('what was indexed by other rules is indexed again', async () => {
    await store('s', ...conversation('one', 'two'));
    await indexAll(database());
    const before = await rows();
    await database().sql("update svc.found_texts set terms = '{1}'");
    await database().sql('update svc.found_sessions set version = 0');
    assert.equal(await coverage(), { spans: 4, spans_indexed: 0 });
    await indexAll(database());
    assert.equal(await rows(), before);
  });

  test('only what changed is read again', async () => {
    await store('s', ...conversation('one', 'two'));
    await indexAll(database());
    await store('s', ...conversation('one', 'two', 'three').slice(2));
    const read: number[] = [];
    await indexShowing(async (name, result) => {
      if (name === 'spansToIndex') read.push((result as { spans: unknown[] }).spans.length);
    });
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
    assert.is((await removeBatch(removing, due as never, { reason: 'test', add: () => {} })).sessions, 1);
    for (const table of ['found_texts', 'found_sessions', 'found_prompt_uses'])
      assert.equal(await database().sql(`select 1 from svc.${table} where session_id = '${session_id}'`), [], table);
    assert.is((await rows()).length, 1);
  });
});
