/** How near does search through the index come to search through everything, and how long does it take? */

import { embeddedDatabase, serverDatabase, type TestDatabase } from '../support/databases.ts';
import { startEmbedder, wordVector } from '../support/embedding-server.ts';
import type { Json } from '../support/read-api.ts';
import { standSearch } from '../support/search.ts';
import { heading, ms, percentiles, row } from './figures.ts';
import { type ClassRecall, meetsBar, type QuerySet, SEARCH_MODES, searchQuality } from './search-quality.ts';

const DIMENSIONS = 384;
const SUBJECTS = 2000; // that spans are about: real vectors lie in clusters
const SPANS = { embedded: 5000, server: 100_000 };
const PART = 500; // spans of one insert
const ASKS = 200;
const MODEL = 'ollama/embeddinggemma';

/** What a hundred thousand spans have to be found within, and how many of the ten nearest. */
const BARS = { ms: 25, recall: 0.98 };

/** @param groups `modes`, `vectors`; none: both */
export async function benchSearch(groups: readonly string[] = []): Promise<void> {
  const all = groups.length === 0;
  if (all || groups.includes('modes')) await benchModes();
  if (all || groups.includes('vectors')) await benchVectors();
}

async function benchModes(): Promise<void> {
  const database = await embeddedDatabase({ statementTimeoutMs: 600_000 });
  try {
    const recalls = await searchQuality(database);
    for (const [set, ofSet] of Object.entries(recalls) as [QuerySet, ClassRecall[]][]) {
      heading(`Search: recall@10 of sixty labelled queries, ${set}, by the local model`);
      row('', ...SEARCH_MODES, '');
      for (const one of ofSet) {
        const { class: name, queries } = one;
        row(
          `${name} (${queries})`,
          ...SEARCH_MODES.map((mode) => one[mode].toFixed(3)),
          meetsBar(one) ? '' : 'hybrid is below its better part',
        );
      }
    }
  } finally {
    await database.close();
  }
}

async function benchVectors(): Promise<void> {
  for (const kind of ['embedded', 'server'] as const) {
    const dsn = process.env.SVC_TEST_DSN;
    if (kind === 'server' && !dsn) {
      row('server', 'SVC_TEST_DSN is not set');
      continue;
    }
    const options = { statementTimeoutMs: 600_000 };
    const database = kind === 'server' ? await serverDatabase(dsn ?? '', options) : await embeddedDatabase(options);
    const embedder = await startEmbedder({ vectorOf: questionVector });
    try {
      const config = { 'embedding.provider': 'ollama', 'embedding.target': embedder.url };
      const search = await standSearch(database, { config });
      await search.embedded();
      const seconds = await putSpans(database, SPANS[kind]);
      heading(
        `Search, ${kind}: ${SPANS[kind]} spans of ${DIMENSIONS} dimensions, put into the index at ${Math.round(SPANS[kind] / seconds)}/s`,
      );
      row('', 'p50', 'p99', 'recall@10');
      for (const top_k of [5, 10, 100]) await benchTop(database, search, top_k, SPANS[kind] >= 100_000);
      const [first = 0] = await timed(() => search.pass(), 1);
      row('the first background run of a process, which compares all spans', ms(first), '');
      const idle = percentiles(await timed(() => search.pass(), 5));
      row('a background run that finds nothing new', ms(idle.p50), ms(idle.p99));
      await search.close();
      const local = await standSearch(database);
      await local.find('warm');
      const whole = percentiles(await timed(() => local.find('a question of eight words or so here'), 50));
      row('a question through the local model, no vectors', ms(whole.p50), ms(whole.p99));
      await local.close();
    } finally {
      await embedder.close();
      await database.close();
    }
  }
}

async function benchTop(
  database: TestDatabase,
  search: Awaited<ReturnType<typeof standSearch>>,
  top_k: number,
  barred: boolean,
) {
  const schema = await vectorSchema(database);
  let hits = 0;
  let wanted = 0;
  const samples: number[] = [];
  for (let ask = 0; ask < ASKS; ask++) {
    const query = `question ${ask}`;
    const began = performance.now();
    const { results } = await search.find(query, top_k);
    samples.push(performance.now() - began);
    if (top_k !== 10 || ask >= 50) continue;
    const exact = (await database.sql(
      `select span_id from cassette_search.span_embeddings
        order by (embedding operator(${schema}.<=>) $1::text::${schema}.vector) + 0 limit 10`,
      [`[${questionVector(query).join(',')}]`],
    )) as { span_id: string }[];
    wanted += exact.length;
    hits += exact.filter(({ span_id }) => results.some((hit: Json) => hit.span_id === span_id)).length;
  }
  const { p50, p99 } = percentiles(samples);
  const recall = wanted === 0 ? null : hits / wanted;
  const over = barred && ((top_k <= 10 && p50 > BARS.ms) || (recall !== null && recall < BARS.recall));
  row(
    `top_k=${top_k}, the question's vector given`,
    ...[ms(p50), ms(p99), recall === null ? '' : recall.toFixed(3)],
    over ? `not within ${BARS.ms} ms and ${BARS.recall}` : '',
  );
}

