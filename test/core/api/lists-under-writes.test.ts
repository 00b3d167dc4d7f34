/** Lists while others write: what keeps its place is met once, and nothing twice; and which limits and cursors they take. */
import '@hono/zod-openapi'; // first: a schema that is made before it cannot be documented

import * as assert from 'uvu/assert';
import { builtIn } from '../../../core/call/reader.ts';
import { runDeriveWorker } from '../../../core/engine/derive/derive-worker.ts';
import { openLog } from '../../../core/log.ts';
import { Problem } from '../../../core/model/problem.ts';
import { answer, user } from '../../support/call-turn.ts';
import { databaseSuite, type TestDatabase } from '../../support/databases.ts';
import { type Json, testApi } from '../../support/read-api.ts';
import { journalCall, storeCalls } from '../../support/stored-calls.ts';

const SESSIONS = 12; // every fourth goes on
/** Orders in which a busy session only ever moves up: read downwards, it is met at most once. */
const GROWING = ['last_active', 'turn_count', 'total_cost', 'total_tokens', 'duration'];

databaseSuite('lists under writes', (test, database) => {
  const get = (path: string) => testApi({ execute: database().execute }).request(path);
  const page = async (path: string): Promise<Json> => {
    const response = await get(path);
    assert.is(response.status, 200, path);
    return response.json();
  };
  /** Ids in the order in which a walk meets them, a write begun before each page and ended after it. A page is larger than a write. */
  const walk = async (path: string, limit: number, write: () => Promise<unknown>): Promise<string[]> => {
    const seen: string[] = [];
    for (let cursor = ''; ; ) {
      const writing = write();
      const query = `limit=${limit}${cursor && `&cursor=${cursor}`}`;
      const { items, next_cursor } = await page(`${path}${path.includes('?') ? '&' : '?'}${query}`);
      await writing;
      seen.push(...items.map((item: Json) => item.raw_turn_id ?? item.trace_id ?? item.id));
      assert.ok(items.length <= limit);
      if (next_cursor === undefined) return seen;
      cursor = next_cursor;
    }
  };
  const all = (path: string) => walk(path, 200, () => Promise.resolve());

  test('while turns come in and are derived, what keeps its place is met once and nothing twice', async () => {
    const stand = await openStand(database());
    try {
      const { resting, busy } = stand;
      const raw_turns = `/v1/sessions/${busy[0]}/raw_turns`;
      const before = new Map<string, string[]>();
      for (const path of ['/v1/traces', raw_turns, `/v1/traces?session_id=${busy[0]}`])
        before.set(path, await all(path));
      const lists: [path: string, stays: string[], limits?: number[]][] = [
        ...before,
        ['/v1/sessions', resting, [1, 3]],
        ['/v1/browse/sessions?sort=started_at', [...resting, ...busy], [1, 3]],
        ['/v1/browse/sessions?sort=started_at&direction=asc', [...resting, ...busy]],
        ...GROWING.map((sort): [string, string[]] => [`/v1/browse/sessions?sort=${sort}`, resting]),
        ['/v1/browse/sessions?text=rest&sort=turn_count&direction=asc', resting],
      ];
      for (const [path, stays, limits = [3]] of lists)
        for (const limit of limits) {
          const seen = await walk(path, limit, stand.write);
          assert.is(new Set(seen).size, seen.length, `${path} by ${limit}: nothing twice`);
          assert.equal(
            seen.filter((id) => stays.includes(id)).sort(),
            [...stays].sort(),
            `${path} by ${limit}: each that keeps its place`,
          );
        }
      await stand.derived();
      const turns = await all(raw_turns);
      assert.ok(turns.length > (before.get(raw_turns) ?? []).length, 'there were writes');
      assert.equal(
        turns,
        [...turns].sort((a, b) => Number(a) - Number(b)),
      );
      const sessions = (await all('/v1/sessions')).sort();
      for (const sort of GROWING) assert.equal((await all(`/v1/browse/sessions?sort=${sort}`)).sort(), sessions, sort);
    } finally {
      await stand.close();
    }
  });

  test('each list refuses a limit that is none, and clamps one that is too large', async () => {
    for (const path of await lists(database())) {
      for (const limit of ['0', '-1', 'abc', '', '1.5', '1e9', '0x10', ' 1'])
        await refused(get, `${path}?limit=${encodeURIComponent(limit)}`);
      await refused(get, `${path}?limit=1&limit=2`);
      for (const limit of ['1', '007', '1000000000', '9'.repeat(400)]) await page(`${path}?limit=${limit}`);
    }
  });

  test('each list refuses a cursor of another, a cut one and a forged one', async () => {
    const paths = await lists(database());
    const cursors = await Promise.all(paths.map(async (path) => (await page(`${path}?limit=1`)).next_cursor as string));
    for (const [i, path] of paths.entries()) {
      const own = cursors[i] ?? '';
      await page(`${path}?limit=2&cursor=${own}`);
      for (const foreign of cursors.filter((cursor) => cursor !== own)) await refused(get, `${path}?cursor=${foreign}`);
      for (const cut of [own.slice(0, -4), own.slice(4), '', `${own}!`, `${own}${own}`, own.repeat(40)])
        await refused(get, `${path}?cursor=${encodeURIComponent(cut)}`);
      const [version, name, key] = JSON.parse(Buffer.from(own, 'base64url').toString());
      for (const forged of [
        [2, name, key],
        [version, name],
        [version, name, null],
        [version, name, []],
        [version, name, -1],
        [version, name, 1e300],
        ...Object.keys(key).flatMap((member) =>
          [null, 7, '', 'x', "' or 1 = 1", '9'.repeat(200)].map((value) => [
            version,
            name,
            { ...key, [member]: value },
          ]),
        ),
      ])
        await refused(get, `${path}?cursor=${Buffer.from(JSON.stringify(forged)).toString('base64url')}`);
    }
  });
});

