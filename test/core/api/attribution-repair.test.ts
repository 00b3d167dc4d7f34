/** POST /v1/admin/raw-turns/attribution-repair: a turn comes to count for another session, and both read as if it always had. */
import * as assert from 'uvu/assert';
import { readContract } from '../../../core/api/app.ts';
import { attributionRepairApp } from '../../../core/api/attribution-repair.ts';
import { sessionId } from '../../../core/call/identity.ts';
import { builtIn } from '../../../core/call/reader.ts';
import { verifyIn } from '../../../core/cli/verify.ts';
import type { Database } from '../../../core/db/database.ts';
import { runDeriveWorker } from '../../../core/engine/derive/derive-worker.ts';
import { DatabaseError } from '../../../core/errors.ts';
import { onError } from '../../../core/http/failure.ts';
import { openLog } from '../../../core/log.ts';
import { AttributionRepaired } from '../../../core/model/attribution-repair.ts';
import { Problem } from '../../../core/model/problem.ts';
import { answer, assistant, type Call, toolResult, toolUse, user } from '../../support/call-turn.ts';
import { capturedCall, chat, chatAnswer, takeIn } from '../../support/captured-calls.ts';
import { databaseSuite } from '../../support/databases.ts';
import { ingestBody, testIngest } from '../../support/ingested-turns.ts';
import { type Json, testApi } from '../../support/read-api.ts';
import { journalCall, storeCalls } from '../../support/stored-calls.ts';

const PATH = '/v1/admin/raw-turns/attribution-repair';
const log = openLog('silent');
const metrics = { derived: () => {}, derivePending: () => {} };
const reason = 'it was counted wrongly';
const to = (harness_session_id: string) => ({ harness_id: 'test', harness_session_id, reason });

/** A worker keeps up while this is done. */
async function working<T>(database: Database, work: () => Promise<T>): Promise<T> {
  const stopping = new AbortController();
  const worker = runDeriveWorker({ database, reader: builtIn, log, metrics, signal: stopping.signal, pollMs: 50 });
  try {
    await worker.drained();
    return await work();
  } finally {
    stopping.abort();
    await worker.stopped;
  }
}

const says = [user('List the files')];
const used = answer('I look.', toolUse('t1', 'Bash', { command: 'ls' }));
/** A talk of two calls, and another between them, which somebody else has had. */
const TALK: Call[] = [
  { at: 0, call_id: 'c1', says, answers: used },
  {
    at: 20,
    call_id: 'c3',
    says: [...says, assistant(...used.content), user(toolResult('t1', 'a b'))],
    answers: answer('Two files'),
  },
];
const STRAY: Call = { at: 10, call_id: 'c2', says: [user('Who is there?')], answers: answer('Nobody') };
const OTHER: Call = { at: 30, call_id: 'c4', says: [user('Say it again')], answers: answer('Nobody, again') };

const A = sessionId('test', 'a');
const B = sessionId('test', 'b');

