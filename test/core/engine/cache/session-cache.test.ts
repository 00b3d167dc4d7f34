/** Is a session that is too long read up to where the limits say, and does the result say so? */
import * as assert from 'uvu/assert';
import { type SessionLimits, sessionCache } from '../../../../core/engine/cache/session-cache.ts';
import { priceOf } from '../../../../core/price/prices.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { recordedSession } from '../../../support/recorded-session.ts';

databaseSuite('the cache of a session', (test, database) => {
  test('a session that is too long: its first calls alone, and that is reported', async () => {
    if (!(await recordedSession(database()))) return;
    const [session_id = ''] = await database().execute('sessionIds', { after: null, limit: 1 });
    const read = async (most?: Partial<SessionLimits>) => {
      const limits = { calls: 100, blocks: 10_000, bytes: 1e9, ...most };
      const cache = await sessionCache(database().execute, session_id, { priceOf, ...(most && { most: limits }) });
      return [cache.calls, cache.truncated, cache.read_tokens + cache.write_tokens + cache.fresh_tokens];
    };
    const all = [9, false, 526 + 33_156 + 35_160 + 35_579 + 36_168 + 36_699 + 37_413 + 37_781 + 37_871];
    assert.equal(await read(), all);
    assert.equal(await read({}), all);
    assert.equal(await read({ calls: 9 }), all, 'all that there are');
    const three = [3, true, 526 + 33_156 + 35_160];
    assert.equal(await read({ calls: 3 }), three);
    assert.equal(await read({ blocks: 4 + 35 + 1 }), three, 'the call that reaches it is read');
    assert.equal(await read({ bytes: 1 }), [1, true, 526]);
  });
});
