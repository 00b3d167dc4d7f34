/** What if an export fails, or its reader leaves? A clean answer while its beginning is held, then truncation; and no question more. */
import { get } from 'node:http';
import * as assert from 'uvu/assert';
import { HOLD_BYTES } from '../../../cassettes/export/routes.ts';
import type { Db } from '../../../core/cassette/contract.ts';
import { mounted } from '../../../core/cassette/mount.ts';
import { serveApp } from '../../../core/http/listen.ts';
import { databaseSuite, type TestDatabase } from '../../support/databases.ts';
import { idOf, insertSessions, insertSpans, insertTraces } from '../../support/projection-rows.ts';
import { runningCassette } from '../../support/running-cassette.ts';
import { exporting, type Given } from './exporting.ts';

const PAGED = { sessions: 1, rows: 1, storedBytes: 1, traces: 100, spans: 1, links: 100 };
const SPANS = 8;
const TEXT = 'x'.repeat(100_000);

/** Session n, with spans of 100 kB each, a page each. */
async function insertLarge(database: TestDatabase, sessions: readonly number[]): Promise<void> {
  await insertSessions(
    database,
    sessions.map((n) => ({ n, last_seen_at: `2026-11-20T00:00:0${n}Z` })),
  );
  await insertTraces(
    database,
    sessions.map((n) => ({ n, session: n, started_at: '2026-11-20T00:00:00Z' })),
  );
  const spans = sessions.flatMap((n) =>
    Array.from({ length: SPANS }, (_, seq) => ({ n: seq, trace: n, session: n, seq })),
  );
  await insertSpans(
    database,
    spans.map((span) => ({ ...span, input: [{ type: 'text', text: TEXT }] })),
  );
}

/** Counts what is asked of the database, and fails from one question on. */
function failing(at = Number.POSITIVE_INFINITY) {
  const seen = { queries: 0, underWay: 0 };
  const through = (db: Db): Db => ({
    ...db,
    async query(...args) {
      seen.queries += 1;
      if (seen.queries >= at) throw Object.assign(new Error('a prompt'), { name: 'DatabaseError', sqlstate: '57014' });
      seen.underWay += 1;
      return db.query<never>(...args).finally(() => {
        seen.underWay -= 1;
      });
    },
  });
  return { seen, through };
}

/** What came before the stream failed; null: it did not fail. */
async function truncated(answer: Response): Promise<string | null> {
  let text = '';
  try {
    for await (const chunk of answer.body ?? []) text += Buffer.from(chunk).toString();
  } catch {
    return text;
  }
  return null;
}

