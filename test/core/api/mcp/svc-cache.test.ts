/** svc_cache: how much it has read of a conversation that is too long to be read whole, and totals of all that there is. */
import { randomUUID } from 'node:crypto';
import * as assert from 'uvu/assert';
import { cacheTool } from '../../../../core/api/mcp/svc-cache.ts';
import type { SessionLimits } from '../../../../core/engine/cache/session-cache.ts';
import type { CacheBreak } from '../../../../core/model/cache-break.ts';
import { priceOf } from '../../../../core/price/prices.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { insertRollups, insertSessions } from '../../../support/projection-rows.ts';
import { recordedSession } from '../../../support/recorded-session.ts';

const BREAK: CacheBreak = {
  ...{ session_id: randomUUID(), raw_turn_id: 2, trace_id: null, span_id: null, at: '2026-07-27T09:30:00.123456Z' },
  ...{ model: 'm', cause: 'tools', ground: 'bytes', planned: false, expected_tokens: 1000, read_tokens: 0 },
  ...{ rewritten_tokens: 1000, lost_usd: 0.5, before: null, where: null, was: null, is: null, advice: null },
};

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

  test('its totals are of all breaks, also of those in groups that are not listed', async () => {
    await database().reset();
    const projects = Array.from({ length: 230 }, (_, n) => ({ n, project: `project ${n}` }));
    await insertSessions(
      database(),
      projects.map(({ n }) => ({ n })),
    );
    await insertRollups(database(), projects);
    await database().sql(
      `insert into svc.cache_breaks (session_id, raw_turn_id, at, model, cause, rewritten_tokens, lost_usd, break)
       select s.session_id, row_number() over (), s.started_at, 'm', 'tools', 1000, 0.5, $1::jsonb from svc.sessions s`,
      [JSON.stringify(BREAK)],
    );
    const takePlace = async () => () => {};
    const tool = cacheTool({ execute: database().execute, priceOf, takePlace });
    const called = async (input: { by?: 'project' }) =>
      await tool.call(input, { signal: new AbortController().signal });
    const byCause = await called({});
    const byProject = await called({ by: 'project' });
    for (const { text, structured } of [byCause, byProject]) {
      assert.match(text, /^230 breaks in 0 conversations, lost \$115\.00/);
      assert.is(structured.lost_usd, 115);
    }
    await database().reset();
    const none = await called({});
    assert.match(none.text, /^0 breaks in 0 conversations/);
    assert.is(none.structured.lost_usd, null);
  });
});
