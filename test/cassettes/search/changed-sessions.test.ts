/** Does a run compare only the sessions that changed, and misses none of them? */
import * as assert from 'uvu/assert';
import { MOST_SESSIONS, sessionsSince } from '../../../cassettes/search/changed-sessions.ts';
import { openPool } from '../../../core/db/client/server.ts';
import { answer, user } from '../../support/call-turn.ts';
import { databaseSuite } from '../../support/databases.ts';
import { deriveAll } from '../../support/derive-all.ts';
import { startEmbedder } from '../../support/embedding-server.ts';
import { eventually } from '../../support/eventually.ts';
import type { Json } from '../../support/read-api.ts';
import { standSearch } from '../../support/search.ts';
import { journalCall, storeCalls } from '../../support/stored-calls.ts';

databaseSuite('search: a run compares the sessions that changed', (test, database) => {
  let server: Awaited<ReturnType<typeof startEmbedder>>;
  let search: Awaited<ReturnType<typeof standSearch>>;
  let status = 200; // of the embedder
  const config = () => ({ 'embedding.provider': 'ollama', 'embedding.target': server.url });
  const sql = (text: string, parameters: unknown[] = []): Promise<Json[]> => database().sql(text, parameters);
  const say = async (session: string, asks: string, answers: string, at: number) => {
    await storeCalls(database(), [journalCall(session, { at, says: [user(asks)], answers: answer(answers) })]);
    await deriveAll(database());
  };
  const newTexts = async (run: () => Promise<void> = () => search.pass()): Promise<string[]> => {
    const before = server.texts().length;
    await run();
    return server.texts().slice(before);
  };
  /** Another process of the service, which knows nothing of earlier comparisons. */
  const inAnotherProcess = async <T>(work: (other: typeof search) => Promise<T>): Promise<T> => {
    const other = await standSearch(database(), { config: config() });
    try {
      return await work(other);
    } finally {
      await other.close();
    }
  };
  const sessionOf = async (text: string): Promise<string> =>
    (await sql(`select session_id from svc.spans where plain_text like '%' || $1 || '%'`, [text]))[0].session_id;
  const rewrite = (from: string, to: string) =>
    sql(
      `update svc.spans set plain_text = '${to}', node_hash = decode(md5('${to}'), 'hex') where plain_text like '%${from}%'`,
    );
  const recordChange = (session_id: string) =>
    sql('update svc.session_changes set changed_by = pg_current_xact_id() where session_id = $1::uuid', [session_id]);
  /** The key of a session is no column that a distributed database lets anyone update. */
  const moveSpans = async (from: string, to: string) => {
    const [{ columns }] = await sql(
      `select string_agg(attname, ', ') filter (where attname <> 'session_id') as columns from pg_attribute
       where attrelid = 'svc.spans'::regclass and attnum > 0 and not attisdropped and attgenerated = ''`,
    );
    await sql(
      `insert into svc.spans (session_id, ${columns}) select $2::uuid, ${columns} from svc.spans where session_id = $1::uuid`,
      [from, to],
    );
    await sql('delete from svc.spans where session_id = $1::uuid', [from]);
  };
  const entries = (session_id: string) =>
    sql('select span_id from cassette_search.embedded_spans where session_id = $1::uuid', [session_id]);

  /** A transaction that runs in any database of the server keeps what came after its begin from being settled. */
  const settled = () =>
    eventually(async () => {
      const [row] = await sql(
        'select count(*)::integer as changes from svc.session_changes where changed_by >= pg_snapshot_xmin(pg_current_snapshot())',
      );
      return row?.changes === 0;
    });

  test.before(async () => {
    server = await startEmbedder({ refuse: () => status });
    await say('fruit', 'how do apples grow', 'on trees', 0);
    await say('ships', 'how do ships float', 'on water', 1);
    await say('birds', 'how do birds fly', 'by wings', 2);
    search = await standSearch(database(), { config: config() });
    await search.embedded();
    await settled();
    await search.pass(); // the first one compares all spans
  });
  test.after(async () => {
    await search.close();
    await server.close();
  });

  test('a session without a recorded change is not read, and a process that starts compares all', async () => {
    await rewrite('apples', 'apples in orchards');
    assert.equal(await newTexts(), []);
    assert.equal(await inAnotherProcess((other) => newTexts(() => other.pass())), ['apples in orchards']);
  });

  test('a change is seen however late its transaction commits', async () => {
    const { dsn } = database();
    if (!dsn) return; // the embedded database has one connection
    const pool = openPool({ dsn, pooled: false, size: 1 });
    try {
      const late = pool.sqlFor(60_000);
      await late.script(`begin; update svc.session_changes set changed_by = pg_current_xact_id()
                          where session_id = '${await sessionOf('ships')}';
                         update svc.spans set plain_text = 'ships of old', node_hash = '\\x0a' where plain_text like '%ships%'`);
      await say('bees', 'how do bees dance', 'in eights', 3); // a later transaction, which ends before
      assert.equal(await newTexts(), ['how do bees dance\nin eights']);
      await late.script('commit');
      assert.equal(await newTexts(), ['ships of old']);
    } finally {
      await pool.close();
    }
  });

  test('a run that fails has compared nothing: the next one compares the same sessions', async () => {
    await say('fish', 'how do fish swim', 'by fins', 4);
    status = 503;
    const failure = await search.pass().then(
      () => null,
      (error: Error) => error,
    );
    status = 200;
    assert.is(failure?.message, 'Cannot embed: ollama answered 503');
    assert.equal(await newTexts(), ['how do fish swim\nby fins']);
  });

  test('a deleted session leaves, also where the run that deletes it embeds nothing', async () => {
    const session_id = await sessionOf('birds');
    assert.is((await entries(session_id)).length, 1);
    assert.is((await search.ask(`/v1/sessions/${session_id}`, { method: 'DELETE' })).status, 204);
    await search.pass();
    assert.equal(await entries(session_id), []);
    const { embedded } = await search.status();
    assert.is(search.progress.at(-1)?.done, embedded, 'what was reported counts it no longer');
  });

  test('a span that another session takes belongs to that one in the index, and is not embedded again', async () => {
    const [from, to] = [await sessionOf('fish'), await sessionOf('apples')];
    await moveSpans(from, to);
    await recordChange(to);
    assert.equal(await newTexts(), []);
    assert.equal([(await entries(from)).length, (await entries(to)).length], [0, 2]);
  });

  test('a run under another model deletes these vectors, and all spans are embedded again', async () => {
    const spans = (await search.status()).embedded;
    await search.pass({ 'embedding.model': 'another' });
    assert.is((await newTexts()).length, spans);
  });

  test('the status is that of a comparison of all spans, before and after a run', async () => {
    const same = () =>
      inAnotherProcess(async (other) => assert.equal(await search.status(), await other.status(), 'of all spans'));
    await sql("update cassette_search.embedded_spans set retry_at = now() + interval '1 hour'");
    await sql('update svc.session_changes set changed_by = pg_current_xact_id()');
    assert.is((await search.status()).pending, 0);
    await search.ask(`/v1/sessions/${await sessionOf('apples')}`, { method: 'DELETE' });
    await search.status(); // counts once more what the next run has to delete
    await same();
    const { spans, embedded, pending } = await search.status();
    assert.equal([spans, embedded, pending], [embedded, embedded, 0]);
    await say('cats', 'how do cats purr', 'nobody knows', 5);
    assert.is((await search.status()).pending, 1);
    await search.pass();
    await same();
    assert.is((await search.status()).embedded, embedded + 1);
  });

  test('all spans are compared where what changed is not known, and now and then', async () => {
    const DB = search.databases?.db('search') as NonNullable<ReturnType<NonNullable<typeof search.databases>['db']>>;
    const now = Date.parse('2026-11-26T12:00:00Z');
    await settled();
    const first = await sessionsSince(DB, null, now);
    assert.ok(first.settled);
    const since = { settled: first.settled, all_at: now, open: [] };
    const scopeAt = async (compared: typeof since, at = now) => (await sessionsSince(DB, compared, at)).scope;
    assert.is(
      await scopeAt({ ...since, settled: String(BigInt(since.settled) + 1_000_000n) }),
      null,
      'a restored database',
    );
    assert.is(await scopeAt(since, now + 7 * 3_600_000), null);
    const id = await sessionOf('ships');
    await recordChange(id);
    assert.equal(await scopeAt(since), [id]);
    await sql(
      `insert into svc.session_changes (session_id) select gen_random_uuid() from generate_series(1, ${MOST_SESSIONS})`,
    );
    assert.is(await scopeAt(since), null, 'too many');
  });
});
