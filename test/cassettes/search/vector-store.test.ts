/** Are vectors in another database found as those in the main one, and told plainly when they cannot be? */
import * as assert from 'uvu/assert';
import { openPool, type Pool } from '../../../core/db/client/server.ts';
import { answer, user } from '../../support/call-turn.ts';
import { databaseSuite, emptyServerDatabase } from '../../support/databases.ts';
import { deriveAll } from '../../support/derive-all.ts';
import { startEmbedder } from '../../support/embedding-server.ts';
import { rawSql } from '../../support/raw-sql.ts';
import type { Json } from '../../support/read-api.ts';
import { standSearch } from '../../support/search.ts';
import { journalCall, storeCalls } from '../../support/stored-calls.ts';

const cluster = process.env.SVC_TEST_DSN ?? '';
if (cluster === '') console.log('skip: search: vectors in a database of their own: SVC_TEST_DSN is not set');
else
  databaseSuite('search: vectors in a database of their own', (test, database) => {
    let server: Awaited<ReturnType<typeof startEmbedder>>;
    let own: Awaited<ReturnType<typeof emptyServerDatabase>>;
    let pool: Pool;

    const config = (more: Record<string, unknown> = {}) => ({
      ...{ 'embedding.provider': 'ollama', 'embedding.target': server.url, 'vector_store.target': own.dsn },
      ...more,
    });
    const there = (text: string): Promise<Json[]> => rawSql(pool.sqlFor(60_000), { text, params: [] });
    const say = async (session: string, asks: string, answers: string, at: number) => {
      await storeCalls(database(), [journalCall(session, { at, says: [user(asks)], answers: answer(answers) })]);
      await deriveAll(database());
    };
    const stood = async (
      more: Record<string, unknown>,
      work: (search: Awaited<ReturnType<typeof standSearch>>) => Promise<void>,
    ) => {
      const search = await standSearch(database(), { config: config(more) });
      try {
        await work(search);
      } finally {
        await search.close();
      }
    };
    const failure = async (work: Promise<unknown>): Promise<Error> =>
      work.then(
        () => assert.unreachable() as never,
        (error: Error) => error,
      );
    const inAnother = async (work: (dsn: string, sql: (text: string) => Promise<unknown>) => Promise<void>) => {
      const other = await emptyServerDatabase(cluster);
      const its = openPool({ dsn: other.dsn, pooled: false, size: 1 });
      try {
        await work(other.dsn, (text) => its.sqlFor(60_000).script(text));
      } finally {
        await its.close();
        await other.drop();
      }
    };

    test.before(async () => {
      server = await startEmbedder();
      own = await emptyServerDatabase(cluster);
      pool = openPool({ dsn: own.dsn, pooled: false, size: 1 });
      await say('fruit', 'how do apples grow', 'on trees', 0);
      await say('ships', 'how do ships float', 'on water', 1);
    });
    test.after(async () => {
      await pool.close();
      await own.drop();
      await server.close();
    });

    test('they are made, kept and found there, and none of them in the main database', () =>
      stood({}, async (search) => {
        assert.is(search.shown()?.state, 'admitted', JSON.stringify(search.shown()?.trouble));
        const { embedded, chunks } = await search.embedded();
        assert.equal([embedded, chunks], [2, 2]);
        const { results } = await search.find('ships', 1);
        assert.equal(
          [results[0].user_prompt, results[0].snippet],
          ['how do ships float', 'how do ships float on water'],
        );
        assert.equal(await there('select count(*)::integer as n from search.span_embeddings'), [{ n: 2 }]);
        assert.equal(await database().sql('select 1 from cassette_search.embedded_spans'), []);
      }));

    test('what is new, changed or deleted is told across the two, and nothing else is embedded again', () =>
      stood({}, async (search) => {
        await search.pass();
        const texts = async (work: () => Promise<void>) => {
          const before = server.texts().length;
          await work();
          await search.pass();
          return server.texts().slice(before);
        };
        assert.equal(await texts(() => say('pears', 'how do pears grow', 'slowly', 2)), ['how do pears grow\nslowly']);
        const changed = `update svc.spans set plain_text = E'how do apples grow\\nin orchards', node_hash = '\\x01'
                          where kind = 'llm' and input::text like '%apples%'`;
        const change = async () => {
          await database().sql(changed);
          await database().sql('update svc.session_changes set changed_by = pg_current_xact_id()');
        };
        assert.equal(await texts(change), ['how do apples grow\nin orchards']);
        assert.equal(await texts(async () => {}), []);
        const { session_id } = (await search.find('pears', 1)).results[0];
        await search.ask(`/v1/sessions/${session_id}`, { method: 'DELETE' });
        assert.not.ok((await search.find('pears', 100)).results.some((hit: Json) => hit.session_id === session_id));
        assert.equal(await texts(async () => {}), []);
        for (const table of ['listed_spans', 'embedded_spans'])
          assert.equal(await there(`select 1 from search.${table} where session_id = '${session_id}'`), []);
        const { spans, embedded, pending } = await search.status();
        assert.equal([spans, embedded, pending], [2, 2, 0]);
      }));

    test('several that begin at once make its schema once', () =>
      inAnother(async (dsn) => {
        const target = { 'vector_store.target': dsn };
        const searches = await Promise.all([1, 2, 3].map(() => standSearch(database(), { config: config(target) })));
        try {
          for (const search of searches) assert.is((await search.embedded()).embedded, 2);
        } finally {
          for (const search of searches) await search.close();
        }
      }));

    test('top_k=100 gives as many as there are, through the index as well', () =>
      stood({}, async (search) => {
        await search.embedded();
        await there(`insert into search.embedded_spans (model, trace_id, span_id, session_id, fingerprint, content_hash, state, chunks)
                     select 'ollama/embeddinggemma', gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'gone', '', 'embedded', 4
                       from generate_series(1, 3000)`);
        await there(`insert into search.span_embeddings (model, trace_id, span_id, chunk, dimensions, snippet, embedding)
                     select e.model, e.trace_id, e.span_id, 0, s.dimensions, '', s.embedding
                       from search.embedded_spans e, (select * from search.span_embeddings limit 1) s where e.fingerprint = 'gone'`);
        assert.is((await search.find('ships', 100)).count, 2);
        await search.pass();
        assert.equal(await there("select 1 from search.embedded_spans where fingerprint = 'gone'"), []);
      }));

    test('500: it cannot be reached, and the background work tells why without the address', () =>
      stood({ 'vector_store.target': 'postgres://someone:sekret@127.0.0.1:9/vectors' }, async (search) => {
        assert.is(search.shown()?.state, 'admitted');
        const response = await search.ask('/spans?query=ships');
        assert.is(response.status, 500, await response.clone().text());
        assert.is(((await response.json()) as Json).code, 'search-failed');
        const { message } = await failure(search.pass());
        assert.is(message, 'Cannot ask the database of vector_store.target: ECONNREFUSED');
      }));

    test('503: it has no extension vector, which is said plainly', () =>
      inAnother(async (dsn, sql) => {
        await sql('create type public.vector as (x integer)'); // the extension cannot be made beside it
        await stood({ 'vector_store.target': dsn }, async (search) => {
          const response = await search.ask('/spans?query=ships');
          assert.is(response.status, 503, await response.clone().text());
          const { message } = await failure(search.pass());
          assert.match(message, 'the database of vector_store.target has no extension vector');
          assert.match(message, 'create extension vector');
          assert.not.match(message, new URL(dsn).pathname.slice(1));
        });
      }));

    test('503: its own table is missing there', () =>
      inAnother(async (dsn, sql) =>
        stood({ 'vector_store.target': dsn }, async (search) => {
          await search.embedded();
          await sql('alter table search.span_embeddings rename to gone');
          assert.is((await search.ask('/spans?query=ships')).status, 503);
        }),
      ));

    test('an address that is none keeps the cassette out, without repeating it', () =>
      stood({ 'vector_store.target': 'mysql://sekret@host/vectors' }, async (search) => {
        assert.is(search.shown()?.trouble?.step, 'health');
        const listing = await (await search.ask('/v1/cassettes')).text();
        assert.match(listing, 'no address of a PostgreSQL server');
        assert.not.match(listing, /sekret/);
      }));
  });
