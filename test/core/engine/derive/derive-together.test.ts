import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import { builtIn } from '../../../../core/call/reader.ts';
import type { JournalCall } from '../../../../core/capture/journal-format.ts';
import type { Database } from '../../../../core/db/database.ts';
import type { Lease } from '../../../../core/db/derive/derive-queue.ts';
import type { LeasedDeps } from '../../../../core/engine/derive/derive-leased.ts';
import { deriveSession } from '../../../../core/engine/derive/derive-session.ts';
import { deriveTogether } from '../../../../core/engine/derive/derive-together.ts';
import { openQueryRetry } from '../../../../core/engine/derive/query-retry.ts';
import { openPrecedence } from '../../../../core/engine/precedence.ts';
import { openLargeTranscripts } from '../../../../core/engine/transcript/large-transcripts.ts';
import { noReadings } from '../../../../core/engine/transcript/recent-readings.ts';
import { DatabaseError } from '../../../../core/errors.ts';
import { openLog } from '../../../../core/log.ts';
import { openBackoff } from '../../../../core/retry.ts';
import { answer, user } from '../../../support/call-turn.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { deriveAll } from '../../../support/derive-all.ts';
import { dump } from '../../../support/dump-projection.ts';
import { generatedCalls } from '../../../support/generated-calls.ts';
import { journalCall, storeCalls } from '../../../support/stored-calls.ts';

const log = openLog('silent');

const depsOf = (database: Database, signal = new AbortController().signal): LeasedDeps => ({
  ...{ database, reader: builtIn, log, signal, metrics: { derived: () => {} } },
  precedence: openPrecedence(database),
  withRetry: openQueryRetry(log, signal),
  outage: { began: false, backoff: openBackoff({ firstMs: 1, maxMs: 1 }) },
  largeTranscripts: openLargeTranscripts(database),
  readings: noReadings,
});

const leased = (database: Database, limit = 100): Promise<Lease[]> =>
  database.execute('leaseDirty', { limit, background: false, lease_ms: 60_000 });

const conversation = (session: string, n = 0): JournalCall =>
  journalCall(session, {
    ...{ at: n, call_id: `${session}-${n}`, says: [user(`Question ${n} of ${session}`)] },
    answers: answer(`Answer ${n}`),
  });
const conversations = (count: number): JournalCall[] => Array.from({ length: count }, (_, i) => conversation(`s${i}`));

