/** A session that names itself and begins with another one's history: `claude --resume X --fork-session`. */
import * as assert from 'uvu/assert';
import type { JournalCall } from '../../../core/capture/journal-format.ts';
import { capturedCall, takeIn } from '../../support/captured-calls.ts';
import { databaseSuite } from '../../support/databases.ts';
import { deriveAll } from '../../support/derive-all.ts';
import { type Json, testApi } from '../../support/read-api.ts';

/** The whole conversation so far, ending with a prompt; the answer is its own. */
const claude = (
  n: number,
  session: string,
  words: readonly string[],
  answer: string,
  version = '2.1.197',
): JournalCall =>
  capturedCall({
    n,
    format: 'anthropic.messages',
    request: {
      ...{ model: 'claude-sonnet-4-5', max_tokens: 9 },
      messages: words.map((content, i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', content })),
    },
    response: JSON.stringify({
      ...{ id: `msg_${n}`, type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', stop_reason: 'end_turn' },
      ...{ content: [{ type: 'text', text: answer }], usage: { input_tokens: 7, output_tokens: 3 } },
    }),
    headers: [
      ['user-agent', `claude-cli/${version} (external, cli)`],
      ['x-claude-code-session-id', session],
    ],
  });

const first = claude(1, 'origin', ['Count'], 'One');
const second = claude(2, 'origin', ['Count', 'One', 'On'], 'Two');
const forked = claude(9, 'fork', ['Count', 'One', 'On', 'Two', 'Elsewhere'], 'Three', '2.1.198');

databaseSuite('a session that begins with the history of another', (test, database) => {
  test.before.each(() => database().reset());

  const get = async (path: string): Promise<Json> =>
    (await testApi({ execute: database().execute }).request(path)).json();
  const sessions = async (): Promise<Record<string, Json>> => {
    await deriveAll(database());
    const { items } = await get('/v1/sessions');
    return Object.fromEntries(items.map((item: Json) => [item.harness_session_id, item]));
  };

  for (const [when, batches] of [
    ['after it', [[first], [second], [forked]]],
    ['with it', [[first, second, forked]]],
    ['before it', [[forked], [first], [second]]],
    ['before it, whose calls come backwards', [[forked], [second], [first]]],
    ['between its calls', [[first], [forked], [second]]],
  ] as const)
    test(`it is a fork of that session, linked with the call that it goes on from, when it comes ${when}`, async () => {
      for (const batch of batches) await takeIn(database(), [...batch]);
      const { origin, fork } = await sessions();
      assert.equal([origin.fork_of_session_id, fork.fork_of_session_id], [undefined, origin.id]);
      const { traces, links } = await get(`/v1/sessions/${fork.id}/traces`);
      const [link, ...more] = links.filter(({ kind }: Json) => kind === 'fork-of');
      assert.is(more.length, 0);
      const llm = traces[0].spans.find(({ kind }: Json) => kind === 'llm');
      const there = await get(`/v1/traces/${link.to_trace_id}/spans/${link.to_span_id}`);
      assert.equal([link.from_span_id, (there.span ?? there).external_id], [llm.span_id, 'msg_2']);
      assert.is(fork.rollup.usage.input_tokens, 7, 'the tokens of its own call');
    });

  test('of two sessions that hold the history, the one that ends with it is the origin', async () => {
    await takeIn(database(), [first, second, claude(5, 'origin', ['Count', 'One', 'On', 'Two', 'More'], 'Ten')]);
    await takeIn(database(), [forked]);
    await takeIn(database(), [claude(12, 'again', ['Count', 'One', 'On', 'Two', 'Elsewhere', 'Three', 'And'], 'Four')]);
    const { origin, fork, again } = await sessions();
    assert.equal([fork.fork_of_session_id, again.fork_of_session_id], [origin.id, fork.id]);
  });

  test('a fork of a fork has the nearest as its origin, in whatever order the three come', async () => {
    const again = claude(12, 'again', ['Count', 'One', 'On', 'Two', 'Elsewhere', 'Three', 'And'], 'Four');
    for (const order of [
      [first, second, forked, again],
      [again, first, second, forked],
      [forked, again, second, first],
      [again, forked, first, second],
    ]) {
      await database().reset();
      for (const call of order) await takeIn(database(), [call]);
      const made = await sessions();
      assert.equal(
        [made.origin, made.fork, made.again].map(({ fork_of_session_id }) => fork_of_session_id),
        [undefined, made.origin.id, made.fork.id],
      );
    }
  });

  test('two sessions that open with the same words have nothing to do with each other', async () => {
    await takeIn(database(), [first, claude(3, 'other', ['Count'], 'One')]);
    await takeIn(database(), [claude(4, 'other', ['Count', 'One', 'On'], 'Two')]);
    const { origin, other } = await sessions();
    assert.equal([origin.fork_of_session_id, other.fork_of_session_id], [undefined, undefined]);
  });
});
