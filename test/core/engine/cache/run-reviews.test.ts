/** Is each session looked at once, by one process, behind all else, and is nothing left of a session that was deleted or purged? */
import { setTimeout as sleep } from 'node:timers/promises';
import * as assert from 'uvu/assert';
import type { Database } from '../../../../core/db/database.ts';
import { openDatabase } from '../../../../core/db/open.ts';
import { runReviews } from '../../../../core/engine/cache/run-reviews.ts';
import { openPrecedence, type Precedence } from '../../../../core/engine/precedence.ts';
import { purgeSession } from '../../../../core/engine/purge-session.ts';
import { openLog } from '../../../../core/log.ts';
import type { BreaksPage } from '../../../../core/model/cache-break.ts';
import { priceOf } from '../../../../core/price/prices.ts';
import { CACHE_RULES_VERSION } from '../../../../core/prompt/rules-version.ts';
import { capturedCall, takeIn } from '../../../support/captured-calls.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { deriveAll } from '../../../support/derive-all.ts';
import { eventually } from '../../../support/eventually.ts';

type Operations = Database['execute'];
/** Runs before the operation of this name; may throw. */
type Before = (name: string, args: Record<string, unknown>) => Promise<void> | void;

databaseSuite('reviews', (test, database) => {
  const stops: (() => Promise<void>)[] = [];

  /** Begins a runner; its database may be watched. */
  const run = (
    options: {
      before?: Before;
      on?: Database;
      precedence?: Pick<Precedence, 'committing'>;
      pause?: (ms: number) => Promise<void>;
    } = {},
  ) => {
    const { before, on = database(), precedence = openPrecedence(on), pause = async () => {} } = options;
    const stored: string[] = [];
    const execute = (async (name: string, args: Record<string, unknown>) => {
      await before?.(name, args);
      const result = await on.execute(name as never, args as never);
      if (name === 'storeReview' && (result as unknown) === true) stored.push(String(args.session_id));
      return result;
    }) as Operations;
    const stopping = new AbortController();
    const ended = runReviews({
      ...{ database: { execute }, priceOf, precedence, pause, signal: stopping.signal, log: openLog('silent') },
      metrics: { cacheReviewed: () => {} },
      times: { firstMs: 5, pollMs: 20, idleMs: 0, busyMs: 0, elsewhereMs: 50 },
    });
    const stop = async () => {
      stopping.abort();
      await ended;
    };
    stops.push(stop);
    return { stored, stop };
  };

  /** A session of two calls, of which the second had read nothing of what the first wrote. @param lengths which of them, by their prompts */
  let calls = 0;
  async function brokenSession(name: string, lengths: readonly number[] = [1, 2]): Promise<string> {
    const text = 'many words '.repeat(4_000);
    const mark = { cache_control: { type: 'ephemeral' } };
    const stored = await takeIn(
      database(),
      lengths.map((length) =>
        capturedCall({
          n: calls++,
          format: 'anthropic.messages',
          headers: [
            ['x-svc-harness-id', 'test'],
            ['x-svc-harness-session-id', name],
          ],
          request: {
            model: 'claude-sonnet-4-5',
            max_tokens: 10,
            system: [{ type: 'text', text: `${name} ${text}`, ...mark }],
            messages: Array.from({ length: 2 * length - 1 }, (_, n) => ({
              role: n % 2 === 0 ? 'user' : 'assistant',
              content: n === 1 ? 'ok' : `prompt ${n}`,
            })),
          },
          response: JSON.stringify({
            ...{ id: `msg_${calls}`, type: 'message', role: 'assistant', model: 'claude-sonnet-4-5' },
            ...{ content: [{ type: 'text', text: 'ok' }], stop_reason: 'end_turn' },
            usage: {
              input_tokens: 10,
              cache_read_input_tokens: 0,
              cache_creation_input_tokens: 8_000,
              output_tokens: 1,
            },
          }),
        }),
      ),
    );
    await deriveAll(database());
    return stored[0]?.session_id ?? '';
  }

  const list = (): Promise<BreaksPage> => {
    const filter = { since: null, until: null, project: null, agent_name: null, model: null, by: 'cause' as const };
    return database().execute('listBreaks', { filter, rules: CACHE_RULES_VERSION, after: null, limit: 100 });
  };
  const isDone = async () => (await list()).sessions_waiting === 0;
  const rowsOf = async (session_id: string): Promise<number[]> =>
    Promise.all(
      ['cache_breaks', 'cache_reviews'].map(async (table) => {
        const rows = await database().sql(`select 1 from svc.${table} where session_id = $1`, [session_id]);
        return rows.length;
      }),
    );
  const touch = (session_id: string) =>
    database().sql('update svc.session_changes set changed_by = pg_current_xact_id() where session_id = $1', [
      session_id,
    ]);

  test.before.each(() => database().reset());
  test.after.each(async () => {
    for (const stop of stops.splice(0)) await stop();
  });

  test('a session that is deleted loses its breaks', async () => {
    const [gone, stays] = [await brokenSession('gone'), await brokenSession('stays')];
    run();
    await eventually(isDone);
    assert.equal(
      (await list()).items.map(({ cause }) => cause),
      ['unexplained', 'unexplained'],
    );
    await database().execute('deleteSession', { session_id: gone });
    assert.equal(
      (await list()).items.map(({ session_id }) => session_id),
      [stays],
    ); // at once
    await eventually(async () => (await rowsOf(gone))[0] === 0);
    assert.equal(await rowsOf(stays), [1, 1]);
  });

  test('the prompt of a session of one call is not read, until there is a second', async () => {
    const single = await brokenSession('grows', [1]);
    const read: unknown[] = [];
    const { stored } = run({
      before: (name, { session_id }) => {
        if (name === 'promptCalls') read.push(session_id);
      },
    });
    await eventually(isDone);
    assert.equal([stored, read, (await list()).items], [[single], [], []]);
    await brokenSession('grows', [2]);
    await eventually(async () => (await list()).items.length > 0);
    assert.equal(await rowsOf(single), [1, 1]);
    assert.equal([...new Set(read)], [single]);
  });

  test('a session that is purged loses all, even where it is being looked at', async () => {
    const [gone, stays] = [await brokenSession('gone'), await brokenSession('stays')];
    await purgedOnce(run({}).stop, gone);
    assert.equal(await rowsOf(stays), [1, 1]);

    const late = await brokenSession('late');
    let purged = false;
    const { stored } = run({
      before: async (name, { session_id }) => {
        if (name !== 'storeReview' || session_id !== late || purged) return;
        purged = true; // after its prompts were read, before what was found in them is stored
        await purge(late);
      },
    });
    await eventually(() => purged);
    await sleep(200);
    assert.is((await rowsOf(late))[0], 0);
    assert.not.ok((await list()).items.some(({ session_id }) => session_id === late));
    assert.not.ok(JSON.stringify(await database().sql('select * from svc.cache_breaks')).includes('late many'));
    assert.ok(stored.filter((one) => one === late).length <= 1, 'what is left of it, without breaks');
  });

  async function purgedOnce(stop: () => Promise<void>, session_id: string): Promise<void> {
    await eventually(isDone);
    assert.equal(await rowsOf(session_id), [1, 1]);
    await stop();
    await purge(session_id);
    assert.equal(await rowsOf(session_id), [0, 0]);
  }

  const purge = (session_id: string) => purgeSession(database().execute, { session_id, reason: 'test' });

  test('two processes look at each session once', async () => {
    for (const name of ['a', 'b', 'c', 'd']) await brokenSession(name);
    const other = await second();
    const opened: string[] = [];
    const slowly: Before = async (name, { session_id }) => {
      if (name !== 'compactionSeams') return; // once for each time that a session is looked at
      opened.push(String(session_id));
      await sleep(50); // the other one polls meanwhile
    };
    const runners = [run({ before: slowly }), run({ before: slowly, on: other })];
    await eventually(isDone);
    await sleep(300); // whoever comes second finds nothing to do
    assert.is(opened.length, 4, opened.join());
    assert.is(new Set(opened).size, 4);
    assert.is(runners.flatMap(({ stored }) => stored).length, 4);
    for (const { stop } of runners) await stop();
    if (other !== database()) await other.close();
  });

  test('one that dies in the middle is taken over, when its lease has ended', async () => {
    for (const name of ['a', 'b', 'c']) await brokenSession(name);
    let dead = false;
    const first = run({
      before: (name) => {
        if (first.stored.length === 1) dead = true;
        if (dead) throw new Error(`Cannot run ${name}: the process is gone`);
      },
    });
    await eventually(() => dead);
    const next = run();
    await sleep(300);
    assert.is(next.stored.length, 0, 'the lease of the first one holds');
    await database().sql("update svc.work_leases set leased_until = now() where work = 'cache'");
    await eventually(isDone);
    assert.equal([first.stored.length, next.stored.length], [1, 2]);
    assert.is((await list()).items.length, 3);
  });

  test('nothing is stored while turns are', async () => {
    await brokenSession('a');
    let release: () => void = () => {};
    const storing = new Promise<void>((done) => {
      release = done;
    });
    const executed: string[] = [];
    const { stored } = run({
      before: (name) => void executed.push(name),
      precedence: { committing: async (work) => storing.then(work) },
    });
    await eventually(() => executed.includes('promptCalls'));
    await sleep(200);
    assert.not.ok(executed.includes('storeReview'));
    release();
    await eventually(() => stored.length === 1);
  });

  test('it rests as long as it works, and longer where the listeners are busy', async () => {
    const session_id = await brokenSession('a');
    let paused = 0;
    const began = performance.now();
    const { stored } = run({
      before: (name) => (name === 'promptCalls' ? sleep(100) : undefined),
      pause: async (ms) => {
        paused += ms;
      },
    });
    await eventually(() => stored.includes(session_id));
    assert.ok(paused >= 95, `${paused} ms of work were reported`);
    assert.ok(performance.now() - began >= 195, 'and as long it rested');
  });

  test('a session that changes all the time is looked at again after twenty times as long as it took', async () => {
    const session_id = await brokenSession('a');
    const looks: number[] = [];
    run({
      before: async (name) => {
        if (name !== 'compactionSeams') return;
        looks.push(performance.now());
        await sleep(50);
      },
    });
    await eventually(async () => {
      await touch(session_id);
      return looks.length === 2;
    });
    const [first = 0, then = 0] = looks;
    assert.ok(then - first >= 20 * 50, `${then - first} ms`);
  });

  /** Another process: nothing of it is shared but the database. */
  async function second(): Promise<Database> {
    const { dsn } = database();
    return dsn === undefined ? database() : openDatabase({ dsn, pooled: false, folder: '', log: openLog('silent') });
  }
});
