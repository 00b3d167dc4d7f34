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
  /** The same of some sessions only, as they are now. */
  part(session_ids: readonly string[]): Promise<ListPart>;
  /** Deletes from the list, where it is a copy, the spans of these sessions that no longer exist. */
  forget(session_ids: readonly string[], part: ListPart): Promise<void>;
};

/** A relation whose one parameter has this number in the statement, and the value of that. */
export type ListPart = { relation(parameter: number): string; value: string };

export const uuids = (ids: readonly string[]): string => `{${ids.join(',')}}`;

/** @throws {SearchOff} there is no database, or it cannot hold vectors */
export async function vectorStoreOf(env: Env<SearchConfig>): Promise<VectorStore> {
  const db = databaseOf(env);
  const relations = relationsOf(env.CONFIG);
  const spans = `(${listedSpans(relations.spans)})`;
  const target = env.CONFIG['vector_store.target'] ?? '';
  const ofSessions = (parameter: number) =>
    `(select l.trace_id, l.span_id, l.session_id, l.started_at, l.fingerprint
        from ${spans} as l where l.session_id = any($${parameter}::uuid[]))`;
  if (target === '')
    return {
      query: (...args) => db.query(...args),
      listed: spans,
      refresh: async () => {},
      part: async (session_ids) => ({ relation: ofSessions, value: uuids(session_ids) }),
      forget: async () => {},
    };
  const query = await openTarget(target);
  return {
    query,
    part: async (session_ids) => {
      const { rows } = await db
        .query(`select l.* from ${ofSessions(1)} as l`, [uuids(session_ids)])
        .catch((error: unknown) => {
          throw explained(error, relations);
        });
      return { relation: (parameter) => `(select * from ${ROWS(`$${parameter}`)})`, value: JSON.stringify(rows) };
    },
    forget: async (session_ids, { relation, value }) => {
      await query(
        `delete from listed_spans l where l.session_id = any($1::uuid[])
            and not exists (select 1 from ${relation(2)} as p where p.trace_id = l.trace_id and p.span_id = l.span_id)`,
        [uuids(session_ids), value],
      );
    },
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

const ROWS = (parameter: string) => `jsonb_to_recordset(${parameter}::jsonb)
    as r (trace_id uuid, span_id uuid, session_id uuid, started_at timestamptz, fingerprint text)`;

const COPY = `
with source as (
  select * from ${ROWS('$1')}
), gone as (
  delete from listed_spans l
   where l.trace_id between $2::uuid and $3::uuid
     and not exists (select 1 from source t where t.trace_id = l.trace_id and t.span_id = l.span_id)
)
insert into listed_spans (trace_id, span_id, session_id, started_at, fingerprint)
select trace_id, span_id, session_id, started_at, fingerprint from source order by trace_id, span_id
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
