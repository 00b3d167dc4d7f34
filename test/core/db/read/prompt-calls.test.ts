/** The calls of a session by pages: each once, in the order of time, and each page at the cost of what it holds. */
import * as assert from 'uvu/assert';
import { type PromptCall, type PromptPlace, promptCalls } from '../../../../core/db/read/prompt-calls.ts';
import { answer, user } from '../../../support/call-turn.ts';
import { databaseSuite, type TestDatabase } from '../../../support/databases.ts';
import { explained, readRows, shown } from '../../../support/query-plan.ts';
import { journalCall, storeCalls } from '../../../support/stored-calls.ts';

const CALLS = 600;
const LIMIT = 16;

const turn = (session: string, at: number) =>
  journalCall(session, { at, says: [user(`Question ${at}`)], answers: answer(`Answer ${at}`) });

const correct = (database: TestDatabase, raw_turn_id: unknown, session_id: unknown) =>
  database.sql(
    "insert into svc.raw_turn_corrections (raw_turn_id, kind, session_id, reason) values ($1, 'repair', $2, 'test')",
    [raw_turn_id, session_id],
  );

async function pagesOf(database: TestDatabase, session_id: string): Promise<PromptCall[][]> {
  const pages: PromptCall[][] = [];
  for (let after: PromptPlace | null = null; ; after = pages.at(-1)?.at(-1) ?? null) {
    const page: PromptCall[] = await database.execute('promptCalls', { session_id, after, limit: LIMIT });
    if (page.length === 0) return pages;
    pages.push(page);
  }
}

databaseSuite(
  'pages of prompts',
  (test, database) => {
    test('each call is on one page, those that a correction moved here too, in the order of time', async () => {
      const times = Array.from({ length: 40 }, (_, i) => 100 + ((i * 17) % 40)); // stored in another order
      const [own = ''] = await storeCalls(
        database(),
        times.map((at) => turn('own', at)),
      );
      const [other = ''] = await storeCalls(
        database(),
        [90, 105.5, 150].map((at) => turn('other', at)),
      );
      const idAt = async (session_id: string, n: number) => {
        const rows = await database().sql(
          'select raw_turn_id from svc.raw_turns where session_id = $1 order by requested_at offset $2 limit 1',
          [session_id, n],
        );
        return Number(rows[0]?.raw_turn_id);
      };
      await correct(database(), await idAt(other, 1), own); // moved here
      await correct(database(), await idAt(own, 3), other); // moved away
      await correct(database(), await idAt(own, 5), other);
      await correct(database(), await idAt(own, 5), own); // away and back
      await database().sql("update svc.calls set unreadable = 'test' where raw_turn_id = $1", [await idAt(own, 7)]);

      const pages = await pagesOf(database(), own);
      assert.equal(
        pages.map((page) => page.length),
        [LIMIT, LIMIT, 7],
      );
      const read = pages.flat().map(({ raw_turn_id }) => Number(raw_turn_id));
      const moved = await idAt(other, 1);
      const expected: number[] = [];
      for (let n = 0; n < 40; n++) {
        if (n !== 3 && n !== 7) expected.push(await idAt(own, n));
        if (n === 5) expected.push(moved);
      }
      assert.equal(read, expected);
      assert.equal((await pagesOf(database(), other)).flat().length, 3);

      await database().sql('insert into svc.session_edits (session_id, deleted_at) values ($1, now())', [own]);
      assert.equal(await pagesOf(database(), own), []);
    });

    test('a page reads what it holds, however many calls the session has behind it', async () => {
      let session_id = '';
      for (let at = 1000; at < 1000 + CALLS; at += 100)
        [session_id = ''] = await storeCalls(
          database(),
          Array.from({ length: 100 }, (_, i) => turn('long', at + i)),
        );
      await database().sql('analyze');
      const [middle] = await database().execute('promptCalls', { session_id, after: null, limit: 1 });
      for (const after of [null, middle ?? null]) {
        const plan = await explained(database(), (db) => promptCalls(db, { session_id, after, limit: LIMIT }));
        assert.ok(readRows(plan) <= 16 * LIMIT, `${readRows(plan)} rows: ${shown(plan)}`);
      }
    });
  },
  { readsPlans: true },
);
