/** A call that names a conversation goes on from what was said in it before, whoever said it and however the calls came to us. */
import * as assert from 'uvu/assert';
import { capturedCall, takeIn } from '../../support/captured-calls.ts';
import { dagDump } from '../../support/dag-dump.ts';
import { databaseSuite, type TestDatabase } from '../../support/databases.ts';

const answer = (n: number) =>
  JSON.stringify({
    id: `resp_${n}`,
    object: 'response',
    status: 'completed',
    model: 'gpt-5',
    output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: `Answer ${n}` }] }],
  });

/** The `n`th call of the one conversation. */
const nthCall = (n: number, client = 'one', harness_session_id?: string) =>
  capturedCall({
    n,
    client,
    ...(harness_session_id && { headers: [['x-svc-harness-session-id', harness_session_id]] }),
    format: 'openai.responses',
    request: { model: 'gpt-5', input: `Question ${n}`, conversation: 'conv_1' },
    response: answer(n),
  });

const depths = (database: TestDatabase) =>
  database.sql(`
    select right(call_id, 1)::int as call, depth from svc.nodes where role = 'assistant' order by call_id`);

databaseSuite('the order of a conversation', (test, database) => {
  test.before.each(() => database().reset());

  test('two clients that talk in it take turns, in one batch as in several', async () => {
    const calls = [nthCall(1, 'one'), nthCall(2, 'two'), nthCall(3, 'one')];
    for (const call of calls) await takeIn(database(), [call]);
    const apart = await dagDump(database());
    assert.equal(
      (await depths(database())).map(({ depth }) => depth),
      [1, 3, 5],
    );
    await database().reset();
    await takeIn(database(), calls);
    assert.equal(await dagDump(database()), apart);
  });

  test('nothing hangs on an answer that was asked for later', async () => {
    for (const batches of [[[nthCall(2)], [nthCall(1)]], [[nthCall(2), nthCall(1)]]]) {
      await database().reset();
      for (const batch of batches) await takeIn(database(), batch);
      assert.equal(await depths(database()), [
        { call: 1, depth: 1 },
        { call: 2, depth: 1 },
      ]);
    }
  });

  test('in another session that the caller names it begins anew', async () => {
    await takeIn(database(), [nthCall(1, 'one', 'left'), nthCall(2, 'one', 'right'), nthCall(3, 'one', 'left')]);
    assert.equal(
      (await depths(database())).map(({ depth }) => depth),
      [1, 1, 3],
    );
  });
});
