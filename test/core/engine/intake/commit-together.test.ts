/** Is an insertion tried again where that can help, and only there? */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { DEADLOCK, UNIQUE_VIOLATION } from '../../../../core/db/sqlstates.ts';
import { withSecondAttempt } from '../../../../core/engine/intake/commit-together.ts';
import { DatabaseError } from '../../../../core/errors.ts';

const test = suite('a second attempt');

async function attempted(sqlstate: string, failures: number) {
  let attempts = 0;
  const insert = async () => {
    attempts++;
    if (attempts <= failures) throw new DatabaseError('Cannot run a statement', sqlstate, false);
    return 'stored';
  };
  const result = await withSecondAttempt(insert).catch((error: DatabaseError) => error.sqlstate);
  return [result, attempts];
}

for (const sqlstate of [UNIQUE_VIOLATION, DEADLOCK]) {
  test(`after ${sqlstate} there is one`, async () => {
    assert.equal(await attempted(sqlstate, 1), ['stored', 2]);
    assert.equal(await attempted(sqlstate, 2), [sqlstate, 2]);
  });
}

test('after another error there is none', async () => {
  assert.equal(await attempted('22003', 1), ['22003', 1]);
});

test.run();
