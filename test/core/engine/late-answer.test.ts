/** A call that names an answer belongs to its session whichever of the two came to us first. */
import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import { capturedCall, takeIn } from '../../support/captured-calls.ts';
import { databaseSuite } from '../../support/databases.ts';
import { deriveAll } from '../../support/derive-all.ts';
import { type Json, testApi } from '../../support/read-api.ts';
import { breaks, storedRows } from '../../support/stored-conversations.ts';

const answer = (n: number) =>
  JSON.stringify({
    id: `resp_${n}`,
    object: 'response',
    status: 'completed',
    model: 'gpt-5',
    output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: `Answer ${n}` }] }],
    usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
  });

/** The `n`th call of a conversation that the provider keeps; the first names nothing. `after`: the answer that it goes on from. */
const nthCall = (n: number, after: number | null, client = 'one', headers: [string, string][] = []) =>
  capturedCall({
    n,
    client,
    headers,
    format: 'openai.responses',
    request: {
      model: 'gpt-5',
      input: `Question ${n}`,
      ...(after !== null && { previous_response_id: `resp_${after}` }),
    },
    response: answer(n),
  });

const chainOf = (length: number) => Array.from({ length }, (_, i) => nthCall(i + 1, i === 0 ? null : i));

databaseSuite('late answers', (test, database) => {
  test.before.each(() => database().reset());

  test('a chain in its order is one session and one chain of messages', async () => {
    await takeIn(database(), chainOf(4));
    await deriveAll(database());
    const { nodes, traces, sessions } = await storedRows(database());
    assert.equal(sessions, { n: 1 });
    assert.is(traces.length, 4);
    assert.equal(
      nodes.map(({ depth }) => depth).sort(),
      [0, 1, 2, 3, 4, 5, 6, 7],
      'questions and answers hang one on the other',
    );
    assert.is(nodes.filter(({ is_root }) => is_root).length, 1);
  });

  test('a call that came before the answer it goes on from makes the same', async () => {
    await takeIn(database(), chainOf(2));
    await deriveAll(database());
    const inOrder = await storedRows(database());
    for (const batches of [
      [chainOf(2).reverse()],
      chainOf(2)
        .reverse()
        .map((call) => [call]),
    ]) {
      await database().reset();
      for (const batch of batches) {
        await takeIn(database(), batch);
        await deriveAll(database());
      }
      assert.equal(await storedRows(database()), inOrder);
    }
  });

  test('a chain that comes backwards is one session, as in its order', async () => {
    await takeIn(database(), chainOf(5));
    await deriveAll(database());
    const inOrder = await storedRows(database());
    await database().reset();
    for (const call of chainOf(5).reverse()) await takeIn(database(), [call]);
    await deriveAll(database());
    assert.equal(await storedRows(database()), inOrder);
  });

  test('whatever the order, it is one session as in its order, and deriving again changes nothing', async () => {
    await takeIn(database(), chainOf(5));
    await deriveAll(database());
    const inOrder = await storedRows(database());
    await fc.assert(
      fc.asyncProperty(
        fc.shuffledSubarray(chainOf(5), { minLength: 5 }),
        fc.integer({ min: 1, max: 5 }),
        async (calls, size) => {
          await database().reset();
          for (let from = 0; from < calls.length; from += size)
            await takeIn(database(), calls.slice(from, from + size));
          await deriveAll(database());
          assert.equal(await storedRows(database()), inOrder);
          await database().execute('markFromScratch', { session_id: null });
          await deriveAll(database());
          assert.equal(await storedRows(database()), inOrder);
        },
      ),
      { numRuns: 12, seed: 20_261_121 },
    );
  });

  test('the call between two sessions makes them one, by a correction of the later one', async () => {
    const [first, second, third, fourth] = chainOf(4);
    for (const call of [third, fourth, first]) if (call) await takeIn(database(), [call]);
    await deriveAll(database());
    assert.is((await storedRows(database())).sessions?.n, 2);
    const [opened] = await database().sql("select session_id from svc.sessions where harness_session_id like '%3'");
    await database().execute('editSession', {
      session_id: String(opened?.session_id),
      edits: { display_name: 'what I called it' },
    });
    if (second) await takeIn(database(), [second]);
    await deriveAll(database());
    assert.equal(
      await database().sql(`
        select k.kind, right(t.svc_proxy_request_id, 1) as turn, right(s.harness_session_id, 1) as opened_by, k.reason <> '' as says_why
          from svc.raw_turn_corrections k
          join svc.raw_turns t on t.raw_turn_id = k.raw_turn_id
          join svc.sessions s on s.session_id = k.session_id
         order by k.raw_turn_id`),
      [
        { kind: 'link', turn: '3', opened_by: '1', says_why: true },
        { kind: 'link', turn: '4', opened_by: '1', says_why: true },
      ],
    );
    const { items } = await (await testApi({ execute: database().execute }).request('/v1/sessions')).json();
    assert.is(items.length, 1);
    assert.equal([items[0].display_name, items[0].rollup.turn_count], ['what I called it', 4]);
    assert.equal(await breaks(database()), []);
  });

  test('an older call that waits for an answer of the same number is not of this conversation', async () => {
    for (const later of [[nthCall(6, null), nthCall(7, 6)], [nthCall(7, null)]]) {
      await database().reset();
      await takeIn(database(), [nthCall(1, 7), ...later]);
      await deriveAll(database());
      assert.is((await storedRows(database())).sessions?.n, 2, `${later.length} that came later`);
      assert.equal(await database().sql('select count(*)::int as n from svc.raw_turn_corrections'), [{ n: 0 }]);
    }
  });

  test('a session that a person has deleted is not brought back', async () => {
    const [first, second, third] = chainOf(3);
    for (const call of [third, first]) if (call) await takeIn(database(), [call]);
    const [opened] = await database().sql("select session_id from svc.sessions where harness_session_id like '%3'");
    await database().execute('deleteSession', { session_id: String(opened?.session_id) });
    if (second) await takeIn(database(), [second]);
    await deriveAll(database());
    assert.equal(await database().sql('select count(*)::int as n from svc.raw_turn_corrections'), [{ n: 0 }]);
    const { items } = await (await testApi({ execute: database().execute }).request('/v1/sessions')).json();
    assert.equal(
      items.map(({ rollup }: Json) => rollup.turn_count),
      [2],
    );
  });

  test('a name that comes late is that of the calls that came before it', async () => {
    const named: [string, string][] = [
      ['x-svc-harness-session-id', 'named'],
      ['x-svc-harness-id', 'mine'],
    ];
    const calls = [nthCall(1, null, 'one', named), nthCall(2, 1), nthCall(3, 2)];
    await takeIn(database(), calls);
    await deriveAll(database());
    const inOrder = await storedRows(database());
    assert.equal(inOrder.sessions, { n: 1 });
    for (const call of [...calls].reverse()) {
      if (call === calls[2]) await database().reset();
      await takeIn(database(), [call]);
      await deriveAll(database());
    }
    assert.equal(await storedRows(database()), inOrder);
    assert.equal(await database().sql('select harness_session_id from svc.sessions where not is_empty'), [
      { harness_session_id: 'named' },
    ]);
  });

  test('another client whose answers are numbered alike keeps its own session', async () => {
    await takeIn(database(), [nthCall(2, 1, 'one')]);
    await takeIn(database(), [nthCall(1, null, 'two')]);
    const [sessions] = await database().sql('select count(*)::int as n from svc.sessions');
    assert.equal(sessions, { n: 2 });
  });

  test('in a session that the caller named it hangs as if it had come in time', async () => {
    const named: [string, string][] = [
      ['x-svc-harness-session-id', 'named'],
      ['x-svc-harness-id', 'mine'],
    ];
    const calls = [1, 2, 3].map((n) => nthCall(n, n === 1 ? null : n - 1, 'one', named));
    await takeIn(database(), calls);
    await deriveAll(database());
    const inOrder = await storedRows(database());
    assert.is(inOrder.nodes.filter(({ is_root }) => is_root).length, 1);
    assert.equal(await database().sql('select harness_session_id from svc.sessions'), [
      { harness_session_id: 'named' },
    ]);
    for (const order of [[...calls].reverse(), [calls[1], calls[0], calls[2]]]) {
      await database().reset();
      for (const call of order) if (call) await takeIn(database(), [call]);
      await deriveAll(database());
      assert.equal(await storedRows(database()), inOrder);
    }
  });
});
