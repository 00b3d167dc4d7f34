/** GET /v1/admin/verify: what `svc verify` checks, as lines, and that a stream which was cut is recognised. */
import * as assert from 'uvu/assert';
import { Problem } from '../../../core/model/problem.ts';
import { VerifyLine } from '../../../core/model/verify.ts';
import { capturedCall, chat, chatAnswer, takeIn } from '../../support/captured-calls.ts';
import { databaseSuite } from '../../support/databases.ts';
import { type Json, testApi } from '../../support/read-api.ts';

databaseSuite('GET /v1/admin/verify', (test, database) => {
  let ids: string[] = [];
  test.before.each(async () => {
    await database().reset();
    await takeIn(database(), [
      capturedCall({ n: 1, request: chat('Hello'), response: chatAnswer('Hi') }),
      capturedCall({ n: 2, request: chat('Hello', 'Hi', 'More'), response: chatAnswer('Enough') }),
      capturedCall({ n: 3, request: chat('Another talk'), response: chatAnswer('Yes'), client: 'two' }),
    ]);
    const rows = await database().sql('select session_id from svc.sessions order by turn_count desc');
    ids = rows.map(({ session_id }) => String(session_id));
  });
  const request = (query = '') => testApi({ execute: database().execute }).request(`/v1/admin/verify${query}`);
  const lines = async (query = ''): Promise<Json[]> => {
    const response = await request(query);
    assert.equal([response.status, response.headers.get('content-type')], [200, 'application/x-ndjson']);
    const all = (await response.text()).trimEnd().split('\n');
    return all.map((line) => VerifyLine.parse(JSON.parse(line)));
  };

  test('how many, each session, and an end', async () => {
    const [first, one, two, end, ...others] = await lines();
    assert.equal([first, end, others], [{ sessions: 2 }, { end: true }, []]);
    assert.equal([one.session_id, two.session_id].sort(), [...ids].sort());
    assert.equal([one.breaks, two.breaks, one.turns + two.turns], [0, 0, 3]);
  });

  test('one session, a head that was noted, and a place that was changed', async () => {
    const [, before] = await lines(`?session_id=${ids[0]?.toUpperCase()}`);
    assert.equal([before.session_id, before.turns], [ids[0], 2]);
    const head = `head=${before.head_turn_hash.toUpperCase()}`;
    assert.is((await lines(`?session_id=${ids[0]}&${head}`))[1].has_head, true);
    assert.is((await lines(`?session_id=${ids[1]}&${head}`))[1].has_head, false);
    await database().sql('alter table svc.raw_turns disable trigger user');
    await database().sql('update svc.raw_turns set status = 201 where session_seq = 2');
    await database().sql('alter table svc.raw_turns enable trigger user');
    const [, after] = await lines(`?session_id=${ids[0]}`);
    assert.equal([after.breaks, after.first_breaks[0].check, after.first_breaks[0].session_seq], [1, 'turn', 2]);
  });

  test('a session that is not there is 404, what is no id 400', async () => {
    const unknown = await request('?session_id=00000000-0000-4000-8000-000000000000');
    assert.equal([unknown.status, Problem.parse(await unknown.json()).code], [404, 'session-unknown']);
    for (const query of ['?session_id=x', '?head=abc', '?all=1']) assert.is((await request(query)).status, 400);
  });
});
