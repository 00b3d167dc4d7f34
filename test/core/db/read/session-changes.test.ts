/** Every change is told, once, however transactions overlap and wherever a reader is cut. */
import { sql } from 'drizzle-orm';
import * as fc from 'fast-check';
import * as assert from 'uvu/assert';
import { eventId, readEventId } from '../../../../core/api/event-id.ts';
import { openPool } from '../../../../core/db/client/server.ts';
import { type ChangePosition, EVERYTHING } from '../../../../core/db/read/session-changes.ts';
import { recordChange } from '../../../../core/db/record-change.ts';
import { databaseSuite, type TestDatabase } from '../../../support/databases.ts';

const sessionId = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const numberOf = (session_id: string) => Number(session_id.slice(-12));

/** As `noteChange` does, where only text reaches the database. */
const note = (database: TestDatabase, ...numbers: number[]) =>
  database.sql(
    `insert into svc.session_changes (session_id) select unnest($1::uuid[])
     on conflict (session_id) do update set changed_by = excluded.changed_by`,
    [`{${numbers.map(sessionId).join(',')}}`],
  );

const now = async (database: TestDatabase): Promise<ChangePosition> => ({
  seen: (await database.execute('changesNow', {})).seen,
  round: null,
});

/** Everything from a place on, page by page. */
async function changesFrom(database: TestDatabase, from: ChangePosition, limit = 2) {
  const pages: number[][] = [];
  let place = from;
  for (let more = true; more; ) {
    const page = await database.execute('sessionChanges', { place, limit });
    pages.push(page.changes.map(({ session_id }) => numberOf(session_id)));
    ({ place, more } = page);
  }
  return { pages, place };
}

/** Someone who writes: a connection of its own on a server; the embedded database has but one, and writes at the commit. */
type Lane = { begin(): Promise<unknown>; note(n: number): Promise<unknown>; end(kept: boolean): Promise<unknown> };

function openLanes(database: TestDatabase, count: number): { lanes: Lane[]; close(): Promise<void> } {
  const { dsn } = database;
  if (dsn === undefined) {
    let pending: number[] = [];
    const lane: Lane = {
      begin: async () => {
        pending = [];
      },
      note: async (n) => pending.push(n),
      end: async (kept) => kept && pending.length > 0 && note(database, ...new Set(pending)),
    };
    return { lanes: [lane], close: async () => {} };
  }
  const pools = Array.from({ length: count }, () => openPool({ dsn, pooled: false, size: 1 }));
  const lanes = pools.map((pool): Lane => {
    const connection = pool.sqlFor(60_000); // one connection, so statements follow each other on it
    return {
      begin: async () => {
        await connection.script('begin');
        await connection.rows(sql`select pg_current_xact_id()`); // numbers are given now, whatever the order of writing
      },
      note: (n) => recordChange(connection, [sessionId(n)]),
      end: (kept) => connection.script(kept ? 'commit' : 'rollback'),
    };
  });
  return { lanes, close: async () => void (await Promise.all(pools.map((pool) => pool.close()))) };
}

