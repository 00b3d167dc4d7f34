import * as fc from 'fast-check';
import pino from 'pino';
import * as assert from 'uvu/assert';
import { builtIn } from '../../../../core/call/reader.ts';
import type { JournalCall } from '../../../../core/capture/journal-format.ts';
import type { Database, OperationResult } from '../../../../core/db/database.ts';
import { openDatabase } from '../../../../core/db/open.ts';
import { deriveSession } from '../../../../core/engine/derive/derive-session.ts';
import { type DeriveWorker, runDeriveWorker } from '../../../../core/engine/derive/derive-worker.ts';
import { DatabaseError } from '../../../../core/errors.ts';
import { openLog } from '../../../../core/log.ts';
import { answer, assistant, type Call, instantAt, toolResult, toolUse, user } from '../../../support/call-turn.ts';
import { databaseSuite } from '../../../support/databases.ts';
import { dump } from '../../../support/dump-projection.ts';
import { eventually } from '../../../support/eventually.ts';
import { generatedCalls } from '../../../support/generated-calls.ts';
import { recordedCalls } from '../../../support/replay-recordings.ts';
import { journalCall, storeCalls } from '../../../support/stored-calls.ts';

const log = openLog('silent');
const never = new AbortController().signal;
const metrics = { derived: () => {}, derivePending: () => {} };

/** One pass over the session that is due. */
async function deriveOnce(database: Database) {
  const [lease] = await database.execute('leaseDirty', { limit: 1, background: true, lease_ms: 60_000 });
  if (!lease) throw new Error('Cannot derive: no session is due');
  return deriveSession({ database, reader: builtIn, signal: never }, lease);
}

async function working<T>(database: Database, work: (worker: DeriveWorker) => Promise<T>): Promise<T> {
  const stopping = new AbortController();
  const worker = runDeriveWorker({
    database,
    reader: builtIn,
    log,
    metrics,
    signal: stopping.signal,
    pollMs: 50,
  });
  try {
    return await work(worker);
  } finally {
    stopping.abort();
    await worker.stopped;
  }
}

/** The database, with somebody who hears each question first and may throw. */
const overhearing = (database: Database, heard: (name: string, args: unknown) => void): Database => ({
  ...database,
  execute: (async (name, args) => {
    heard(name, args);
    return database.execute(name, args);
  }) as Database['execute'],
});

const says = [user('List the files')];
const used = answer('I look.', toolUse('t1', 'Bash', { command: 'ls' }));
const asks: Call = { at: 0, call_id: 'c1', says, answers: used };
const brings: Call = {
  at: 2,
  call_id: 'c2',
  says: [...says, assistant(...used.content), user(toolResult('t1', 'a b'))],
  answers: answer('Two files'),
};
/** A conversation of one call per prompt. */
const prompts = (count: number): Call[] =>
  Array.from({ length: count }, (_, i) => ({
    at: i,
    call_id: `p${String(i).padStart(5, '0')}`,
    says: [user(`Prompt ${i}`)],
    answers: answer('Ok'),
  }));