databaseSuite('sessions that are derived together', (test, database) => {
  test.before.each(() => database().reset());

  test('whatever they hold, and in whatever order it comes in, their rows are those of each derived by itself', async () => {
    const sessions = fc.array(generatedCalls({ maxLength: 12 }), { minLength: 2, maxLength: 6 });
    const order = fc.array(fc.nat({ max: 99 }), { minLength: 72, maxLength: 72 });
    let together = 0;
    await fc.assert(
      fc.asyncProperty(sessions, order, fc.integer({ min: 1, max: 4 }), async (sessions, order, batches) => {
        const calls = sessions
          .flatMap((own, s) => own.map((call) => journalCall(`s${s}`, { ...call, call_id: `s${s}-${call.call_id}` })))
          .map((call, i) => ({ call, at: (order[i] ?? 0) + (i % 7) }))
          .sort((one, other) => one.at - other.at)
          .map(({ call }) => call);
        await database().reset();
        const size = Math.ceil(calls.length / batches);
        for (let from = 0; from < calls.length; from += size) {
          await storeCalls(database(), calls.slice(from, from + size));
          const leases = await leased(database());
          const alone = await deriveTogether(depsOf(database()), leases);
          together += leases.length - alone.length;
          for (const lease of alone) assert.is((await deriveSession(depsOf(database()), lease)).end, 'done');
        }
        assert.equal((await database().execute('derivePending', {})).queued, 0);
        const rows = await dump(database());

        await database().sql('truncate svc.traces, svc.spans, svc.span_links, svc.session_rollups, svc.derive_states');
        await database().execute('markFromScratch', { session_id: null });
        for (const lease of await leased(database())) await deriveSession(depsOf(database()), lease);
        assert.equal(rows, await dump(database()));
      }),
      { numRuns: 12 },
    );
    assert.ok(together > 12, `${together} were derived together`);
  });

  test('one read and one commit serve them all, and each is published', async () => {
    await storeCalls(database(), conversations(40));
    const executed: string[] = [];
    const execute = ((name, args) => {
      executed.push(name);
      return database().execute(name, args);
    }) as Database['execute'];
    const alone = await deriveTogether(depsOf({ ...database(), execute }), await leased(database()));
    assert.equal([alone, executed], [[], ['simpleSessions', 'turnsToDerive', 'commitDerive']]);
    assert.is((await dump(database())).traces?.length, 40);
    const [published] = await database().sql(
      'select count(*)::integer as sessions from svc.session_changes where turn_count = 1',
    );
    assert.equal(published, { sessions: 40 });
  });

  test('one whose lease is lost is left out, and so is what has to be read again', async () => {
    await storeCalls(database(), conversations(6));
    const leases = await leased(database());
    const [lost, scratch] = leases;
    assert.ok(lost && scratch);
    await database().sql('update svc.derive_queue set lease_token = gen_random_uuid() where session_id = $1', [
      lost.session_id,
    ]);
    const mixed = leases.map((lease) => ({ ...lease, from_scratch: lease === scratch }));
    const alone = await deriveTogether(depsOf(database()), mixed);
    assert.equal(
      alone.map(({ session_id }) => session_id),
      [scratch.session_id],
    );
    const derived = (await database().sql('select session_id from svc.session_rollups')).map(
      ({ session_id }) => session_id,
    );
    assert.is(derived.length, 4);
    assert.not(derived.includes(lost.session_id));
  });

  test('when a turn comes in meanwhile its session stays due', async () => {
    await storeCalls(database(), conversations(3));
    const leases = await leased(database());
    await storeCalls(database(), [conversation('s1', 5)]);
    assert.equal(await deriveTogether(depsOf(database()), leases), []);
    const [again, ...none] = await leased(database());
    assert.ok(again);
    assert.equal(none, []);
    assert.equal(await deriveTogether(depsOf(database()), [again]), []);
    assert.equal(await leased(database()), []);
  });

  test('one that cannot be read fails by itself', async () => {
    const [bad = ''] = await storeCalls(database(), conversations(20));
    const execute = (async (name, args) => {
      if (name === 'turnsToDerive' && JSON.stringify(args).includes(bad)) throw new RangeError('no');
      return database().execute(name, args);
    }) as Database['execute'];
    const alone = await deriveTogether(depsOf({ ...database(), execute }), await leased(database()));
    assert.is(alone.length, 20);
    await database().execute('returnLeases', { leases: alone });
    await deriveAll(database());
    assert.is((await dump(database())).traces?.length, 20);
  });

  test('while the database is away their leases are mixed back, and at the signal too', async () => {
    await storeCalls(database(), conversations(5));
    const execute = (async (name, args) => {
      if (name === 'commitDerive') throw new DatabaseError('away', '08006', true);
      return database().execute(name, args);
    }) as Database['execute'];
    assert.equal(await deriveTogether(depsOf({ ...database(), execute }), await leased(database())), []);
    const again = await leased(database());
    assert.equal(
      again.map(({ attempts }) => attempts),
      [0, 0, 0, 0, 0],
    );
    assert.equal(await deriveTogether(depsOf(database(), AbortSignal.abort()), again), []);
    assert.is((await leased(database())).length, 5);
  });

  test('what is looked at comes first, then the newest, and what has waited longest is not forgotten', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 8; n++) {
      ids.push(...(await storeCalls(database(), [conversation(`s${n}`)])));
      await database().sql(
        `update svc.derive_queue set try_after = now() - $1 * interval '1 second' where session_id = $2`,
        [100 - n, ids.at(-1)],
      );
    }
    await database().execute('markLookedAt', { session_ids: [ids[3] ?? '', crypto.randomUUID()] });
    const next = async (limit: number) =>
      (await leased(database(), limit)).map(({ session_id }) => ids.indexOf(session_id));
    assert.equal(await next(1), [3]);
    assert.equal(await next(1), [7]);
    assert.equal((await next(4)).sort(), [0, 1, 5, 6]);
    assert.equal((await next(9)).sort(), [2, 4]);
  });
});
