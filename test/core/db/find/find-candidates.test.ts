/** Are the candidates of a text the newest that have it, whichever windows the search begins with? */
import * as assert from 'uvu/assert';
import type { FindFilter } from '../../../../core/db/find/find-candidates.ts';
import { partOfWord, wholeWord, wordsOf } from '../../../../core/find/terms.ts';
import { FIND_PLACES } from '../../../../core/model/find.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { indexAll } from '../../../support/index-all.ts';
import { idOf, insertRollups, insertSessions, insertSpans, insertTraces } from '../../../support/projection-rows.ts';

const SPANS = 40;
const DAY = 86_400_000;
/** A span a day; each says `daily`, and every tenth `seldom`. */
const at = (n: number) => new Date(Date.UTC(2026, 0, 1) + n * DAY).toISOString();
const everywhere: FindFilter = {
  ...{ project: null, agent_name: null, model: null, provider: null, harness_id: null },
  ...{ tool: null, status: null, since: null, until: null },
};

databaseSuite('candidates', (test, database) => {
  test.before(async () => {
    await insertSessions(database(), [{ n: 1 }]);
    await insertRollups(database(), [{ n: 1 }]);
    await insertTraces(database(), [{ n: 1, session: 1 }]);
    const textOf = (n: number) => `the daily report ${n % 10 === 0 ? 'of seldom seen harbours' : ''}`;
    await insertSpans(
      database(),
      Array.from({ length: SPANS }, (_, n) => ({
        ...{ n, trace: 1, session: 1, started_at: at(n) },
        ...{ input: [{ type: 'text', text: textOf(n) }], output: [] },
      })),
    );
    await indexAll(database());
  });

  const find = async (text: string, windows: string[], limit: number, filter: FindFilter = everywhere) => {
    const groups = [wordsOf(text).flatMap(wholeWord)];
    const places = FIND_PLACES.filter((place) => place !== 'prompt');
    const found = await database().execute('findCandidates', { groups, match: 'all', places, filter, windows, limit });
    return found.map(({ span_id }) => Array.from({ length: SPANS }, (_, n) => idOf('span', n)).indexOf(span_id));
  };
  const newest = (count: number, step = 1) =>
    Array.from({ length: count }, (_, i) => SPANS - 1 - i).filter((n) => n % step === 0);

  test('the newest come first, with windows and without, until there are as many as are wanted', async () => {
    for (const windows of [[], [at(35)], [at(35), at(10)], [at(39), at(38)]])
      for (const limit of [1, 4, 6, 25, 40, 100])
        assert.equal(await find('daily', windows, limit), newest(Math.min(limit, SPANS)), `${windows} ${limit}`);
  });

  test('what is rare is found beyond the windows', async () => {
    for (const windows of [[], [at(35)], [at(39), at(35)], [at(5)]])
      assert.equal(await find('seldom harbours', windows, 10), newest(SPANS, 10), String(windows));
  });

  test('a search for what was before an instant looks at no window', async () => {
    assert.equal(await find('daily', [at(35)], 3, { ...everywhere, until: at(20) }), [19, 18, 17]);
  });

  test('some: the more of the words a text has the sooner it comes, and the rare ones weigh more', async () => {
    const groups = ['daily', 'seldom', 'nowhere'].map((word) => wordsOf(word).flatMap(partOfWord));
    const places = FIND_PLACES.filter((place) => place !== 'prompt');
    const found = await database().execute('findCandidates', {
      ...{ groups, match: 'some', places, filter: everywhere, windows: [], limit: 5 },
    });
    assert.equal(
      found.map(({ span_id }) => span_id),
      [30, 20, 10, 0, 39].map((n) => idOf('span', n)),
    );
  });

  test('windows are read only where there are as many texts', async () => {
    assert.equal(await database().execute('textWindows', {}), []);
  });
});
