/** The nearest spans of a large store: found also behind many that no longer exist, without all of it in one result. */
import * as assert from 'uvu/assert';
import { manifest, type SearchConfig } from '../../../cassettes/search/manifest.ts';
import { migrations } from '../../../cassettes/search/migrations.ts';
import { nearestSpans } from '../../../cassettes/search/nearest-spans.ts';
import { databaseOf, relationsOf } from '../../../cassettes/search/relations.ts';
import { vectorStoreOf } from '../../../cassettes/search/vector-store.ts';
import { parseManifest } from '../../../core/cassette/admission/manifest.ts';
import { readSettings } from '../../../core/cassette/admission/settings.ts';
import type { Env } from '../../../core/cassette/contract.ts';
import { openLog } from '../../../core/log.ts';
import { answer, user } from '../../support/call-turn.ts';
import { cassettesOf } from '../../support/cassette-database.ts';
import { databaseSuite } from '../../support/databases.ts';
import { deriveAll } from '../../support/derive-all.ts';
import { journalCall, storeCalls } from '../../support/stored-calls.ts';

const MODEL = 'test/far';
const GONE = 12_000;

databaseSuite('search: nearest spans', (test, database) => {
  test('behind more vectors of deleted spans than a page has the nearest are found, page by page', async () => {
    const says = (i: number) => ({ at: i, says: [user(`question ${i}`)], answers: answer(`answer ${i}`) });
    await storeCalls(
      database(),
      [0, 1].map((i) => journalCall(`session-${i}`, says(i))),
    );
    await deriveAll(database());
    const cassettes = cassettesOf(database());
    const { views = [], extensions = [] } = manifest.depends ?? {};
    await cassettes.provision({ name: 'search', views, extensions }); // without its background work, which forgets what is deleted
    await cassettes.migrate('search', migrations);
    const DB = cassettes.db('search');
    const LOG = openLog('silent') as unknown as Env['LOG'];
    try {
      const env = { DB, LOG, CONFIG: readSettings(parseManifest(manifest), {}) as SearchConfig };
      const db = databaseOf(env);
      const store = await vectorStoreOf(env);
      const embed = async (spans: string, at: string) => {
        await store.query(
          `insert into embedded_spans (model, trace_id, span_id, session_id, fingerprint, content_hash, state, chunks)
           select '${MODEL}', trace_id, span_id, session_id, '', '', 'embedded', 1 from (${spans}) as s`,
        );
        await store.query(
          `insert into span_embeddings (model, trace_id, span_id, chunk, dimensions, snippet, embedding)
           select model, trace_id, span_id, 0, 3, '', (${at})::vector
             from (select e.*, row_number() over (order by trace_id, span_id) as n from embedded_spans e) as e
            where not exists (select 1 from span_embeddings v where v.trace_id = e.trace_id and v.span_id = e.span_id)`,
        );
      };
      // Ten at each distance, so that pages also end among equal ones.
      const gone = `select md5('t' || n)::uuid as trace_id, md5('s' || n)::uuid as span_id, md5('x')::uuid as session_id
                      from generate_series(1, ${GONE}) n`;
      await embed(gone, `format('[1,%s,0]', (n / 10) / 10000.0)`);
      await embed(
        `select trace_id, span_id, session_id from ${relationsOf(env.CONFIG).spans} where kind = 'llm'`,
        `'[0,1,' || n % 2 || ']'`,
      );
      let most = 0;
      const counted = {
        ...store,
        query: (async (...args: Parameters<typeof store.query>) => {
          const result = await store.query(...args);
          most = Math.max(most, result.rows.length);
          return result;
        }) as typeof store.query,
      };
      const query = { model: MODEL, vector: [1, 0, 0], top_k: 5 };
      const hits = await nearestSpans(db, counted, relationsOf(env.CONFIG), query);
      assert.is(hits.length, 2);
      assert.equal([...new Set(hits.map(({ user_prompt }) => user_prompt))].sort(), ['question 0', 'question 1']);
      assert.ok(most > 0 && most <= 5_000, `${most} rows in one result`);
    } finally {
      await cassettes.close();
    }
  });
});