/** Each list with more than one row in it. */
async function lists(database: TestDatabase): Promise<string[]> {
  const stand = await openStand(database);
  await stand.close();
  return ['/v1/sessions', '/v1/browse/sessions', '/v1/traces', `/v1/sessions/${stand.busy[0]}/raw_turns`];
}

async function refused(get: (path: string) => Response | Promise<Response>, path: string): Promise<void> {
  const response = await get(path);
  assert.is(response.status, 400, path);
  assert.is(Problem.parse(await response.json()).code, 'bad-request', path);
}

/** Sessions that rest and, started between them, sessions that go on: two calls each, all of them derived. */
async function openStand(database: TestDatabase) {
  await database.reset();
  const calls = Array.from({ length: SESSIONS }, (_, n) => [0, 1].map((turn) => call(nameOf(n), n * 10 + turn)));
  await storeCalls(database, calls.flat());
  const rows = await database.sql('select session_id::text as id, harness_session_id as name from svc.sessions');
  const named = (kind: string) => rows.flatMap(({ id, name }) => (String(name).startsWith(kind) ? [String(id)] : []));
  const stopping = new AbortController();
  const worker = runDeriveWorker({
    database,
    reader: builtIn,
    log: openLog('silent'),
    metrics: { derived: () => {}, derivePending: () => {} },
    signal: stopping.signal,
    pollMs: 5,
  });
  await worker.drained();
  let written = 0;
  return {
    resting: named('rest'),
    busy: named('busy'),
    derived: () => worker.drained(),
    /** A turn of each busy session, and now and then a new one; the worker derives them meanwhile. */
    write: () => {
      written++;
      const turns = Array.from({ length: SESSIONS }, (_, n) => nameOf(n))
        .filter((name) => name.startsWith('busy'))
        .map((name, n) => call(name, 1000 + written * 10 + n));
      if (written % 7 === 0) turns.push(call(`new-${written}`, 1000 + written * 10 + 9));
      return storeCalls(database, turns);
    },
    close: async () => {
      stopping.abort();
      await worker.stopped;
    },
  };
}

const nameOf = (n: number) => (n % 4 === 1 ? `busy-${n}` : `rest-${n}`);

const call = (session: string, at: number) =>
  journalCall(session, {
    at,
    call_id: `${session}-${at}`,
    says: [user(`${session} asks at ${at}`)],
    answers: answer('Well'),
  });
