/** Retention removes whole sessions, the oldest first, and leaves all that is counted, derived and proved of the others as it was. */
import fc from 'fast-check';
import * as assert from 'uvu/assert';
import type { ChangePosition } from '../../../../core/db/read/session-changes.ts';
import {
  type Age,
  agedTurn,
  assertCounted,
  assertVerified,
  daysAgo,
  listed,
  session,
  stats,
  storeAged,
  storingMeanwhile,
  sweep,
} from '../../../support/aged-sessions.ts';
import { cassettesOf, furnished } from '../../../support/cassette-database.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { deriveAll } from '../../../support/derive-all.ts';
import { fillHoldingTables, HOLDING_TABLES, heldRows } from '../../../support/holding-tables.ts';
import { testIngest } from '../../../support/ingested-turns.ts';
import { assertWhole } from '../../../support/stored-bytes.ts';

databaseSuite('retention', (test, database) => {
  const store = (sessions: Record<string, Age>) => storeAged(database(), sessions);
  const slices = async () => Number((await database().sql('select count(*) as n from svc.slices'))[0]?.n);

  const reasons = async () =>
    (await database().sql('select distinct reason from svc.tombstones order by 1')).map(({ reason }) => reason);

  test.before.each(() => database().reset());

  test('sessions older than the limit go with their slices, and the others stay as they are', async () => {
    await store({ kept: { turns: 3, days: 2 } });
    const before = { stats: await stats(database()), slices: await slices() };
    await store({ old: { turns: 3, days: 40 }, older: { turns: 2, days: 60 } });

    const swept = await sweep(database(), { days: 30 });

    assert.is(swept?.sessions, 2);
    assert.is(swept?.raw_turns, 5);
    assert.ok((swept?.slices ?? 0) > 5);
    assert.equal(await stats(database()), before.stats);
    assert.is(await slices(), before.slices, 'what only the removed sessions referred to is gone');
    assert.is(await assertWhole(database()), 3);
    assert.equal(await listed(database()), [session('kept')]);
    assert.equal(await assertVerified(database()), { turns: 3, purged: 5 });
    assert.equal(await reasons(), ['retention.days']);
    assert.is((await database().execute('lastRemovals', {}))[0]?.raw_turns, 5);
    assert.is(await sweep(database(), { days: 30 }), null, 'nothing is left to be removed');
  });

  test('nothing goes while nothing is configured, nor by a dry run', async () => {
    await store({ old: { turns: 2, days: 400 } });
    assert.is(await sweep(database(), {}), null);
    assert.is(await sweep(database(), { days: 30, dryRun: true }), null);
    assert.equal(await assertVerified(database()), { turns: 2, purged: 0 });
  });

  test('last activity counts, not the start; a starred session stays', async () => {
    await store({ long: { turns: 1, days: 90 }, starred: { turns: 1, days: 90 } });
    await store({ long: { turns: 2, days: 3 } });
    await database().execute('editSession', { session_id: session('starred'), edits: { starred: true } });
    assert.is(await sweep(database(), { days: 30 }), null);
    assert.equal((await listed(database())).length, 2);
  });

  test('sub-agents of a starred session stay, however deep and however little is derived', async () => {
    const old = { turns: 1, days: 90 };
    await store({ starred: old, child: old, grandchild: old, underived: old, loop: old, other: old });
    await database().execute('editSession', { session_id: session('starred'), edits: { starred: true } });
    for (const [child, parent] of [
      ['child', 'starred'],
      ['grandchild', 'child'],
      ['loop', 'other'],
      ['other', 'loop'],
    ] as const)
      await database().sql('update svc.session_rollups set parent_session_id = $1::uuid where session_id = $2::uuid', [
        session(parent),
        session(child),
      ]);
    await database().sql('delete from svc.session_rollups where session_id = $1::uuid', [session('underived')]);
    await database().sql(
      "update svc.sessions set parent_harness_session_id = 'grandchild' where harness_session_id = 'underived'",
    );
    assert.is((await sweep(database(), { days: 30 }))?.sessions, 2);
    const left = await database().sql(
      'select harness_session_id as name from svc.sessions where turn_count + moved_turns > purged_turns order by 1',
    );
    assert.equal(
      left.map(({ name }) => name),
      ['child', 'grandchild', 'starred', 'underived'],
    );
  });

  test('a project has its own limit, or none', async () => {
    await store({ brief: { turns: 1, days: 10 }, ever: { turns: 1, days: 500 }, other: { turns: 1, days: 10 } });
    for (const name of ['brief', 'ever'])
      await database().sql(`update svc.session_rollups set project = $1 where session_id = $2::uuid`, [
        name,
        session(name),
      ]);
    const projects = new Map([
      ['brief', 7],
      ['ever', null],
    ]);
    const swept = await sweep(database(), { days: 30, projects });
    assert.is(swept?.sessions, 1);
    assert.equal(await reasons(), ['retention.projects'], 'not the days of the others, which it did not reach');
    await sweep(database(), { days: 5, projects });
    assert.equal(await reasons(), ['retention.days', 'retention.projects']);
    assert.equal(await listed(database()), [session('ever')]);
    assert.is(await sweep(database(), { projects: new Map([['nobody', 1]]) }), null);
  });

  test('a session that is not derived has the project that its last turns name, though the first ones name none', async () => {
    await store({ ledger: { turns: 3, days: 90 }, none: { turns: 2, days: 90 } });
    await database().sql('delete from svc.session_rollups');
    const name = (project: string, seq: number) =>
      database().sql(`
        do $$ begin
          perform set_config('svc.purge', 'on', true); -- else nobody changes a turn
          update svc.raw_turns set identity = identity || '{"project":"${project}"}'
           where session_seq = ${seq} and session_id = '${session('ledger')}';
        end $$`);
    await name('', 1);
    await name('ledger', 2);
    await name('', 3);
    const projects = new Map([['ledger', null]]);
    assert.is((await sweep(database(), { days: 30, projects }))?.sessions, 1);
    assert.is((await sweep(database(), { days: 30 }))?.raw_turns, 3);
  });

  test('a session that goes on after its removal is shown again, with the new turns only', async () => {
    await store({ back: { turns: 2, days: 50 } });
    await sweep(database(), { days: 30 });
    assert.equal(await listed(database()), []);
    const writer = await testIngest(database());
    await writer.append(agedTurn('back', 2, 1), null);
    await deriveAll(database());
    assert.equal(await listed(database()), [session('back')]);
    assert.equal(await assertVerified(database()), { turns: 1, purged: 2 });
    const read = await database().execute('readSession', { session_id: session('back') });
    assert.ok(read);
  });

  test('a session that goes changes once for readers of the events, and again when it got turns meanwhile', async () => {
    await store({ old: { turns: 2, days: 50 }, deleted: { turns: 1, days: 50 }, goes_on: { turns: 1, days: 50 } });
    await database().execute('deleteSession', { session_id: session('deleted') });
    let place: ChangePosition = { seen: (await database().execute('changesNow', {})).seen, round: null };
    const changed = async () => {
      const page = await database().execute('sessionChanges', { place, limit: 10 });
      ({ place } = page);
      return page.changes.map(({ session_id, session: shown }) => [session_id, shown !== null]);
    };
    const due = await database().execute('dueSessions', { before: daysAgo(30), projects: [], never: [], limit: 5 });
    await database().execute('beginRemovals', { sessions: due.map((one) => ({ ...one, reason: 'test' })) });
    const gone = [session('old'), session('goes_on')].sort();
    assert.equal(
      (await changed()).sort(),
      gone.map((id) => [id, false]),
    );
    const writer = await testIngest(database());
    await writer.append(agedTurn('goes_on', 1, 0), null);
    await sweep(database(), { days: 30 });
    assert.equal(await changed(), [[session('goes_on'), true]]);
  });

  test('an interrupted removal is completed by the next sweep', async () => {
    await store({ old: { turns: 3, days: 50 }, kept: { turns: 1, days: 1 } });
    const before = await stats(database());
    const [due] = await database().execute('dueSessions', { before: daysAgo(30), projects: [], never: [], limit: 5 });
    assert.ok(due);
    await database().execute('beginRemovals', { sessions: [{ ...due, reason: 'test' }] });
    const hidden = await stats(database());
    await database().execute('removeDerived', { session_ids: [session('old')], limit: 3 });
    await database().execute('removeTurns', { session_ids: [session('old')], limit: 1 });
    assert.equal(await stats(database()), hidden, 'exact in the middle of it');
    assert.ok(before.turn_count > hidden.turn_count);
    const swept = await sweep(database(), { days: 365 });
    assert.is(swept?.raw_turns, 2);
    assert.equal(await stats(database()), hidden);
    assert.equal(await assertVerified(database()), { turns: 1, purged: 3 });
    assert.equal(
      await database().sql('select 1 from svc.session_removals union all select 1 from svc.session_edits'),
      [],
    );
  });

  test('a cassette whose tables do not let go of their rows holds up no sweep', async () => {
    await store({ old: { turns: 2, days: 50 }, kept: { turns: 1, days: 1 } });
    const cassettes = cassettesOf(database());
    try {
      await furnished(cassettes, 'notes', { tables: HOLDING_TABLES });
      await fillHoldingTables(database(), 'notes', session('old'));
      assert.is((await sweep(database(), { days: 30 }))?.raw_turns, 2);
      assert.equal(await heldRows(database(), 'notes'), [1, 1, 1, 1]);
      assert.is(await sweep(database(), { days: 30 }), null, 'it has come to its end');
      assert.equal(await listed(database()), [session('kept')]);
    } finally {
      await database().execute('removeCassette', { name: 'notes' });
      await cassettes.close();
    }
  });

  test('a turn that comes in while its session is being removed stays', async () => {
    await store({ old: { turns: 2, days: 50 } });
    const [due] = await database().execute('dueSessions', { before: daysAgo(30), projects: [], never: [], limit: 5 });
    assert.ok(due);
    await database().execute('beginRemovals', { sessions: [{ ...due, reason: 'test' }] });
    const writer = await testIngest(database());
    await writer.append(agedTurn('old', 2, 0), null);
    await sweep(database(), { days: 365 });
    await deriveAll(database());
    assert.equal(await assertVerified(database()), { turns: 1, purged: 2 });
    assert.equal(await listed(database()), [session('old')]);
  });

  test('the oldest go for the size, and no more go while nothing comes in', async () => {
    const sessions = Array.from({ length: 12 }, (_, i) => [
      `s${String(i).padStart(2, '0')}`,
      { turns: 2, days: 20 - i },
    ]);
    await store(Object.fromEntries(sessions));
    const { bytes, turn_bytes } = await database().execute('measureStored', {});
    const maxBytes = Math.round((bytes - 8 * turn_bytes) / 0.95); // down to 95 % of it: some eight turns go
    const swept = await sweep(database(), { maxBytes: Math.min(maxBytes, bytes - 1) });
    assert.ok(swept && swept.sessions >= 3 && swept.sessions <= 6, JSON.stringify(swept));
    const left = await listed(database());
    assert.not.ok(left.includes(session('s00')));
    assert.ok(left.includes(session('s11')));
    for (let i = 0; i < 3; i++) assert.is(await sweep(database(), { maxBytes: Math.min(maxBytes, bytes - 1) }), null);
    assert.equal(await listed(database()), left);
  });

  test('a size that cannot be reached is reported, and starred sessions stay', async () => {
    await store({ a: { turns: 1, days: 9 }, b: { turns: 1, days: 8 } });
    await database().execute('editSession', { session_id: session('a'), edits: { starred: true } });
    const swept = await sweep(database(), { maxBytes: 1_000 });
    assert.is(swept?.unreachable, true);
    assert.equal(await listed(database()), [session('a')]);
  });

  test('every turn that is stored during a sweep is whole', async () => {
    const old = Array.from({ length: 25 }, (_, i) => [`old ${i}`, { turns: 3, days: 50 + i }]);
    await store(Object.fromEntries(old));
    let removed = 0;
    const { written } = await storingMeanwhile(database(), Object.keys(Object.fromEntries(old)), async () => {
      for (let i = 0; i < 3; i++) removed += (await sweep(database(), { days: 30 }))?.raw_turns ?? 0;
    });
    await deriveAll(database());
    assert.is(await assertWhole(database()), 75 + written - removed);
    const verified = await assertVerified(database());
    assert.equal(verified, { turns: 75 + written - removed, purged: removed });
    assert.ok(removed > 30, `${removed} were removed`);
    await assertCounted(database());
  });

  test('whatever goes, the totals are those of what is left', async () => {
    const ages = fc.array(fc.record({ turns: fc.integer({ min: 1, max: 3 }), days: fc.integer({ min: 0, max: 60 }) }), {
      minLength: 1,
      maxLength: 5,
    });
    await fc.assert(
      fc.asyncProperty(ages, fc.integer({ min: 1, max: 60 }), async (all, days) => {
        await database().reset();
        const named = Object.fromEntries(all.map((one, i) => [`p${i}`, one]));
        const isLeft = (one: { days: number }) => one.days <= days; // what is as old as the limit is not older
        await store(Object.fromEntries(Object.entries(named).filter(([, one]) => isLeft(one))));
        const expected = { stats: await stats(database()), slices: await slices() };
        await store(Object.fromEntries(Object.entries(named).filter(([, one]) => !isLeft(one))));
        await sweep(database(), { days });
        assert.equal(await stats(database()), expected.stats);
        assert.is(await slices(), expected.slices);
      }),
      { numRuns: 6 },
    );
  });
});
