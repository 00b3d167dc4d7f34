/** The newest correction that concerns a session: found by its turns, whatever was corrected elsewhere. */
import * as assert from 'uvu/assert';
import { lastCorrection } from '../../../../core/db/derive/session-turns.ts';
import { answer, user } from '../../../support/call-turn.ts';
import { databaseSuite, type TestDatabase } from '../../../support/databases.ts';
import { explained, readRows, shown } from '../../../support/query-plan.ts';
import { journalCall, storeCalls } from '../../../support/stored-calls.ts';

const ELSEWHERE = 500;

const store = async (database: TestDatabase, session: string, ats: readonly number[]): Promise<string> => {
  const calls = ats.map((at) => journalCall(session, { at, says: [user(`Question ${at}`)], answers: answer('Yes') }));
  return (await storeCalls(database, calls))[0] ?? '';
};

databaseSuite(
  'the newest correction of a session',
  (test, database) => {
    const correct = async (raw_turn_id: unknown, session_id: string): Promise<number> => {
      const [row] = await database().sql(
        `insert into svc.raw_turn_corrections (raw_turn_id, kind, session_id, reason)
         values ($1, 'repair', $2, 'test') returning correction_id`,
        [raw_turn_id, session_id],
      );
      return Number(row?.correction_id);
    };
    const newest = async (session_id: string) => Number(await database().execute('lastCorrection', { session_id }));

    test('it moves a turn here, or one away that was stored here or had been moved here', async () => {
      const [one, two, three] = [
        await store(database(), 'one', [1, 2]),
        await store(database(), 'two', [3]),
        await store(database(), 'three', [4]),
      ];
      const [turn] = await database().sql('select min(raw_turn_id) as id from svc.raw_turns where session_id = $1', [
        one,
      ]);
      assert.equal([await newest(one), await newest(two), await newest(three)], [0, 0, 0]);
      const first = await correct(turn?.id, two);
      assert.equal([await newest(one), await newest(two), await newest(three)], [first, first, 0]);
      const second = await correct(turn?.id, three);
      assert.equal([await newest(one), await newest(two), await newest(three)], [second, second, second]);
    });

    test('corrections of other sessions are not read', async () => {
      const own = await store(database(), 'own', [10, 11, 12]);
      const to = await store(database(), 'to', [14]);
      const from = await store(
        database(),
        'from',
        Array.from({ length: ELSEWHERE }, (_, i) => 100 + i),
      );
      await database().sql(
        `insert into svc.raw_turn_corrections (raw_turn_id, kind, session_id, reason)
         select t.raw_turn_id, 'link', $2, 'test' from svc.raw_turns t where t.session_id = $1`,
        [from, to],
      );
      await database().sql('analyze');
      const plan = await explained(database(), (db) => lastCorrection(db, { session_id: own }));
      assert.ok(readRows(plan) <= 100, `${readRows(plan)} rows: ${shown(plan)}`);
      assert.is(await newest(own), 0);
      assert.ok((await newest(to)) >= ELSEWHERE);
    });
  },
  { readsPlans: true },
);
