/** Does a hybrid search find what its better part finds, of the queries that its weights were chosen on and of those that were held out? */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { meetsBar, searchQuality } from '../../bench/search-quality.ts';
import { embeddedDatabase } from '../../support/databases.ts';

const test = suite('recall of the modes of search');

test('hybrid search is at least as good as words and as meaning, in the mean and in each class', async () => {
  const database = await embeddedDatabase();
  try {
    const sets = Object.entries(await searchQuality(database));
    assert.equal(
      sets.map(([set, recalls]) => [set, recalls.at(-1)?.class, recalls.at(-1)?.queries]),
      [
        ['chosen', 'all', 60],
        ['held out', 'all', 60],
      ],
    );
    for (const [set, recalls] of sets)
      assert.equal(
        recalls.filter((one) => !meetsBar(one)),
        [],
        set,
      );
  } finally {
    await database.close();
  }
});

test.run();
