/**
 * An upgrade that raises the version of the rules (core/derive/version.ts): what the old rules made is read as before while sessions are
 * derived again in the background, and stays where that fails. The version is lowered in what is stored, which is the same.
 */
import * as assert from 'uvu/assert';
import { builtIn } from '../../../../core/call/reader.ts';
import type { Database } from '../../../../core/db/database.ts';
import { DERIVE_VERSION } from '../../../../core/derive/version.ts';
import { deriveSession } from '../../../../core/engine/derive/derive-session.ts';
import { runDeriveWorker } from '../../../../core/engine/derive/derive-worker.ts';
import { openLog } from '../../../../core/log.ts';
import { answer, type Call, toolResult, toolUse, user } from '../../../support/call-turn.ts';
import { databaseSuite, type TestDatabase } from '../../../support/databases.ts';
import { deriveAll } from '../../../support/derive-all.ts';
import { dump } from '../../../support/dump-projection.ts';
import { eventually } from '../../../support/eventually.ts';
import { type Json, testApi } from '../../../support/read-api.ts';
import { journalCall, storeCalls } from '../../../support/stored-calls.ts';

const log = openLog('silent');
const never = new AbortController().signal;
const metrics = { derived: () => {}, derivePending: () => {} };
const READ_MS = 4_000; // a read of this little takes some milliseconds, and a thousand on a busy machine

const prompt = (i: number, says: string): Call => ({
  at: i,
  call_id: `${says}-${String(i).padStart(4, '0')}`,
  says: [user(`${says} ${i}`)],
  answers: i % 3 === 0 ? answer('I look.', toolUse(`t${i}`, 'Bash', { command: 'ls' })) : answer(`Ok ${i}`),
});
/** Conversations of different lengths, with tools. */
const calls = [
  ...Array.from({ length: 24 }, (_, i) => journalCall('long', prompt(i, 'long'))),
  ...Array.from({ length: 5 }, (_, i) => journalCall(`short-${i}`, prompt(i, `short ${i}`))),
  journalCall('tool', prompt(0, 'tool')),
  journalCall('tool', {
    ...{ at: 1, call_id: 'tool-last', answers: answer('Two files') },
    says: [...(prompt(0, 'tool').says ?? []), user(toolResult('t0', 'a b'))],
  }),
];

/** All that readers see of the sessions. */
async function shown(database: TestDatabase): Promise<Record<string, Json>> {
  const api = testApi({ execute: database.execute });
  const found: Record<string, Json> = {};
  const read = async (path: string): Promise<Json> => {
    const from = performance.now();
    const response = await api.request(path);
    found[path] = await response.json();
    assert.is(response.status, 200, path);
    assert.ok(performance.now() - from < READ_MS, `${path} took ${performance.now() - from} ms`);
    return found[path];
  };
  const { items } = await read('/v1/sessions?limit=200');
  for (const { id } of items) await read(`/v1/sessions/${id}/traces`);
  await read('/v1/stats');
  return found;
}

/** As an earlier version leaves it. */
async function age(database: TestDatabase): Promise<void> {
  await database.sql(`update svc.session_rollups set derive_version = derive_version - 1`);
  await database.sql(`update svc.derive_states set state = jsonb_set(state, '{version}', '0')`);
}

const outdated = async (database: TestDatabase): Promise<number> =>
  Number(
    (await database.sql(`select count(*) as n from svc.session_rollups where derive_version < ${DERIVE_VERSION}`))[0]
      ?.n,
  );

/** Runs the worker for as long as the work takes. */
async function beside(database: Database, work: () => Promise<unknown>): Promise<void> {
  const stopping = new AbortController();
  const worker = runDeriveWorker({ database, reader: builtIn, log, metrics, signal: stopping.signal, pollMs: 50 });
  try {
    await work();
  } finally {
    stopping.abort();
    await worker.stopped;
  }
}