async function timed(work: () => Promise<unknown>, times: number): Promise<number[]> {
  const samples: number[] = [];
  for (let i = 0; i < times; i++) {
    const began = performance.now();
    await work();
    samples.push(performance.now() - began);
  }
  return samples;
}

/** Deterministic, so that two runs compare the same. */
function randomness(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** A subject, and as much that is a text's own. */
function vectorAbout(subject: number, seed: number): number[] {
  const [common, own] = [randomness(subject * 7919), randomness(seed * 104_729 + 1)];
  return Array.from({ length: DIMENSIONS }, () => Number((common() - 0.5 + (own() - 0.5)).toFixed(4)));
}

const questionVector = (text: string): number[] => {
  const [, number = '0'] = /(\d+)/.exec(text) ?? [];
  return /^question/.test(text)
    ? vectorAbout((Number(number) * 31) % SUBJECTS, 9_000_000 + Number(number))
    : wordVector(text, DIMENSIONS);
};

async function vectorSchema(database: TestDatabase): Promise<string> {
  const [there] = await database.sql(
    `select n.nspname as name from pg_extension e join pg_namespace n on n.oid = e.extnamespace where extname = 'vector'`,
  );
  return String(there?.name);
}

/** Spans as derivation leaves them, and their vectors as the cassette keeps them. @returns seconds that the vectors took */
async function putSpans(database: TestDatabase, count: number): Promise<number> {
  const schema = await vectorSchema(database);
  const id = (kind: number) => `('00000000-0000-4000-8000-' || ${kind} || lpad(to_hex(i), 11, '0'))::uuid`;
  await database.sql(
    `insert into svc.sessions (session_id, harness_id, harness_session_id, client_key, started_at, last_seen_at)
     values ('00000000-0000-4000-8000-100000000000', 'bench', 'bench', '\\x00', now(), now())`,
  );
  await database.sql(
    `insert into svc.traces (trace_id, session_id, user_prompt, started_at)
     select ${id(2)}, '00000000-0000-4000-8000-100000000000', 'a prompt of some words', now() from generate_series(1, ${count}) i`,
  );
  await database.sql(
    `insert into svc.spans (trace_id, span_id, session_id, seq, kind, call_kind, name, model, started_at, input, output, plain_text, node_hash)
     select ${id(2)}, ${id(3)}, '00000000-0000-4000-8000-100000000000', 1, 'llm', 'main', 'bench', 'bench', now(),
            jsonb_build_array(jsonb_build_object('type', 'text', 'text', repeat('what was asked ', 20) || i)),
            jsonb_build_array(jsonb_build_object('type', 'text', 'text', repeat('what was answered ', 60) || i)),
            repeat('what was asked ', 20) || i || repeat('what was answered ', 60) || i,
            decode(md5(i::text), 'hex')
       from generate_series(1, ${count}) i`,
  );
  await database.sql(
    `insert into cassette_search.embedded_spans (model, trace_id, span_id, session_id, fingerprint, content_hash, state, chunks)
     select '${MODEL}', s.trace_id, s.span_id, s.session_id, concat_ws('/', '4', pg_column_size(s.plain_text), s.node_hash),
            '', 'embedded', 1
       from svc_v1.spans s`,
  );
  await database.sql(`insert into svc.session_changes (session_id) values ('00000000-0000-4000-8000-100000000000')`);
  const began = performance.now();
  for (let from = 1; from <= count; from += PART) {
    const vectors = Array.from({ length: Math.min(PART, count - from + 1) }, (_, i) => ({
      i: from + i,
      v: `[${vectorAbout((from + i) % SUBJECTS, from + i).join(',')}]`,
    }));
    await database.sql(
      `insert into cassette_search.span_embeddings (model, trace_id, span_id, chunk, dimensions, snippet, embedding)
       select '${MODEL}', ${id(2)}, ${id(3)}, 0, ${DIMENSIONS}, 'a snippet', v::${schema}.vector
         from jsonb_to_recordset($1::text::jsonb) as r (i integer, v text)`,
      [JSON.stringify(vectors)],
    );
  }
  return (performance.now() - began) / 1000;
}
