/** Tools are counted in the database, however many steps a turn has, on both databases alike. */
import * as assert from 'uvu/assert';
import { databaseSuite } from '../../../support/databases.ts';
import { idOf, insertSessions, insertSpans, insertTraces } from '../../../support/projection-rows.ts';

databaseSuite('toolsOfTraces', (test, database) => {
  const trace_ids = [1, 2, 3].map((n) => idOf('trace', n));
  test.before(async () => {
    const db = database();
    await insertSessions(db, [{ n: 1 }]);
    await insertTraces(
      db,
      [1, 2, 3, 4].map((n) => ({ n, session: 1 })),
    );
    const step = (n: number, trace: number, name: string, kind = 'tool') => ({ n, trace, session: 1, kind, name });
    await insertSpans(db, [
      ...Array.from({ length: 3_000 }, (_, n) => step(n, 1, n % 3 === 0 ? 'Read' : 'Bash')),
      ...['b', 'a', 'B', 'é', 'c', 'c'].map((name, n) => step(10_000 + n, 2, name)),
      step(20_000, 3, 'gpt-4o', 'llm'),
      step(30_000, 4, 'Read'),
    ]);
  });
  const used = async (most: number) => {
    const rows = await database().execute('toolsOfTraces', { trace_ids, most });
    return rows.map(({ trace_id, name, calls }) => [trace_ids.indexOf(trace_id) + 1, name, calls]);
  };

  test('every call of the traces that are asked for is counted, the tool used most first', async () => {
    assert.equal(await used(10), [
      ...[
        [1, 'Bash', 2_000],
        [1, 'Read', 1_000],
      ],
      ...[
        [2, 'c', 2],
        [2, 'B', 1],
        [2, 'a', 1],
        [2, 'b', 1],
        [2, 'é', 1],
      ],
    ]);
  });

  test('no more tools of a trace are told than are asked for', async () => {
    assert.equal(await used(2), [
      [1, 'Bash', 2_000],
      [1, 'Read', 1_000],
      [2, 'c', 2],
      [2, 'B', 1],
    ]);
  });

  test('no trace asks for nothing', async () => {
    assert.equal(await database().execute('toolsOfTraces', { trace_ids: [], most: 10 }), []);
  });
});
