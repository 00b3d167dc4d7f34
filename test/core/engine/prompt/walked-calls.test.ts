/** Is what is remembered of a session's calls what they are now? */
import * as assert from 'uvu/assert';
import { walkedCall } from '../../../../core/engine/prompt/walked-calls.ts';
import { priceOf } from '../../../../core/price/prices.ts';
import { answer, user } from '../../../support/call-turn.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { journalCall, storeCalls } from '../../../support/stored-calls.ts';

databaseSuite('remembered calls', (test, database) => {
  test('a call that a correction moved is one of its new session, and goes on from the calls there', async () => {
    const prompt = user('Who is there?');
    const call = (at: number) => ({ at, says: [prompt], answers: answer('Nobody') });
    const [old, own] = [
      await storeCalls(database(), [journalCall('a', call(1))]),
      await storeCalls(database(), [journalCall('b', call(2))]),
    ];
    const [moved] = await storeCalls(database(), [journalCall('a', call(3))]);
    assert.equal([moved], old);
    const [{ raw_turn_id } = {}] = await database().sql('select max(raw_turn_id) as raw_turn_id from svc.raw_turns');
    const read = async () => {
      const walked = await walkedCall(database().execute, Number(raw_turn_id), priceOf);
      return [walked?.call.session_id, walked?.previous?.raw_turn_id];
    };
    assert.equal(await read(), [old[0], 1]);
    assert.equal(await read(), [old[0], 1]);
    await database().sql(
      "insert into svc.raw_turn_corrections (raw_turn_id, kind, session_id, reason) values ($1, 'repair', $2, 'test')",
      [raw_turn_id, own[0]],
    );
    assert.equal(await read(), [own[0], 2]);
  });
});