databaseSuite('export hold', (test, database) => {
  let exported: Awaited<ReturnType<typeof exporting>>;
  test.before(async () => {
    await insertLarge(database(), [1, 2, 3]);
    exported = await exporting(database());
  });
  test.after(() => exported.close());

  const SINGLE = `/sessions/${idOf('session', 1)}`;
  // The questions of one session: its sizes, itself, its first span, its traces, and then its spans one by one.
  const LATE = 8;
  const late = (given: Given = {}): Given => ({ limits: PAGED, through: failing(LATE).through, ...given });

  test('the first 8 MiB of a single session are held', () => {
    assert.is(HOLD_BYTES, 8 * 1024 * 1024);
  });

  test('a failure within the hold is a clean JSON error, however much was made before it', async () => {
    const answer = await exported.ask(SINGLE, late({ holdBytes: 10_000_000 }));
    assert.equal([answer.status, answer.headers.get('content-type')], [500, 'application/problem+json']);
    assert.is(answer.headers.get('content-disposition'), null);
    assert.is((await answer.json()).code, 'export-failed');
  });

  test('past the hold the head is sent already, and a failure truncates', async () => {
    const answer = await exported.ask(SINGLE, late({ holdBytes: 150_000 }));
    assert.is(answer.status, 200);
    const text = await truncated(answer);
    assert.ok(text !== null && text.length > 150_000, 'it broke off');
    assert.not.ok(text?.endsWith('\n'));
    assert.throws(() => JSON.parse(text ?? ''), 'half a line does not look like a whole one');
  });

  test('what fits into the hold is told with its length, what does not is streamed, and neither is shortened', async () => {
    const [held, streamed] = [await exported.ask(SINGLE), await exported.ask(SINGLE, { holdBytes: 1000 })];
    assert.equal([held.headers.has('content-length'), streamed.headers.has('content-length')], [true, false]);
    const whole = await held.text();
    assert.ok(whole.length > SPANS * TEXT.length);
    assert.is(await streamed.text(), whole);
  });

  test('of the bulk export only what fails before its first byte is a clean error', async () => {
    const early = await exported.ask('/sessions', { limits: PAGED, through: failing(2).through });
    assert.equal([early.status, early.headers.get('content-disposition')], [500, null]);
    const broken = await exported.ask('/sessions', { limits: PAGED, through: failing(LATE).through });
    assert.is(broken.status, 200);
    assert.ok(await truncated(broken));
  });

  test('of a bulk export that breaks off, every line but the last is whole', async () => {
    const limits = { ...PAGED, rows: 1_000, storedBytes: 1_000_000 }; // two questions a session
    const text = await truncated(await exported.ask('/sessions', { limits, through: failing(6).through }));
    const lines = text?.split('\n') ?? [];
    assert.equal([lines.length, lines.at(-1)], [3, '']);
    for (const line of lines.slice(0, 2)) assert.is(JSON.parse(line).traces[0].spans.length, SPANS);
  });

  test('each line is on its way when its session was told, and no question is asked while nobody reads', async () => {
    const { seen, through } = failing();
    const limits = { ...PAGED, rows: 1_000, storedBytes: 1_000_000 };
    const reader = (await exported.ask('/sessions', { limits, through })).body?.getReader();
    let text = '';
    while (!text.includes('\n')) text += Buffer.from((await reader?.read())?.value ?? []).toString();
    assert.ok(text.endsWith('\n'), 'nothing of the next');
    assert.ok(seen.queries <= 6, `${seen.queries} questions`);
    await reader?.cancel();
  });

  test('a reader that leaves ends the questions', async () => {
    const { seen, through } = failing();
    const reader = (await exported.ask(SINGLE, { limits: PAGED, through, holdBytes: 1 })).body?.getReader();
    await reader?.read();
    await reader?.cancel();
    const queriesBefore = seen.queries;
    await new Promise((later) => setTimeout(later, 200));
    assert.equal([seen.queries, seen.underWay], [queriesBefore, 0]);
    assert.ok(queriesBefore < SPANS);
  });

  test('one that leaves while its answer is held ends them too', async () => {
    const { seen, through } = failing();
    const leaving = new AbortController();
    const asking = exported.ask(SINGLE, { limits: PAGED, through }, { signal: leaving.signal });
    while (seen.queries < 3) await new Promise((later) => setImmediate(later));
    leaving.abort();
    assert.is((await asking).status, 500); // which nobody hears
    assert.equal([seen.queries < SPANS, seen.underWay], [true, 0]);
  });

  test('the log says which failure it was, and never what an error quotes', async () => {
    const served = exported.served(late());
    await (await served.fetch(new Request(`http://cassette/api/export${SINGLE}`))).text();
    const [{ request_id, ...logged }] = served.logged;
    assert.equal(logged.sqlstate, '57014');
    assert.match(request_id, /^[0-9a-f-]{36}$/);
    const other = exported.served({ through: (db) => ({ ...db, query: () => Promise.reject(new Error('a prompt')) }) });
    await (await other.fetch(new Request(`http://cassette/api/export${SINGLE}`))).text();
    assert.not.match(JSON.stringify(other.logged), 'a prompt');
  });

  test('over the mount a truncated export is a connection that was cut, with nothing of ours behind what was told', async () => {
    const app = exported.served(late({ holdBytes: 150_000 }));
    const { running, manifest } = runningCassette('export', async (request) => app.fetch(request));
    const served = await serveApp({
      fetch: (request, { outgoing }) =>
        mounted({
          ...{
            request,
            name: 'export',
            manifest,
            running,
            forwardAuth: false,
            caller: null,
            requestId: '',
            peer: null,
          },
          gone: new AbortController().signal,
          cut: () => outgoing.destroy(),
        }),
      ...{ hosts: ['127.0.0.1'], port: 0, what: 'export' },
    });
    try {
      const { text, complete } = await new Promise<{ text: string; complete: boolean }>((resolve) => {
        get(`${served.addresses[0]}/v1/cassettes/export${SINGLE}`, (answer) => {
          let text = '';
          answer.on('data', (chunk: Buffer) => {
            text += chunk.toString();
          });
          answer.on('error', () => {});
          answer.on('close', () => resolve({ text, complete: answer.complete }));
        });
      });
      assert.not.ok(complete);
      assert.not.match(text.slice(-200), 'Error');
    } finally {
      await served.close(0);
    }
  });
});