databaseSuite('session changes', (test, database) => {
  test.before.each(() => database().reset());

  test('changes come in pages, in the order in which they were made, and then no more', async () => {
    await note(database(), 5);
    await note(database(), 1, 2, 3);
    await note(database(), 4);
    const { pages, place } = await changesFrom(database(), EVERYTHING);
    assert.equal(pages, [[5, 1], [2, 3], [4]]);
    assert.equal(await changesFrom(database(), place), { pages: [[]], place: await now(database()) });
    await note(database(), 2);
    assert.equal((await changesFrom(database(), place)).pages, [[2]]);
  });

  test('from now on nothing is told of before', async () => {
    await note(database(), 1);
    const place = await now(database());
    assert.equal((await changesFrom(database(), place)).pages, [[]]);
    await note(database(), 2);
    assert.equal((await changesFrom(database(), place)).pages, [[2]]);
  });

  test('a session that changes while pages are read is told in the round after, not in both', async () => {
    await note(database(), 1, 2, 3, 4);
    const first = await database().execute('sessionChanges', { place: EVERYTHING, limit: 2 });
    assert.equal(
      first.changes.map(({ session_id }) => numberOf(session_id)),
      [1, 2],
    );
    await note(database(), 1, 4);
    const rest = await changesFrom(database(), first.place);
    assert.equal(rest.pages, [[3]]);
    assert.equal((await changesFrom(database(), rest.place)).pages, [[1, 4]]);
  });

  test('a session without a row, or that somebody deleted, is told as gone', async () => {
    await database().sql(
      `insert into svc.sessions (session_id, harness_id, harness_session_id, client_key, started_at, last_seen_at)
       select s, 'h', s, '', now(), now() from unnest($1::uuid[]) s`,
      [`{${sessionId(1)},${sessionId(2)}}`],
    );
    await database().sql('insert into svc.session_edits (session_id, deleted_at) values ($1, now())', [sessionId(2)]);
    await note(database(), 1, 2, 3);
    const { changes } = await database().execute('sessionChanges', { place: EVERYTHING, limit: 10 });
    assert.equal(
      changes.map(({ session_id, session }) => [numberOf(session_id), session?.id]),
      [
        [1, sessionId(1)],
        [2, undefined],
        [3, undefined],
      ],
    );
  });

  test('changes of another life, noted under transactions yet to come, are told once', async () => {
    await note(database(), 1, 2);
    await database().sql(`update svc.session_changes set changed_by = '900000000000' where session_id = $1`, [
      sessionId(1),
    ]);
    const before = (await database().execute('changesNow', {})).seen;
    assert.equal((await changesFrom(database(), { seen: before, round: null })).pages, [[]]);
    assert.equal((await changesFrom(database(), EVERYTHING)).pages, [[2, 1]]);
  });

  test('whoever is up to date looks at no row but the new ones', async () => {
    await database().sql(
      `insert into svc.session_changes (session_id) select gen_random_uuid() from generate_series(1, 5000)`,
    );
    await database().sql('analyze svc.session_changes');
    const { seen } = await database().execute('changesNow', {});
    const plan = await database().sql(
      `explain select changed_by, session_id from svc.session_changes c
        where c.changed_by >= pg_snapshot_xmin($1::pg_snapshot) and not pg_visible_in_snapshot(c.changed_by, $1::pg_snapshot)
          and pg_visible_in_snapshot(c.changed_by, pg_current_snapshot())
        order by c.changed_by, c.session_id limit 51`,
      [seen],
    );
    assert.match(JSON.stringify(plan), /session_changes_order.*Index Cond/);
  });

  test('however transactions overlap and wherever a reader is cut, no change is lost and none is told twice', async () => {
    const LANES = 3;
    const SESSIONS = 4;
    const step = fc.oneof(
      {
        weight: 3,
        arbitrary: fc.record({ act: fc.constant('note' as const), lane: fc.nat(LANES - 1), n: fc.nat(SESSIONS - 1) }),
      },
      {
        weight: 2,
        arbitrary: fc.record({ act: fc.constant('end' as const), lane: fc.nat(LANES - 1), kept: fc.boolean() }),
      },
      { weight: 2, arbitrary: fc.record({ act: fc.constant('read' as const), taken: fc.nat(3) }) },
    );
    const write = { act: 'note', lane: 0, n: 3 } as const;
    const commit = { act: 'end', lane: 0, kept: true } as const;
    const leavesItsRound = [write, { ...write, n: 0 }, commit, { act: 'read', taken: 1 } as const, write, commit];
    const { lanes, close } = openLanes(database(), LANES);
    try {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
          await database().sql('delete from svc.session_changes'); // a reset takes longer than all the rest
          let place = await now(database());
          const open = new Map<Lane, Set<number>>();
          const changed = new Set<number>(); // committed, and not told yet
          const read = async (taken: number) => {
            const isWithinRound = place.round !== null; // whose rest may have moved to the next round: an empty page is not the end
            const page = await database().execute('sessionChanges', { place, limit: 2 });
            const heard = page.changes.slice(0, taken);
            for (const { session_id } of heard)
              assert.ok(changed.delete(numberOf(session_id)), 'told without a change');
            const at = heard.length < page.changes.length ? (heard.at(-1)?.place ?? place) : page.place;
            ({ place } = readEventId(eventId({ life: '1.1', place: at, crossing: null })));
            return isWithinRound || page.more || page.changes.length > 0;
          };
          const end = async (lane: Lane, kept: boolean) => {
            await lane.end(kept);
            if (kept) for (const n of open.get(lane) ?? []) changed.add(n);
            open.delete(lane);
          };
          for (const one of steps) {
            if (one.act === 'read') {
              await read(one.taken);
              continue;
            }
            const lane = lanes[one.lane % lanes.length];
            if (!lane) continue;
            if (one.act === 'end') {
              if (open.has(lane)) await end(lane, one.kept);
              continue;
            }
            if ([...open].some(([other, written]) => other !== lane && written.has(one.n))) continue; // it would wait
            if (!open.has(lane)) {
              await lane.begin();
              open.set(lane, new Set());
            }
            await lane.note(one.n);
            open.get(lane)?.add(one.n);
          }
          for (const lane of [...open.keys()]) await end(lane, true);
          while (await read(3));
          assert.equal([...changed], [], 'changed, and never told');
        }),
        {
          numRuns: database().dsn === undefined ? 15 : 80,
          examples: [[leavesItsRound]],
        },
      );
    } finally {
      await close();
    }
  });
});