databaseSuite('derive worker', (test, database) => {
  test.before.each(() => database().reset());

  test('what intake stores is read again and becomes a trace', async () => {
    await storeCalls(database(), [journalCall('s', asks), journalCall('s', { ...brings, retry_count: 2 })]);
    assert.equal(await deriveOnce(database()), { folded: 2, end: 'done' });
    const traces = await database().sql(
      'select user_prompt, response_preview, status, span_count, cost_usd from svc.traces',
    );
    assert.equal(traces, [
      { user_prompt: 'List the files', response_preview: 'Two files', status: 'ok', span_count: 4, cost_usd: '0.0009' },
    ]);
    const spans = await database().sql(
      'select kind, name, output, encode(node_hash, $1) as hash, price, usage_verbatim from svc.spans order by seq',
      ['hex'],
    );
    assert.equal(
      spans.map(({ kind }) => kind),
      ['agent', 'llm', 'tool', 'llm'],
    );
    assert.equal(spans[2]?.output, [{ type: 'tool_result', tool_result_id: 't1', tool_output: 'a b' }]);
    assert.match(String(spans[1]?.hash), /^[0-9a-f]{64}$/);
    assert.equal(spans[1]?.usage_verbatim, { input_tokens: 100, output_tokens: 10 });
    assert.equal(
      (await database().sql('select kind from svc.span_links order by kind')).map(({ kind }) => kind),
      ['emits', 'feeds'],
    );
    assert.equal(await database().execute('derivePending', {}), { queued: 0, parked: 0, oldest_seconds: 0 });
  });

  test('a turn that comes later completes what stands, and folds itself alone', async () => {
    await storeCalls(database(), [journalCall('s', asks)]);
    await deriveOnce(database());
    await storeCalls(database(), [journalCall('s', brings)]);
    assert.is((await deriveOnce(database())).folded, 1);
    const [tool] = await database().sql(
      `select output, ended_at is not null as ended from svc.spans where kind = 'tool'`,
    );
    assert.equal(tool, { output: [{ type: 'tool_result', tool_result_id: 't1', tool_output: 'a b' }], ended: true });
  });

  test('the recorded session: one trace of a title and eight calls whose tools are joined but the last', async () => {
    const recorded = await recordedCalls();
    if (!recorded) return console.log('skip: the recorded session: the fixtures are absent');
    const calls = recorded.map((call, i): JournalCall => {
      const base = journalCall('', { at: i * 10, call_id: `recorded-${i}` });
      return {
        ...base,
        opened: { ...base.opened, headers: call.headers, url: call.path },
        request: call.body,
        responseHead: { status: call.status, headers: call.responseHeaders, first_byte_at: instantAt(i * 10 + 1) },
        response: call.response,
        closed: base.closed && { ...base.closed, last_byte_at: instantAt(i * 10 + 2) },
      };
    });
    assert.is((await storeCalls(database(), calls)).length, 1);
    await deriveOnce(database());
    const traces = await database().sql(`
      select t.user_prompt, t.status, count(*) filter (where s.kind = 'llm') as calls,
             count(*) filter (where s.kind = 'tool') as tools,
             count(*) filter (where s.kind = 'tool' and s.output = '[]') as open
        from svc.traces t join svc.spans s on s.session_id = t.session_id and s.trace_id = t.trace_id
       group by t.trace_id, t.session_id order by t.started_at`);
    assert.equal(
      traces.map(({ calls: n, status }) => [n, status]),
      [[9, 'ok']],
    );
    assert.equal([traces[0]?.user_prompt, traces[0]?.open], ['Run the generate-claude-fixture skill.', 1]);
    const [rollup] = await database().sql(
      'select name, cwd, model, status, unpriced_models, cost_usd from svc.session_rollups',
    );
    assert.equal(
      [rollup?.name, rollup?.model, rollup?.unpriced_models],
      ['tapes-fixture-run-7c', 'claude-sonnet-4-6', []],
    );
    const [sums] = await database().sql(`
      select sum(cost_usd) = (select cost_usd from svc.session_rollups) as same, max(seq) filter (where kind = 'llm') as seq
        from svc.all_spans`);
    assert.is(sums?.same, true);
  });

  test('in any order of arrival, in any pieces, and after everything derived was thrown away: the same rows', async () => {
    await fc.assert(
      fc.asyncProperty(
        generatedCalls({ minLength: 12, maxLength: 30 }),
        fc.array(fc.nat({ max: 30 }), { minLength: 5, maxLength: 30 }),
        fc.integer({ min: 1, max: 6 }),
        async (calls, order, batch) => {
          const given = calls.map((call) => journalCall('s', call));
          await database().reset();
          await storeCalls(database(), given);
          await deriveOnce(database());
          const whole = await dump(database());

          await database().sql(
            'truncate svc.traces, svc.spans, svc.span_links, svc.session_rollups, svc.nodes, svc.calls',
          );
          await database().execute('markFromScratch', { session_id: null });
          await deriveOnce(database());
          assert.equal(await dump(database()), whole, 'thrown away and made again');

          await database().reset();
          const arrived = given
            .map((call, i) => ({ call, i, place: order[i % order.length] ?? 0 }))
            .sort((a, b) => a.place - b.place || a.i - b.i)
            .map(({ call }) => call);
          for (let i = 0; i < arrived.length; i += batch) {
            await storeCalls(database(), arrived.slice(i, i + batch));
            await deriveOnce(database());
          }
          assert.equal(await dump(database()), whole, 'in another order');
        },
      ),
      { numRuns: 6, endOnFailure: true },
    );
  });

  test('the k-th turn reads and folds itself alone, a late one a few', async () => {
    const read: number[] = [];
    const counting: Database = {
      ...database(),
      execute: (name, args) => {
        const answer = database().execute(name, args);
        if (name !== 'turnsToDerive') return answer;
        return answer.then((found) => {
          read.push((found as { turns: unknown[] }).turns.length);
          return found;
        });
      },
    };
    const calls = prompts(202).map((call) => journalCall('s', call));
    await storeCalls(database(), calls.slice(0, 200));
    await deriveOnce(counting);
    read.length = 0;
    await storeCalls(database(), calls.slice(200, 201));
    assert.is((await deriveOnce(counting)).folded, 1);
    assert.equal(read, [1]);
    await storeCalls(database(), [
      journalCall('s', { at: 195.5, call_id: 'late', says: [user('Late')], answers: answer('Ok') }),
    ]);
    assert.ok((await deriveOnce(counting)).folded <= 24);
    await storeCalls(database(), calls.slice(201));
    assert.is((await deriveOnce(counting)).folded, 1);
    const [{ kept } = {}] = await database().sql('select count(*) as kept from svc.derive_states');
    assert.ok(Number(kept) < 30, `${kept} states are kept`);
  });

  test('deriving again writes no row that would stay as it is', async () => {
    await storeCalls(
      database(),
      prompts(20).map((call) => journalCall('s', call)),
    );
    await deriveOnce(database());
    const versions = () =>
      database().sql(`
        select 'span' as what, span_id::text as id, xmin::text as version from svc.spans
        union all select 'trace', trace_id::text, xmin::text from svc.traces
        union all select 'rollup', session_id::text, xmin::text from svc.session_rollups order by 1, 2`);
    const before = await versions();
    await database().sql(
      'insert into svc.derive_queue (session_id, from_scratch) select session_id, true from svc.sessions',
    );
    assert.is((await deriveOnce(database())).folded, 20);
    assert.equal(await versions(), before);
  });

  test('rows that no call makes any more are gone', async () => {
    await storeCalls(database(), [journalCall('s', asks), journalCall('s', brings)]);
    await deriveOnce(database());
    const right = await dump(database());
    await database().sql(`
      insert into svc.traces (trace_id, session_id, started_at)
      select gen_random_uuid(), session_id, started_at from svc.sessions`);
    await database().sql(`
      insert into svc.spans (trace_id, span_id, session_id, seq, kind, name, started_at)
      select trace_id, gen_random_uuid(), session_id, 9, 'event', 'stray', started_at from svc.traces`);
    await database().sql(
      'insert into svc.derive_queue (session_id, from_scratch) select session_id, true from svc.sessions',
    );
    await deriveOnce(database());
    assert.equal(await dump(database()), right);
  });

  test('who has lost the lease writes nothing', async () => {
    await storeCalls(database(), [journalCall('s', asks)]);
    const [lost] = await database().execute('leaseDirty', { limit: 1, background: true, lease_ms: -1 });
    const [held] = await database().execute('leaseDirty', { limit: 1, background: true, lease_ms: 60_000 });
    if (!lost || !held) throw new Error('Cannot lease twice');
    assert.equal(
      await database().execute('leaseDirty', { limit: 1, background: true, lease_ms: 60_000 }),
      [],
      'it is taken',
    );
    const deps = { database: database(), reader: builtIn, signal: never };
    assert.is((await deriveSession(deps, lost)).end, 'lost');
    assert.equal((await dump(database())).traces, []);
    const { session_id } = lost;
    assert.equal(await database().execute('renewLeases', { leases: [lost], lease_ms: 1 }), []);
    assert.is(await database().execute('failDerive', { session_id, lease_token: lost.lease_token, error: 'x' }), null);
    assert.is((await deriveSession(deps, held)).end, 'done');
  });

  test('a turn that comes in meanwhile keeps the session due', async () => {
    await storeCalls(database(), [journalCall('s', asks)]);
    const [lease] = await database().execute('leaseDirty', { limit: 1, background: true, lease_ms: 60_000 });
    if (!lease) throw new Error('Cannot lease');
    await storeCalls(database(), [journalCall('s', brings)]);
    const deps = { database: database(), reader: builtIn, signal: never };
    assert.is((await deriveSession(deps, lease)).end, 'again');
    assert.is((await deriveOnce(database())).end, 'done');
    assert.is((await database().execute('derivePending', {})).queued, 0);
  });

  test('the worker derives what comes, and is drained when all is', async () => {
    await working(database(), async (worker) => {
      for (let i = 0; i < 5; i++) {
        await storeCalls(
          database(),
          [journalCall(`s${i}`, asks), journalCall(`s${i}`, brings)].map((call, n) => renamed(call, `${i}-${n}`)),
        );
        worker.poke();
      }
      await worker.drained();
      const [{ n } = {}] = await database().sql(
        'select count(*) as n from svc.session_rollups where tool_result_count = 1',
      );
      assert.is(n, 5);
    });
  });

  test('a session that fails is parked with the class of its error, and holds up no other', async () => {
    const [bad] = await storeCalls(database(), [renamed(journalCall('bad', asks), 'bad')]);
    await storeCalls(database(), [renamed(journalCall('good', asks), 'good')]);
    const failing = overhearing(database(), (name, args) => {
      if (name === 'turnsToDerive' && JSON.stringify(args).includes(bad ?? ''))
        throw new RangeError('Cannot read "List the files"');
    });
    await working(failing, async (worker) => {
      for (let attempt = 1; attempt <= 8; attempt++) {
        await worker.drained();
        const [row] = await database().sql('select attempts, error, try_after > now() as waits from svc.derive_queue');
        assert.equal(row, { attempts: attempt, error: 'RangeError', waits: true });
        await database().sql('update svc.derive_queue set try_after = now()');
      }
      await worker.drained();
    });
    assert.equal(await database().execute('derivePending', {}), { queued: 0, parked: 1, oldest_seconds: 0 });
    assert.is((await dump(database())).rollups?.length, 1, 'the other is derived');
    await storeCalls(database(), [renamed(journalCall('bad', brings), 'bad2')]);
    await working(database(), (worker) => worker.drained());
    assert.is((await dump(database())).rollups?.length, 2, 'a new turn gives it another try');
  });

  test('a session whose process ends each time is parked, whoever leased it', async () => {
    const [bad] = await storeCalls(database(), [renamed(journalCall('bad', asks), 'bad')]);
    const lease = (lease_ms: number) => database().execute('leaseDirty', { limit: 1, background: false, lease_ms });
    for (let attempts = 0; attempts < 8; attempts++) {
      assert.equal(
        (await lease(-1)).map((one) => one.attempts),
        [attempts],
      );
      const parked = await database().execute('parkAbandoned', {});
      assert.equal(parked, attempts === 7 ? [{ session_id: bad, attempts: 8 }] : []);
    }
    assert.equal(await lease(-1), []);
    assert.equal(await database().execute('derivePending', {}), { queued: 0, parked: 1, oldest_seconds: 0 });
    assert.equal(await database().sql('select error from svc.derive_queue'), [{ error: 'ProcessEnded' }]);
    await storeCalls(database(), [renamed(journalCall('bad', brings), 'bad2')]);
    await working(database(), (worker) => worker.drained());
    assert.is((await dump(database())).rollups?.length, 1, 'a new turn gives it another try');
    assert.equal(await database().sql('select error from svc.derive_queue'), []);
  });

  test('what the only process of a database had leased when it ended is due at once, and later each time it ends again', async () => {
    const [bad] = await storeCalls(database(), [renamed(journalCall('bad', asks), 'bad')]);
    for (let ended = 1; ended <= 8; ended++) {
      const [lease] = await database().execute('leaseDirty', { limit: 1, background: false, lease_ms: 60_000 });
      assert.is(lease?.attempts, ended - 1);
      const parked = await database().execute('freeLeases', {});
      assert.equal(parked, ended === 8 ? [{ session_id: bad, attempts: 8 }] : []);
      const [row] = await database().sql('select attempts, try_after > now() as waits from svc.derive_queue');
      assert.equal(row, { attempts: ended, waits: ended > 1 });
      await database().sql('update svc.derive_queue set try_after = now()');
    }
    assert.equal(await database().execute('freeLeases', {}), [], 'nothing is leased');
  });

  test('a session that has failed is derived by itself', async () => {
    for (let n = 0; n < 12; n++) await storeCalls(database(), [renamed(journalCall(`s${n}`, asks), `s${n}`)]);
    const [failed] = await database().sql(
      'update svc.derive_queue set attempts = 1 where session_id = (select min(session_id::text)::uuid from svc.derive_queue) returning session_id',
    );
    const together: string[] = [];
    const overheard = overhearing(database(), (name, args) => {
      if (name === 'simpleSessions') together.push(...(args as { session_ids: string[] }).session_ids);
    });
    await working(overheard, (worker) => worker.drained());
    assert.is((await dump(database())).rollups?.length, 12);
    assert.ok(together.length > 0);
    assert.not(together.includes(String(failed?.session_id)));
  });

  test('sessions that wait for a lane keep their leases when a renewal fails', async () => {
    for (let n = 0; n < 12; n++) await storeCalls(database(), [renamed(journalCall(`s${n}`, asks), `s${n}`)]);
    await database().sql('update svc.derive_queue set attempts = 1');
    let renewals = 0;
    const attempts: number[] = [];
    const failingOnce: Database = {
      ...database(),
      execute: (async (name, args) => {
        if (name === 'renewLeases' && renewals++ === 0)
          throw new DatabaseError('Cannot ask the database: it is away', '', true);
        const result = await database().execute(name, args);
        if (name === 'leaseDirty')
          attempts.push(...(result as OperationResult<'leaseDirty'>).map((lease) => lease.attempts));
        return result;
      }) as Database['execute'],
    };
    await working(failingOnce, (worker) => worker.drained());
    assert.is((await dump(database())).rollups?.length, 12);
    assert.ok(renewals > 1);
    assert.equal(attempts, Array(12).fill(1), 'each was leased once, and no failure was counted');
  });

  test('sessions of older rules are derived again, in the background', async () => {
    await storeCalls(database(), [journalCall('s', asks)]);
    await deriveOnce(database());
    const right = await dump(database());
    await database().sql(`update svc.session_rollups set derive_version = 0, preview = 'old'`);
    await database().sql(`update svc.derive_states set state = state || '{"version": 0}'`);
    const marked = await database().execute('markOutdated', { derive_version: 1, after: null, limit: 10 });
    assert.is(marked.marked, 1);
    assert.equal(await database().execute('leaseDirty', { limit: 1, background: false, lease_ms: 1 }), []);
    assert.is(
      (await database().execute('markOutdated', { derive_version: 1, after: marked.last, limit: 10 })).marked,
      0,
    );
    await working(database(), async () => {
      for (let i = 0; i < 200 && JSON.stringify(await dump(database())) !== JSON.stringify(right); i++) {
        await new Promise((done) => setTimeout(done, 50));
      }
    });
    assert.equal(await dump(database()), right);
  });

  test('a correction moves a turn and all that was derived from it', async () => {
    const [from] = await storeCalls(database(), [journalCall('a', asks), journalCall('a', brings)]);
    const [to] = await storeCalls(database(), [
      renamed(journalCall('b', { ...asks, at: 10, says: [user('Again')] }), 'b'),
    ]);
    await working(database(), (worker) => worker.drained());
    await database().sql(
      `insert into svc.raw_turn_corrections (raw_turn_id, kind, session_id, reason)
       select raw_turn_id, 'repair', $1, 'test' from svc.raw_turns where session_id = $2`,
      [to, from],
    );
    for (const session_id of [from ?? '', to ?? '']) await database().execute('markFromScratch', { session_id });
    await working(database(), (worker) => worker.drained());
    const rows = await database().sql('select session_id, count(*) as spans from svc.spans group by 1');
    assert.equal(rows, [{ session_id: to, spans: 7 }]);
    assert.equal(await database().sql('select session_id from svc.session_rollups'), [{ session_id: to }]);
  });

  test('three workers beside one another fold each of fifty sessions once', async () => {
    const sessions = Array.from({ length: 50 }, (_, i) => `s${i}`);
    await storeCalls(
      database(),
      sessions.flatMap((name) => [asks, brings].map((call, n) => renamed(journalCall(name, call), `${name}-${n}`))),
    );
    const { dsn } = database();
    const others: Database[] = [];
    for (let i = 0; dsn !== undefined && i < 2; i++)
      others.push(await openDatabase({ dsn, pooled: false, folder: '', log }));
    const folds: string[] = [];
    const counting = (real: Database): Database => ({
      ...real,
      execute: (async (name, args) => {
        const found = await real.execute(name, args);
        if (name === 'commitDerive') {
          for (const { session_id, committed } of found as OperationResult<'commitDerive'>) {
            assert.ok(committed);
            folds.push(session_id);
          }
        }
        return found;
      }) as Database['execute'],
    });
    const all = [database(), ...(others.length > 0 ? others : [database(), database()])].map(counting);
    const drained = (worker: DeriveWorker) => worker.drained();
    try {
      // One that begins while others are at work on the embedded database would take their leases for those of a dead process.
      if (dsn === undefined) for (const one of all) await working(one, drained);
      else await Promise.all(all.map((one) => working(one, drained)));
    } finally {
      for (const other of others) await other.close();
    }
    const stored = await database().sql('select session_id from svc.sessions order by session_id');
    assert.equal(
      folds.sort(),
      stored.map(({ session_id }) => session_id),
    );
    assert.is((await database().execute('derivePending', {})).queued, 0);
    assert.is((await dump(database())).traces?.length, 50);
  });

  test('what a worker held that died is taken over when its lease is over', async () => {
    await storeCalls(database(), [journalCall('s', asks)]);
    await working(database(), async (worker) => {
      await worker.drained();
      await storeCalls(database(), [journalCall('s', brings)]);
      const [held] = await database().execute('leaseDirty', { limit: 1, background: true, lease_ms: 1_500 });
      if (!held) return assert.is((await dump(database())).traces?.length, 1, 'the worker was there first');
      await worker.drained();
      assert.is((await database().execute('derivePending', {})).queued, 1, 'it is not touched before');
      await eventually(async () => (await database().execute('derivePending', {})).queued === 0);
      const renewed = await database().execute('renewLeases', { leases: [held], lease_ms: 1_000 });
      assert.equal(renewed, [], 'the dead one holds nothing');
      assert.is((await dump(database())).spans?.length, 4);
    });
  });

  test('a worker that is told of a turn does not wait until it looks by itself', async () => {
    const stopping = new AbortController();
    const worker = runDeriveWorker({
      ...{ database: database(), reader: builtIn, log, metrics, signal: stopping.signal },
      pollMs: 600_000,
    });
    try {
      await worker.drained();
      await storeCalls(database(), [journalCall('s', asks)]); // nobody pokes it
      await eventually(async () => (await dump(database())).traces?.length === 1);
    } finally {
      stopping.abort();
      await worker.stopped;
    }
  });

  test('how far behind derivation is, is measured: what waits, what is parked, and for how long', async () => {
    const [bad = ''] = await storeCalls(database(), [renamed(journalCall('bad', asks), 'bad')]);
    await storeCalls(database(), [renamed(journalCall('parked', asks), 'parked')]);
    await database().sql(`update svc.derive_queue set dirtied_at = now() - interval '1 hour'`);
    await database().sql('update svc.derive_queue set parked_at = now() where session_id <> $1', [bad]);
    const failing = overhearing(database(), (name) => {
      if (name === 'turnsToDerive') throw new RangeError('no');
    });
    const reports: { queue: number; parked: number; lagSeconds: number }[] = [];
    const stopping = new AbortController();
    const worker = runDeriveWorker({
      ...{ database: failing, reader: builtIn, log, signal: stopping.signal, pollMs: 20 },
      metrics: { derived: () => {}, derivePending: (pending) => reports.push(pending) },
    });
    await eventually(() => reports.length > 3);
    stopping.abort();
    await worker.stopped;
    const last = reports.at(-1);
    assert.equal([last?.queue, last?.parked], [1, 1]);
    assert.ok((last?.lagSeconds ?? 0) >= 3_600);
  });

  test('while the database is away the log says why, once, and that it is over', async () => {
    const lines: { reason: string; msg: string }[] = [];
    const stopping = new AbortController();
    let failures = 0;
    const worker = runDeriveWorker({
      database: overhearing(database(), (name) => {
        if (name === 'leaseDirty' && failures++ < 3)
          throw new DatabaseError('Cannot ask the database: it is away', '', true);
      }),
      log: pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) }),
      ...{ reader: builtIn, metrics, signal: stopping.signal, pollMs: 20 },
    });
    await eventually(() => failures > 3 && lines.length > 1);
    stopping.abort();
    await worker.stopped;
    assert.equal(
      lines.map(({ reason, msg }) => [reason, msg]),
      [
        ['Cannot ask the database: it is away', 'the queue of sessions cannot be read'],
        [undefined, 'the queue of sessions is read again'],
      ],
    );
  });

  test('a session that is marked anew while it is derived is waited for to its end', async () => {
    await storeCalls(database(), [journalCall('s', asks)]);
    let passes = 0;
    const marking: Database = {
      ...database(),
      execute: (async (name, args) => {
        if (name === 'deriveState' && ++passes === 1) {
          await database().execute('markFromScratch', { session_id: null });
          await eventually(() => passes > 1); // somebody else has begun with it
        } else if (name === 'commitDerive' && passes === 2) {
          await new Promise((done) => setTimeout(done, 300)); // so that the first is through before
        }
        return database().execute(name, args);
      }) as Database['execute'],
    };
    await working(marking, (worker) => worker.drained());
    assert.is(passes, 2);
    assert.is((await database().execute('derivePending', {})).queued, 0);
    assert.is((await dump(database())).traces?.length, 1);
  });

  test('the worker stops at the signal, and returns what it leased', async () => {
    await storeCalls(database(), [journalCall('s', asks)]);
    const stopping = new AbortController();
    const worker = runDeriveWorker({
      database: overhearing(database(), (name) => {
        if (name === 'deriveState') stopping.abort();
      }),
      reader: builtIn,
      log,
      metrics,
      signal: stopping.signal,
      pollMs: 50,
    });
    await worker.stopped;
    const [row] = await database().sql('select attempts, lease_token from svc.derive_queue');
    assert.equal(row, { attempts: 0, lease_token: null });
  });
});

/** The same call under another id: ids are unique over all sessions. */
const renamed = (call: JournalCall, svc_proxy_request_id: string): JournalCall => ({
  ...call,
  opened: { ...call.opened, svc_proxy_request_id },
});