databaseSuite('attribution repair', (test, database) => {
  test.before.each(() => database().reset());

  const store = (calls: readonly [session: string, call: Call][]) =>
    storeCalls(
      database(),
      calls.map(([session, call]) => journalCall(session, call)),
    );
  const turnIds = async (): Promise<Record<string, number>> => {
    const rows = await database().sql('select raw_turn_id, svc_proxy_request_id from svc.raw_turns');
    return Object.fromEntries(rows.map((row) => [row.svc_proxy_request_id, Number(row.raw_turn_id)]));
  };
  const post = (body: unknown, execute: Database['execute'] = database().execute) =>
    testApi({ execute }).request(PATH, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const repair = async (body: unknown): Promise<AttributionRepaired> => {
    const response = await post(body);
    assert.is(response.status, 200, await response.clone().text());
    return AttributionRepaired.parse(await response.json());
  };
  /** The same with little patience. */
  const hasty = async (body: unknown, execute: Database['execute'] = database().execute, waitMs = 200) => {
    const app = attributionRepairApp({ execute, log, waitMs });
    app.onError(onError(log));
    const response = await app.request(PATH, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: (await response.json()) as Json };
  };
  const get = async (path: string): Promise<Json> => {
    const response = await testApi({ execute: database().execute }).request(path);
    assert.is(response.status, 200, path);
    return response.json();
  };
  const corrections = () =>
    database().sql('select raw_turn_id, kind, session_id, thread_id, reason from svc.raw_turn_corrections order by 1');

  /** All that readers are told, and the tables behind it, without the places of turns in their chains. */
  const everything = async (): Promise<Json> => {
    const { items } = await get('/v1/sessions');
    const { items: browsed } = await get('/v1/browse/sessions?sort=total_tokens');
    const documents = await Promise.all(items.map(({ id }: Json) => get(`/v1/sessions/${id}/traces`)));
    const turns = await Promise.all(items.map(({ id }: Json) => get(`/v1/sessions/${id}/raw_turns`)));
    const tables: Record<string, Json[]> = {};
    const nonEmpty = 'where session_id not in (select s.session_id from svc.sessions s where s.is_empty)'; // each has a row there
    for (const table of ['calls', 'nodes', 'session_rollups', 'session_totals', 'stat_cells']) {
      const which = table === 'session_totals' ? nonEmpty : '';
      const rows = await database().sql(`select to_jsonb(x)::text as row from svc.${table} x ${which} order by 1`);
      tables[table] = rows.map(({ row }) => row);
    }
    const seen = await database().sql(
      'select to_jsonb(s)::text as row from svc_v1.sessions s union all select to_jsonb(l)::text from svc_v1.span_links l order by 1',
    );
    return {
      items,
      browsed,
      documents,
      turns: turns.map((page: Json) => page.items.map((item: Json) => [item.raw_turn_id, item.session_id])),
      stats: await get('/v1/stats'),
      tables,
      seen: seen.map(({ row }) => row),
    };
  };

  test('both sessions read as if the turn had been counted right from the first', async () => {
    const [first = TALK[0], last = TALK[1]] = TALK;
    if (!first || !last) throw new Error('the talk has two calls');
    await store([
      ['a', first],
      ['b', STRAY],
      ['a', last],
      ['b', OTHER],
    ]);
    const right = await working(database(), everything);
    assert.is(right.items.length, 2);

    await database().reset();
    await store([
      ['a', first],
      ['a', STRAY],
      ['a', last],
      ['b', OTHER],
    ]);
    await working(database(), async () => {
      assert.is.not(JSON.stringify(await everything()), JSON.stringify(right));
      const { c2 } = await turnIds();
      const repaired = await repair({ raw_turn_id: c2, ...to('b') });
      const whose = (session_id: string, name: string) => ({
        ...{ raw_turn_id: c2, session_id, harness_id: 'test', harness_session_id: name, thread_id: '' },
      });
      assert.equal(repaired, { recorded: true, previous: whose(A, 'a'), effective: whose(B, 'b') });
      assert.equal(await everything(), right);
    });
  });

  test('the first and the last turn of a session take its times with them, and bring them', async () => {
    await store([
      ['a', STRAY],
      ['b', OTHER],
    ]);
    const right = await working(database(), everything);
    await database().reset();
    await store([
      ['a', STRAY],
      ['a', OTHER],
    ]);
    await working(database(), async () => {
      const { c4 } = await turnIds();
      await repair({ raw_turn_id: c4, ...to('b') });
      assert.equal(await everything(), right);
    });
  });

  test('ids of traces and spans do not move', async () => {
    await store([
      ['a', STRAY],
      ['a', OTHER],
    ]);
    await working(database(), async () => {
      const ids = () => database().sql('select trace_id, span_id, raw_turn_id from svc.spans order by 1, 2');
      const before = await ids();
      await repair({ svc_proxy_request_id: 'c2', ...to('b') });
      assert.equal(await ids(), before);
      const rows = await database().sql('select session_id, count(*)::integer as n from svc.traces group by 1');
      assert.equal(Object.fromEntries(rows.map(({ session_id, n }) => [session_id, n])), { [A]: 1, [B]: 1 });
    });
  });

  test('a correction is appended with its reason, and the raw turn stays as it is', async () => {
    await store([
      ['a', STRAY],
      ['a', OTHER],
    ]);
    const turns = () => database().sql('select to_jsonb(t)::text as row from svc.raw_turns t order by 1');
    const before = await turns();
    await working(database(), async () => {
      const { c2 } = await turnIds();
      await repair({ raw_turn_id: c2, ...to('b'), thread_id: 'reviewer', reason: '  told by its wrapper ' });
      assert.equal(await corrections(), [
        ...[{ raw_turn_id: c2, kind: 'repair', session_id: B, thread_id: 'reviewer', reason: 'told by its wrapper' }],
      ]);
      assert.equal(await turns(), before);
      assert.is((await database().execute('chainHead', { session_id: A }))?.turn_count, 2, 'the chain stays');
    });
  });

  test('a thread alone is put right, and a parent', async () => {
    await store([
      ['a', STRAY],
      ['a', OTHER],
      ['p', { ...OTHER, at: 5, call_id: 'c5' }],
    ]);
    await working(database(), async () => {
      const repaired = await repair({
        ...{ svc_proxy_request_id: 'c4', ...to('a'), thread_id: 'reviewer', parent_harness_session_id: 'p' },
      });
      assert.equal([repaired.previous.thread_id, repaired.effective.thread_id], ['', 'reviewer']);
      assert.equal(
        [repaired.previous.parent_harness_session_id, repaired.effective.parent_harness_session_id],
        [undefined, 'p'],
      );
      const { session } = await get(`/v1/sessions/${A}`);
      assert.equal([session.parent_session_id, session.raw_turn_count], [sessionId('test', 'p'), 2]);
      const threads = await database().sql(`select distinct thread_id from svc.spans where raw_turn_id = $1`, [
        (await turnIds()).c4,
      ]);
      assert.ok(threads.some(({ thread_id }) => thread_id === 'reviewer'));
      // what is left out is none
      const back = await repair({ svc_proxy_request_id: 'c4', ...to('a') });
      assert.equal([back.recorded, back.effective.thread_id], [true, '']);
      assert.is((await get(`/v1/sessions/${A}`)).session.parent_session_id, undefined);
    });
  });

  test('a call without a harness that is given to one counts for its agent', async () => {
    await store([['a', OTHER]]);
    await takeIn(database(), [capturedCall({ n: 1, request: chat('Hello'), response: chatAnswer('Hi') })]);
    await working(database(), async () => {
      const [stray] = await database().sql(`select raw_turn_id from svc.raw_turns where harness_id = 'unknown'`);
      await repair({ raw_turn_id: Number(stray?.raw_turn_id), ...to('a') });
      const agents = await database().sql('select distinct agent_name from svc.nodes');
      assert.equal(agents, [{ agent_name: 'test' }]);
      const { items } = await get('/v1/sessions');
      assert.equal(
        items.map(({ id, agent_name, raw_turn_count }: Json) => [id, agent_name, raw_turn_count]),
        [[A, 'test', 2]],
      );
    });
  });

  test('what is so already is not recorded, and derived all the same', async () => {
    await store([
      ['a', STRAY],
      ['a', OTHER],
    ]);
    await working(database(), async () => {
      const before = await everything();
      await database().sql(`update svc.spans set name = 'wrong'`);
      const repaired = await repair({ svc_proxy_request_id: 'c2', ...to('a') });
      assert.is(repaired.recorded, false);
      assert.equal(repaired.previous, repaired.effective);
      assert.equal(await corrections(), []);
      assert.equal(await everything(), before);
    });
  });

  test('a turn that was moved twice counts for the last session, and one that came back is as it was', async () => {
    await store([
      ['a', STRAY],
      ['a', OTHER],
    ]);
    await working(database(), async () => {
      const before = await everything();
      for (const name of ['b', 'c', 'a']) await repair({ svc_proxy_request_id: 'c2', ...to(name) });
      assert.is((await corrections()).length, 3);
      assert.equal(await everything(), before);
      await repair({ svc_proxy_request_id: 'c2', ...to('c') });
      assert.is((await get(`/v1/sessions/${sessionId('test', 'c')}`)).session.raw_turn_count, 1);
      assert.is((await testApi({ execute: database().execute }).request(`/v1/sessions/${B}`)).status, 404);
    });
  });

  test('a session without a turn left is told nowhere, until a turn comes', async () => {
    await store([
      ['a', STRAY],
      ['b', OTHER],
    ]);
    await working(database(), async () => {
      const { seen: place } = await database().execute('changesNow', {});
      await repair({ svc_proxy_request_id: 'c2', ...to('b') });
      const { changes } = await database().execute('sessionChanges', {
        place: { seen: place, round: null },
        limit: 10,
      });
      const turnCounts = new Map(
        changes.map(({ session_id, session }) => [session_id, session?.raw_turn_count ?? null]),
      );
      assert.equal(Object.fromEntries(turnCounts), { [A]: null, [B]: 2 }, 'who listens hears that it is gone');
      const { items } = await get('/v1/sessions');
      assert.equal(
        items.map(({ id }: Json) => id),
        [B],
      );
      assert.is((await get('/v1/browse/sessions')).items.length, 1);
      assert.is((await database().sql('select id from svc_v1.sessions')).length, 1);
      const derived = ['traces', 'spans', 'span_links', 'session_rollups', 'nodes', 'calls', 'derive_states'];
      for (const table of [...derived, 'derive_queue', 'stat_cells'])
        assert.equal(await database().sql(`select 1 from svc.${table} where session_id = $1`, [A]), [], table);
      for (const [path, method] of [
        [`/v1/sessions/${A}`, 'GET'],
        [`/v1/sessions/${A}/traces`, 'GET'],
        [`/v1/sessions/${A}/raw_turns`, 'GET'],
        [`/v1/sessions/${A}`, 'DELETE'],
      ] as const)
        assert.is(
          (await testApi({ execute: database().execute }).request(path, { method })).status,
          404,
          `${method} ${path}`,
        );
    });
    await store([['a', { ...STRAY, at: 50, call_id: 'c9' }]]);
    await working(database(), async () => {
      const { session } = await get(`/v1/sessions/${A}`);
      assert.equal([session.raw_turn_count, session.rollup.turn_count], [1, 1]);
      await repair({ svc_proxy_request_id: 'c2', ...to('a') });
      assert.is((await get(`/v1/sessions/${A}`)).session.raw_turn_count, 2);
      assert.is((await get('/v1/sessions')).items.length, 2);
    });
  });

  test('the parent of another session stays in the lists without a turn', async () => {
    await store([
      ['a', STRAY],
      ['b', OTHER],
    ]);
    await working(database(), async () => {
      await repair({ svc_proxy_request_id: 'c2', ...to('b'), parent_harness_session_id: 'a' });
      const { session } = await get(`/v1/sessions/${A}`);
      assert.equal([session.raw_turn_count, session.rollup.turn_count], [0, 0]);
      assert.equal((await get(`/v1/sessions/${A}/raw_turns`)).items, []);
    });
  });

  test('202 names what is not derived in time, and the worker brings it about later without another call', async () => {
    await store([
      ['a', STRAY],
      ['a', OTHER],
    ]);
    await working(database(), async () => {});
    const { status, body } = await hasty({ svc_proxy_request_id: 'c2', ...to('b') });
    assert.is(status, 202);
    AttributionRepaired.parse(body);
    assert.is(body.recorded, true);
    assert.equal(body.projections_pending, [
      { session_id: A, harness_id: 'test', harness_session_id: 'a' },
      { session_id: B, harness_id: 'test', harness_session_id: 'b' },
    ]);
    const healed = await working(database(), everything);
    await database().reset();
    await store([
      ['a', STRAY],
      ['a', OTHER],
    ]);
    await working(database(), async () => {
      await repair({ svc_proxy_request_id: 'c2', ...to('b') });
      assert.equal(await everything(), healed);
    });
  });

  test('202 when one of them cannot be derived: only that one is named, parked or not', async () => {
    await store([
      ['a', STRAY],
      ['a', OTHER],
    ]);
    await working(database(), async () => {});
    let broken = true;
    const failing: Database = {
      ...database(),
      execute: (async (name, args) => {
        const { session_id } = args as { session_id?: string };
        if (broken && name === 'turnsToRead' && session_id === B) throw new TypeError('no');
        return database().execute(name, args);
      }) as Database['execute'],
    };
    await working(failing, async () => {
      const late = await hasty({ svc_proxy_request_id: 'c2', ...to('b') }, database().execute, 1_500);
      assert.is(late.status, 202);
      assert.equal(
        late.body.projections_pending.map(({ session_id }: Json) => session_id),
        [B],
      );
    });
    await database().sql('update svc.derive_queue set parked_at = now()');
    // It is parked once more before anybody looks.
    const parked = (async (name, args) => {
      if (name === 'repairPending') await database().sql('update svc.derive_queue set parked_at = now()');
      return database().execute(name, args);
    }) as Database['execute'];
    const began = Date.now();
    const again = await hasty({ svc_proxy_request_id: 'c2', ...to('b') }, parked, 60_000);
    assert.equal([again.status, again.body.recorded], [202, false]);
    assert.ok(Date.now() - began < 30_000, 'what is parked is not waited for');
    broken = false;
    assert.is((await hasty({ svc_proxy_request_id: 'c2', ...to('b') })).status, 202, 'marked, and nobody is at work');
    await working(database(), async () => {
      assert.is((await get(`/v1/sessions/${B}`)).session.rollup.turn_count, 1);
    });
  });

  /** The row of an emptied session cannot be taken out of the lists. */
  const refuseCleanup = async (how: 'refuse' | 'allow') => {
    if (how === 'allow') await database().sql('drop trigger no_cleanup on svc.sessions');
    else {
      await database().sql(`
        create or replace function svc.no_cleanup() returns trigger language plpgsql as $$
        begin raise exception 'no'; end $$`);
      await database().sql(`
        create trigger no_cleanup before update on svc.sessions
          for each row when (new.emptied) execute function svc.no_cleanup()`);
    }
  };

  test('an emptied session that cannot be taken out of the lists is told, with 200 and with 202', async () => {
    await store([
      ['a', STRAY],
      ['b', OTHER],
    ]);
    await refuseCleanup('refuse');
    try {
      await working(database(), async () => {
        const repaired = await repair({ svc_proxy_request_id: 'c2', ...to('b') });
        assert.is(repaired.source_cleanup_pending, true);
        assert.is(repaired.projections_pending, undefined);
        const { session } = await get(`/v1/sessions/${A}`);
        assert.equal([session.raw_turn_count, session.rollup.turn_count], [0, 0], 'it holds nothing');
        assert.is((await get(`/v1/sessions/${B}`)).session.rollup.turn_count, 2);
      });
      const { status, body } = await hasty({ svc_proxy_request_id: 'c4', ...to('c') });
      assert.is(status, 202);
      assert.is(body.source_cleanup_pending, undefined, 'the other still has a turn');
      const last = await hasty({ svc_proxy_request_id: 'c2', ...to('c') });
      assert.equal([last.status, last.body.source_cleanup_pending], [202, true]);
      assert.is(last.body.projections_pending.length, 2);
    } finally {
      await refuseCleanup('allow');
    }
    await working(database(), async () => {
      assert.is((await get(`/v1/sessions/${sessionId('test', 'c')}`)).session.rollup.turn_count, 2);
    });
  });

  test('an emptied session is taken out though nobody derives: only the other is pending then', async () => {
    await store([
      ['a', STRAY],
      ['b', OTHER],
    ]);
    await working(database(), async () => {});
    const { status, body } = await hasty({ svc_proxy_request_id: 'c2', ...to('b') });
    assert.is(status, 202);
    assert.equal(
      body.projections_pending.map(({ session_id }: Json) => session_id),
      [B],
    );
    assert.equal(await database().sql('select 1 from svc.traces where session_id = $1', [A]), []);
    assert.is((await get('/v1/sessions')).items.length, 1);
  });

  test('repairs of one turn that race come one after the other, and all are recorded', async () => {
    await store([
      ['a', STRAY],
      ['a', OTHER],
    ]);
    await working(database(), async () => {
      const names = ['b', 'c', 'd', 'e', 'f', 'g'];
      const answers = await Promise.all(names.map((name) => repair({ svc_proxy_request_id: 'c2', ...to(name) })));
      assert.ok(answers.every(({ recorded }) => recorded));
      const rows = await database().sql('select k.session_id from svc.raw_turn_corrections k order by k.correction_id');
      assert.is(rows.length, names.length);
      const order = [A, ...rows.map(({ session_id }) => session_id)];
      for (const { previous, effective } of answers)
        assert.is(order[order.indexOf(effective.session_id) - 1], previous.session_id, 'each saw the one before');
      const { items } = await get('/v1/sessions');
      assert.equal(items.map(({ id }: Json) => id).sort(), [A, order.at(-1)].sort());
      assert.equal(
        await database().sql('select session_id, count(*)::integer as n from svc.traces group by 1 order by 1'),
        [A, String(order.at(-1))].sort().map((session_id) => ({ session_id, n: 1 })),
      );
    });
  });

  test('a reading that began before a correction does not put back what it moved away', async () => {
    await store([
      ['a', STRAY],
      ['a', OTHER],
    ]);
    const right = await working(database(), async () => {
      await repair({ svc_proxy_request_id: 'c2', ...to('b') });
      return everything();
    });
    await database().reset();
    await store([
      ['a', STRAY],
      ['a', OTHER],
    ]);
    await working(database(), async () => {});
    await database().execute('markFromScratch', { session_id: A });
    let moved = false;
    const overtaken: Database = {
      ...database(),
      execute: (async (name, args) => {
        if (name === 'replaceNodes' && !moved) {
          moved = true;
          await hasty({ svc_proxy_request_id: 'c2', ...to('b') }, database().execute, 0);
        }
        return database().execute(name, args);
      }) as Database['execute'],
    };
    await working(overtaken, async () => {});
    assert.ok(moved);
    assert.equal(await everything(), right);
  });

  test('an ingested turn is named by its raw_turn_id', async () => {
    const ingest = await testIngest(database());
    const verdict = await ingest.append(ingestBody(capturedCall({ n: 7, request: chat('Hello') })), null);
    if (verdict.kind !== 'accepted') throw new Error('it is taken in');
    await working(database(), async () => {
      const repaired = await repair({ raw_turn_id: verdict.raw_turn_id, ...to('b') });
      assert.is(repaired.effective.session_id, B);
      assert.is((await get(`/v1/sessions/${B}`)).session.rollup.turn_count, 1);
    });
  });

  test('derive/run derives a session anew that has only turns of others', async () => {
    await store([
      ['a', STRAY],
      ['a', OTHER],
    ]);
    await working(database(), async () => {
      await repair({ svc_proxy_request_id: 'c2', ...to('b') });
      const before = await everything();
      await database().sql(`update svc.spans set name = 'wrong'`);
      const response = await testApi({ execute: database().execute }).request('/v1/admin/derive/run', {
        method: 'POST',
      });
      assert.is(((await response.json()) as Json).sessions, 2);
      assert.equal(await everything(), before);
    });
  });

  test('purging a session takes the turns that were moved to it, and leaves those that were moved away', async () => {
    await store([
      ['a', STRAY],
      ['a', OTHER],
      ['b', { ...OTHER, at: 40, call_id: 'c6' }],
    ]);
    await working(database(), async () => {
      await repair({ svc_proxy_request_id: 'c2', ...to('b') });
      const purged = await testApi({ execute: database().execute }).request(`/v1/admin/sessions/${B}/purge`, {
        method: 'POST',
      });
      assert.is(((await purged.json()) as Json).raw_turns, 2);
      await repair({ svc_proxy_request_id: 'c4', ...to('a') });
      const { items } = await get('/v1/sessions');
      assert.equal(
        items.map(({ id, raw_turn_count, rollup }: Json) => [id, raw_turn_count, rollup.turn_count]),
        [[A, 1, 1]],
      );
      assert.is((await post({ svc_proxy_request_id: 'c2', ...to('a') })).status, 404, 'it is gone');
    });
  });

  test('svc verify finds both sessions in order afterwards', async () => {
    await store([
      ['a', STRAY],
      ['a', OTHER],
      ['b', { ...OTHER, at: 40, call_id: 'c6' }],
    ]);
    await working(database(), () => repair({ svc_proxy_request_id: 'c2', ...to('b') }));
    let out = '';
    const code = await verifyIn(
      database(),
      { session: null, head: null, json: false },
      { out: (text) => (out += text) },
    );
    assert.is(code, 0, out);
    assert.match(out, /^Checked 2 sessions, 3 turns, 6 messages, /);
  });

  test('what is asked wrongly is 400, a turn that is not there 404, and nothing is recorded', async () => {
    await store([['a', STRAY]]);
    const { c2 } = await turnIds();
    const given = { raw_turn_id: c2, ...to('b') };
    const without = (name: string) => Object.fromEntries(Object.entries(given).filter(([key]) => key !== name));
    const wrong: unknown[] = [
      without('raw_turn_id'),
      { ...given, svc_proxy_request_id: 'c2' },
      ...['harness_id', 'harness_session_id', 'reason'].flatMap((name) => [
        ...[without(name), { ...given, [name]: '' }, { ...given, [name]: '  ' }, { ...given, [name]: null }],
      ]),
      { ...given, parent_harness_session_id: '' },
      { ...given, parent_harness_session_id: 'b' },
      { ...given, raw_turn_id: '1' },
      { ...given, raw_turn_id: 0 },
      { ...given, raw_turn_id: 1.5 },
      { ...given, raw_turn_id: 2 ** 60 },
      { ...without('raw_turn_id'), svc_proxy_request_id: '' },
      { ...given, session_id: A },
      { ...given, reason: 'x'.repeat(501) },
      [],
      null,
    ];
    for (const body of wrong) {
      const response = await post(body);
      assert.is(response.status, 400, JSON.stringify(body));
      assert.is(Problem.parse(await response.json()).status, 400);
    }
    for (const selector of [{ raw_turn_id: 999 }, { svc_proxy_request_id: 'nobody' }]) {
      const response = await post({ ...without('raw_turn_id'), ...selector });
      assert.is(response.status, 404);
      assert.match(
        Problem.parse(await response.json()).error,
        'Cannot repair the raw turn: there is none with this id',
      );
    }
    assert.equal(await corrections(), []);
    assert.equal(await database().sql('select session_id from svc.sessions where session_id = $1', [B]), []);
    const api = testApi({ execute: database().execute });
    assert.is((await api.request(PATH, { method: 'POST', body: JSON.stringify(given) })).status, 415);
    const large = { ...given, thread_id: 'x'.repeat(5_000) };
    assert.is((await post(large)).status, 413);
    assert.is((await api.request(PATH)).status, 405);
  });

  test('one part of a transcript is 409', async () => {
    await store([['a', STRAY]]);
    await database().sql('alter table svc.raw_turns disable trigger user');
    await database().sql(
      `update svc.raw_turns set source = 'transcript', meta = '{"transcript":{"part":{"index":0,"count":2}}}'`,
    );
    await database().sql('alter table svc.raw_turns enable trigger user');
    const response = await post({ svc_proxy_request_id: 'c2', ...to('b') });
    assert.is(response.status, 409);
    assert.is(Problem.parse(await response.json()).status, 409);
    assert.equal(await corrections(), []);
  });

  test('a database that is away is 503 before the correction, and 202 after it', async () => {
    await store([
      ['a', STRAY],
      ['a', OTHER],
    ]);
    await working(database(), async () => {});
    const away = (missing: string[]) =>
      (async (name, args) => {
        if (missing.includes(name)) throw new DatabaseError('Cannot ask the database: it is away', '', true);
        return database().execute(name, args);
      }) as Database['execute'];
    assert.is((await hasty({ svc_proxy_request_id: 'c2', ...to('b') }, away(['repairAttribution']))).status, 503);
    assert.equal(await corrections(), []);
    const { status, body } = await hasty({ svc_proxy_request_id: 'c2', ...to('b') }, away(['repairPending']));
    assert.equal([status, body.recorded, body.projections_pending.length], [202, true, 2]);
  });

  test('its contract names every answer, with an example of each', () => {
    const { requestBody, responses, operationId } = (readContract('0') as Json).paths[PATH].post;
    assert.is(operationId, 'repairAttribution');
    assert.is(requestBody.required, true);
    const statuses = ['200', '202', '400', '401', '403', '404', '408', '409', '413', '415', '431', '500', '503'];
    assert.equal(Object.keys(responses), statuses);
    for (const status of ['200', '202', '400', '404', '409'])
      for (const { example } of Object.values<Json>(responses[status].content)) assert.ok(example, status);
    AttributionRepaired.parse(responses[202].content['application/json'].example);
  });
});
