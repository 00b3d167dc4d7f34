/** How much of what is sought do the three modes of search find? Two sets of sixty labelled queries over the demo and conversations of six kinds. */
import { readFile } from 'node:fs/promises';
import { answer, user } from '../support/call-turn.ts';
import type { TestDatabase } from '../support/databases.ts';
import { demoApi } from '../support/demo-api.ts';
import { deriveAll } from '../support/derive-all.ts';
import { indexAll } from '../support/index-all.ts';
import type { Json } from '../support/read-api.ts';
import { standSearch } from '../support/search.ts';
import { journalCall, storeCalls } from '../support/stored-calls.ts';
import { LABELLED_SESSIONS } from './labelled-sessions.ts';
import { prose } from './prose.ts';

export const SEARCH_MODES = ['text', 'vector', 'hybrid'] as const;
export type SearchMode = (typeof SEARCH_MODES)[number];

/** A query and words of the spans that it should find: each call of a conversation that has them. */
type Labelled = { class: string; asks: string; finds: string };

export type ClassRecall = { class: string; queries: number } & Record<SearchMode, number>;

/** On the first set the weights of a hybrid search were chosen; the other was written before any of it was run. */
export const QUERY_SETS = { chosen: 'labelled-queries.json', 'held out': 'held-out-queries.json' } as const;
export type QuerySet = keyof typeof QUERY_SETS;

/** Of a class, because each query is a tenth of it. */
const BELOW = 0.05;

/** Whether hybrid search finds what its better part finds: in the mean all of it, of a class nearly all. */
export const meetsBar = ({ class: name, text, vector, hybrid }: ClassRecall): boolean =>
  hybrid >= Math.max(text, vector) - (name === 'all' ? 0 : BELOW) - Number.EPSILON;

const OTHERS = 60; // conversations that no query is about

/** recall@10 of each mode in each set, by class and, last, in the mean over all queries. */
export async function searchQuality(database: TestDatabase): Promise<Record<QuerySet, ClassRecall[]>> {
  await demoApi(database);
  const others = Array.from({ length: OTHERS }, (_, i) => [prose(60, i), prose(300, i + OTHERS)] as const);
  await storeCalls(
    database,
    [...LABELLED_SESSIONS, ...others].map(([asks, answers], i) =>
      journalCall(`labelled-${i}`, { at: i, says: [user(asks)], answers: answer(answers) }),
    ),
  );
  await deriveAll(database);
  await indexAll(database);
  const search = await standSearch(database);
  try {
    while ((await search.status()).pending > 0) await search.pass();
    return {
      chosen: await recallsOf(database, search.ask, 'chosen'),
      'held out': await recallsOf(database, search.ask, 'held out'),
    };
  } finally {
    await search.close();
  }
}

type Ask = (path: string) => Promise<Response>;

async function recallsOf(database: TestDatabase, ask: Ask, set: QuerySet): Promise<ClassRecall[]> {
  const queries: Labelled[] = JSON.parse(await readFile(new URL(`./${QUERY_SETS[set]}`, import.meta.url), 'utf8'));
  const found: (Labelled & Record<SearchMode, number>)[] = [];
  for (const query of queries) found.push({ ...query, ...(await recallOf(database, ask, query)) });
  const classes = [...new Set(found.map((one) => one.class))];
  const mean = (of: typeof found, mode: SearchMode) => of.reduce((sum, one) => sum + one[mode], 0) / of.length;
  return [...classes, 'all'].map((name) => {
    const of = name === 'all' ? found : found.filter((one) => one.class === name);
    const [text, vector, hybrid] = SEARCH_MODES.map((mode) => mean(of, mode)) as [number, number, number];
    return { class: name, queries: of.length, text, vector, hybrid };
  });
}

async function recallOf(
  database: TestDatabase,
  ask: Ask,
  { asks, finds }: Labelled,
): Promise<Record<SearchMode, number>> {
  const wanted = (await database.sql(
    `select span_id from svc_v1.spans
      where kind = 'llm' and call_kind = 'main' and inherited_from_session_id is null
        and position($1::text in plain_text) > 0`,
    [finds],
  )) as { span_id: string }[];
  if (wanted.length === 0) throw new Error(`No span has "${finds}"`);
  const recalls = SEARCH_MODES.map(async (mode) => {
    const response = await ask(`/spans?${new URLSearchParams({ query: asks, top_k: '10', mode })}`);
    const { results } = (await response.json()) as Json;
    const hits = wanted.filter(({ span_id }) => results.some((hit: Json) => hit.span_id === span_id));
    if (process.env.SVC_BENCH_MISSES && hits.length < Math.min(wanted.length, 10))
      process.stdout.write(`  ${mode} misses "${asks}"\n`);
    return hits.length / Math.min(wanted.length, 10);
  });
  const [text = 0, vector = 0, hybrid = 0] = await Promise.all(recalls);
  return { text, vector, hybrid };
}
