/** A call that names an answer belongs to its session whichever of the two came to us first. */
import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import { capturedCall, takeIn } from '../../support/captured-calls.ts';
import { databaseSuite, type TestDatabase } from '../../support/databases.ts';
import { deriveAll } from '../../support/derive-all.ts';

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
const asked = (n: number, after: number | null, client = 'one', headers: [string, string][] = []) =>
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

const chainOf = (length: number) => Array.from({ length }, (_, i) => asked(i + 1, i === 0 ? null : i));

/** Messages by hash, and spans by call; sessions by how many there are, since the first turn to come gives them their id. */
async function told(database: TestDatabase) {
  const nodes = await database.sql(`
    select encode(node_hash, 'hex') as hash, encode(parent_hash, 'hex') as parent, depth, call_id, is_root, is_head
      from svc.nodes order by 1`);
  const traces = await database.sql(
    'select user_prompt, response_preview, span_count, status from svc.traces order by started_at',
  );
  const [sessions] = await database.sql('select count(*)::int as n from svc.sessions');
  return { nodes, traces, sessions };
}

databaseSuite('late answers', (test, database) => {
  test.before.each(() => database().reset());

  test('a chain in its order is one session and one chain of messages', async () => {
    await takeIn(database(), chainOf(4));
    await deriveAll(database());
    const { nodes, traces, sessions } = await told(database());
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
    const inOrder = await told(database());
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
      assert.equal(await told(database()), inOrder);
    }
  });

  test('a chain that comes backwards is one session, as in its order', async () => {
    await takeIn(database(), chainOf(5));
    await deriveAll(database());
    const inOrder = await told(database());
    await database().reset();
    for (const call of chainOf(5).reverse()) await takeIn(database(), [call]);
    await deriveAll(database());
    assert.equal(await told(database()), inOrder);
  });

  test('whatever the order, deriving again changes nothing', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.shuffledSubarray(chainOf(5), { minLength: 5 }),
        fc.integer({ min: 1, max: 5 }),
        async (calls, size) => {
          await database().reset();
          for (let from = 0; from < calls.length; from += size)
            await takeIn(database(), calls.slice(from, from + size));
          await deriveAll(database());
          const first = await told(database());
          await database().ask('markFromScratch', { session_id: null });
          await deriveAll(database());
          assert.equal(await told(database()), first);
        },
      ),
      { numRuns: 12, seed: 20_261_121 },
    );
  });

  test('another client whose answers are numbered alike keeps its own session', async () => {
    await takeIn(database(), [asked(2, 1, 'one')]);
    await takeIn(database(), [asked(1, null, 'two')]);
    const [sessions] = await database().sql('select count(*)::int as n from svc.sessions');
    assert.equal(sessions, { n: 2 });
  });

  test('in a session that the caller named it hangs as if it had come in time', async () => {
    const named: [string, string][] = [
      ['x-svc-harness-session-id', 'named'],
      ['x-svc-harness-id', 'mine'],
    ];
    const calls = [1, 2, 3].map((n) => asked(n, n === 1 ? null : n - 1, 'one', named));
    await takeIn(database(), calls);
    await deriveAll(database());
    const inOrder = await told(database());
    assert.is(inOrder.nodes.filter(({ is_root }) => is_root).length, 1);
    assert.equal(await database().sql('select harness_session_id from svc.sessions'), [
      { harness_session_id: 'named' },
    ]);
    for (const order of [[...calls].reverse(), [calls[1], calls[0], calls[2]]]) {
      await database().reset();
      for (const call of order) if (call) await takeIn(database(), [call]);
      await deriveAll(database());
      assert.equal(await told(database()), inOrder);
    }
  });
});
