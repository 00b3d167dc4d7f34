/** Does it do what it says? Its fetch is asked as the service asks it, with a stand-in for what it is handed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import cassette, { type Config, manifest } from './cassette.ts';
import { openapi } from './openapi.ts';
import type { Env } from './svc-cassette.ts';

type Asked = { sql: string; parameters: readonly unknown[] };

/** Every statement has these rows, and is written down in `asked`. */
function standIn(rows: unknown[], asked: Asked[] = []): Env<Config> {
  const silent = () => {};
  return {
    DB: {
      async query<Row>(sql: string, parameters: readonly unknown[] = []) {
        asked.push({ sql, parameters });
        return { rows: rows as Row[], row_count: rows.length };
      },
      async *stream<Row>(sql: string, parameters: readonly unknown[] = []) {
        asked.push({ sql, parameters });
        yield* rows as Row[];
      },
    },
    CORE: { fetch: async () => Response.json({ session_count: 7 }) },
    CONFIG: { min_turns: 2 },
    LOG: { debug: silent, info: silent, warn: silent, error: silent },
  };
}

const ask = (method: string, path: string, env: Env<Config>, body?: unknown) =>
  cassette.fetch(
    new Request(`http://cassette${path}`, { method, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }),
    env,
  );

test('its document has its manifest, and each of its paths is its own', async () => {
  const document = await (await ask('GET', '/openapi', standIn([]))).json();
  assert.deepEqual(document, { ...openapi, 'x-svc-cassette': manifest });
  for (const path of Object.keys(openapi.paths)) assert.ok(path.startsWith(`/api/${manifest.cassette.name}/`), path);
});

test('sessions come as lines, and short ones are left out', async () => {
  const asked: Asked[] = [];
  const answer = await ask('GET', '/api/my-cassette/sessions', standIn([{ id: 'a' }, { id: 'b' }], asked));
  assert.equal(await answer.text(), '{"id":"a"}\n{"id":"b"}\n');
  assert.deepEqual(asked[0]?.parameters, [2]);
});

test('the tool finds as many as it is asked for, and refuses what it cannot do', async () => {
  const asked: Asked[] = [];
  const env = standIn([{ id: 'a', title: null, turns: 9 }], asked);
  const answer = await ask('POST', '/api/my-cassette/longest', env, { limit: 3 });
  assert.deepEqual(await answer.json(), { sessions: [{ id: 'a', title: null, turns: 9 }] });
  assert.deepEqual(asked[0]?.parameters, [2, 3]);
  assert.equal((await ask('POST', '/api/my-cassette/longest', env, { limit: 0 })).status, 422);
});

test('the background work stores how many sessions there are', async () => {
  const asked: Asked[] = [];
  await cassette.scheduled({ scheduled_at: 0, signal: new AbortController().signal }, standIn([], asked));
  assert.match(asked[0]?.sql ?? '', /^insert into counts/);
  assert.deepEqual(asked[0]?.parameters, [7]);
});

test('what is not there is 404', async () => {
  assert.equal((await ask('GET', '/api/my-cassette/nothing', standIn([]))).status, 404);
});