databaseSuite('newer rules', (test, database) => {
  test.before.each(async () => {
    await database().reset();
    await storeCalls(database(), calls);
    await deriveAll(database());
    await age(database());
  });

  test('reads answer at once, and equal, before, while and after sessions are derived again', async () => {
    const before = await shown(database());
    let release = () => {};
    const held = new Promise<void>((done) => {
      release = done;
    });
    let commits = 0;
    const holding: Database = {
      ...database(),
      execute: (async (name, args) => {
        if (name === 'commitDerive' && ++commits > 2) await held;
        return database().execute(name, args);
      }) as Database['execute'],
    };
    await beside(holding, async () => {
      try {
        await eventually(async () => commits > 2);
        assert.ok((await outdated(database())) > 0);
        assert.equal(await shown(database()), before, 'while');
      } finally {
        release();
      }
      await eventually(async () => (await outdated(database())) === 0);
    });
    assert.equal(await shown(database()), before, 'after');
  });

  test('a new call is derived before what is old', async () => {
    const order: string[] = [];
    const heard: Database = {
      ...database(),
      execute: (async (name, args) => {
        if (name === 'commitDerive')
          for (const { session_id } of (args as unknown as { commits: { session_id: string }[] }).commits)
            order.push(session_id);
        return database().execute(name, args);
      }) as Database['execute'],
    };
    const [fresh = ''] = await storeCalls(database(), [journalCall('new', prompt(0, 'new'))]);
    await beside(heard, () => eventually(async () => (await outdated(database())) === 0));
    assert.ok(order.indexOf(fresh) < 2, order.join(' ')); // one of the background may have begun before
  });

  test('of a session that takes several commits nothing is missing between them, nor after a pass that was broken off', async () => {
    const before = await shown(database());
    const rows = await dump(database());
    await database().execute('markOutdated', { derive_version: DERIVE_VERSION, after: null, limit: 100 });
    const [long] = await database().sql(
      `select session_id::text as id from svc.session_rollups order by trace_count desc limit 1`,
    );
    await database().sql(`delete from svc.derive_queue where session_id <> '${String(long?.id)}'`);
    const lease = async () => {
      const [found] = await database().execute('leaseDirty', { limit: 1, background: true, lease_ms: 60_000 });
      if (!found) throw new Error('no session is due');
      return found;
    };
    let commits = 0;
    let stopAfter = 2;
    const stopping = new AbortController();
    const watched: Database = {
      ...database(),
      execute: (async (name, args) => {
        const result = await database().execute(name, args);
        if (name !== 'commitDerive') return result;
        assert.equal(await shown(database()), before, `after commit ${++commits}`);
        if (commits === stopAfter) stopping.abort();
        return result;
      }) as Database['execute'],
    };
    const first = await lease();
    const broken = await deriveSession(
      { database: watched, reader: builtIn, signal: stopping.signal, commitTurns: 5 },
      first,
    );
    assert.equal([broken.end, commits], ['stopped', 2]);
    await database().execute('returnLeases', { leases: [first] });

    stopAfter = 0;
    const whole = await deriveSession(
      { database: watched, reader: builtIn, signal: never, commitTurns: 5 },
      await lease(),
    );
    assert.equal([whole.end, commits], ['done', 2 + 5]); // from the beginning: 24 calls, five at a time
    await database().sql(`update svc.session_rollups set derive_version = ${DERIVE_VERSION}`); // of the others
    assert.equal(withoutVersion(await dump(database())), withoutVersion(rows));
  });

  test('what the rules no longer make is gone after the last commit, and not before', async () => {
    const before = await shown(database());
    const [long] = await database().sql(
      `select session_id::text as id from svc.session_rollups order by trace_count desc limit 1`,
    );
    const id = String(long?.id);
    await database().sql(
      `insert into svc.traces select (jsonb_populate_record(t, jsonb_build_object('trace_id', gen_random_uuid()))).*
         from svc.traces t where session_id = '${id}' limit 1`,
    );
    const traces = async () =>
      Number((await database().sql(`select count(*) as n from svc.traces where session_id = '${id}'`))[0]?.n);
    const older = await traces();
    const counts: number[] = [];
    await database().sql('delete from svc.derive_queue');
    await database().execute('markOutdated', { derive_version: DERIVE_VERSION, after: null, limit: 100 });
    await database().sql(`delete from svc.derive_queue where session_id <> '${id}'`);
    const [lease] = await database().execute('leaseDirty', { limit: 1, background: true, lease_ms: 60_000 });
    if (!lease) throw new Error('no session is due');
    const watched: Database = {
      ...database(),
      execute: (async (name, args) => {
        const result = await database().execute(name, args);
        if (name === 'commitDerive') counts.push(await traces());
        return result;
      }) as Database['execute'],
    };
    await deriveSession({ database: watched, reader: builtIn, signal: never, commitTurns: 10 }, lease);
    assert.equal(counts, [older, older, older - 1]);
    assert.equal(await shown(database()), before);
  });

  test('a derivation that fails leaves the rows of the old rules', async () => {
    const before = await shown(database());
    const failing: Database = {
      ...database(),
      execute: (async (name, args) => {
        if (name === 'turnsToDerive') throw new RangeError('a bug of the new rules');
        return database().execute(name, args);
      }) as Database['execute'],
    };
    await beside(failing, () =>
      eventually(
        async () => (await database().sql(`select 1 from svc.derive_queue where error = 'RangeError'`)).length > 0,
      ),
    );
    assert.equal(await shown(database()), before);
    assert.ok((await outdated(database())) > 0);
    await database().sql(`update svc.derive_queue set try_after = '-infinity', parked_at = null`);
    await beside(database(), () => eventually(async () => (await outdated(database())) === 0));
    assert.equal(await shown(database()), before);
  });

  test.run();
});

const withoutVersion = (tables: object): unknown =>
  JSON.parse(JSON.stringify(tables), (name, value) => (name === 'derive_version' ? undefined : value));
