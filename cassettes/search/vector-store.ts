/** The store of vectors: the main database beside the spans, or a separate one, which then keeps a list of the spans too. */
import type { Db, Env } from '../../core/cassette/contract.ts';
import { listedSpans } from './listed-spans.ts';
import type { SearchConfig } from './manifest.ts';
import { databaseOf, explained, relationsOf } from './relations.ts';
import { openTarget } from './target.ts';

export type VectorStore = {
  query: Db['query'];
  /** A relation for a `from`: `trace_id`, `span_id`, `session_id`, `started_at` and `fingerprint` of every span that can be found. */
  listed: string;
  /** Updates the list, where it is a copy. */
  refresh(): Promise<void>;
};

/** @throws {SearchOff} there is no database, or it cannot hold vectors */
export async function vectorStoreOf(env: Env<SearchConfig>): Promise<VectorStore> {
  const db = databaseOf(env);
  const relations = relationsOf(env.CONFIG);
  const spans = `(${listedSpans(relations.spans)})`;
  const target = env.CONFIG['vector_store.target'] ?? '';
  if (target === '') return { query: (...args) => db.query(...args), listed: spans, refresh: async () => {} };
  const query = await openTarget(target);
  return {
    query,
    listed: 'listed_spans',
    refresh: () =>
      copyList(db.query.bind(db), spans, query).catch((error: unknown) => {
        throw explained(error, relations);
      }),
  };
}

/** Count and checksum of the spans whose trace ids begin with the same two digits. The sum does not depend on their order. */
const PARTS = (list: string) => `
select left(l.trace_id::text, 2) as part, count(*)::integer as spans,
       sum(('x' || left(md5(concat_ws('/', l.trace_id, l.span_id, l.fingerprint)), 13))::bit(52)::bigint)::text as sum
  from ${list} as l group by 1`;

type Part = { part: string; spans: number; sum: string };

const COPY = `
with told as (
  select * from jsonb_to_recordset($1::jsonb)
    as r (trace_id uuid, span_id uuid, session_id uuid, started_at timestamptz, fingerprint text)
), gone as (
  delete from listed_spans l
   where l.trace_id between $2::uuid and $3::uuid
     and not exists (select 1 from told t where t.trace_id = l.trace_id and t.span_id = l.span_id)
)
insert into listed_spans (trace_id, span_id, session_id, started_at, fingerprint)
select trace_id, span_id, session_id, started_at, fingerprint from told order by trace_id, span_id
on conflict (trace_id, span_id) do update
  set session_id = excluded.session_id, started_at = excluded.started_at, fingerprint = excluded.fingerprint`;

/** Compares checksums of both sides, and copies only the parts whose checksums differ. */
async function copyList(from: Db['query'], spans: string, to: Db['query']): Promise<void> {
  const [there, here] = await Promise.all([from<Part>(PARTS(spans)), to<Part>(PARTS('listed_spans'))]);
  const digests = ({ rows }: { rows: Part[] }) =>
    new Map(rows.map(({ part, spans: count, sum }) => [part, `${count} ${sum}`]));
  const [theirs, ours] = [digests(there), digests(here)];
  for (const part of new Set([...theirs.keys(), ...ours.keys()])) {
    if (theirs.get(part) === ours.get(part)) continue;
    const bounds = ['0', 'f'].map((digit) => `${part}${'000000-0000-0000-0000-000000000000'.replaceAll('0', digit)}`);
    const { rows } = await from(
      `select l.trace_id, l.span_id, l.session_id, l.started_at, l.fingerprint
         from ${spans} as l where l.trace_id between $1::uuid and $2::uuid`,
      bounds,
    );
    await to(COPY, [JSON.stringify(rows), ...bounds]);
  }
}
