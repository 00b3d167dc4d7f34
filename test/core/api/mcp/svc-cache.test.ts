/** svc_cache over a conversation that is too long to be read whole: it reports how much it has read, in both of its forms. */
import * as assert from 'uvu/assert';
import { cacheTool } from '../../../../core/api/mcp/svc-cache.ts';
import type { SessionLimits } from '../../../../core/engine/cache/session-cache.ts';
import { priceOf } from '../../../../core/price/prices.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { recordedSession } from '../../../support/recorded-session.ts';

databaseSuite('svc_cache', (test, database) => {
  const NOTE = /^Too long to be read whole: this is of its first ([\d,]+) calls, and says nothing of the later ones$/m;

  test('of a conversation that is too long it reads the first calls, and says so; of another it does not', async () => {
    if (!(await recordedSession(database()))) return;
    const { execute } = database();
    const [session_id = ''] = await execute('sessionIds', { after: null, limit: 1 });
    let places = 0; // that are taken
    const takePlace = async () => {
      places += 1;
      return () => {
        places -= 1;
      };
    };
    const called = async (most?: Partial<SessionLimits>) => {
      const limits = { calls: 100, blocks: 10_000, bytes: 1e9, ...most };
      const tool = cacheTool({ execute, priceOf, takePlace, ...(most && { most: limits }) });
      const { text, structured } = await tool.call({ session_id }, { signal: new AbortController().signal });
      assert.is(places, 0);
      return { text, truncated: structured.truncated, first: NOTE.exec(text)?.[1] };
    };
    const three = await called({ calls: 3 });
    assert.equal([three.truncated, three.first], [true, '3']);
    for (const whole of [await called(), await called({ calls: 9 })])
      assert.equal([whole.truncated, whole.first], [false, undefined]);
  });
});
