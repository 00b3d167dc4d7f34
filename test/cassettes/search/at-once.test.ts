/** What has just been recorded is found at once, and search says how much of everything is in. */
import * as assert from 'uvu/assert';
import { answer, user } from '../../support/call-turn.ts';
import { databaseSuite } from '../../support/databases.ts';
import { deriveAll } from '../../support/derive-all.ts';
import { startEmbedder } from '../../support/embedding-server.ts';
import { eventually } from '../../support/eventually.ts';
import { standSearch } from '../../support/search.ts';
import { journalCall, storeCalls } from '../../support/stored-calls.ts';

databaseSuite('search: at once', (test, database) => {
  test('a call that comes in is embedded long before the interval is over, and the answer says how many are in', async () => {
    const server = await startEmbedder();
    const config = { 'embedding.provider': 'ollama', 'embedding.target': server.url };
    const search = await standSearch(database(), { onChange: true, config });
    try {
      const rounds = [
        ['how do apples grow', 'on trees'],
        ['how do ships float', 'on water'],
        ['why is the sky blue', 'light is scattered'],
      ] as const;
      const began = performance.now();
      for (const [at, [asks, answers]] of rounds.entries()) {
        await storeCalls(database(), [journalCall(asks, { at, says: [user(asks)], answers: answer(answers) })]);
        await deriveAll(database());
        await eventually(async () => (await search.find(asks, 1)).results[0]?.user_prompt === asks);
        const { coverage } = await search.find(asks, 1);
        assert.equal(coverage, { embedded: at + 1, pending: 0, failed: 0 });
      }
      const { spans, embedded, pending } = await search.status();
      assert.equal([spans, embedded, pending], [3, 3, 0]);
      assert.ok(performance.now() - began < 60_000, 'three rounds take less than two intervals of 30 s');
    } finally {
      await search.close();
      await server.close();
    }
  });
});
