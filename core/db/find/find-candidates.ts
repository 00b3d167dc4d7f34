/** What the index of texts has for a search: spans that may hold what is sought, the newest first. Their texts decide. */
import { type SQL, sql } from 'drizzle-orm';
import { storable } from '../../derive/storable.ts';
import { spannedTimes } from '../../find/terms.ts';
import type { FindPlace } from '../../model/find.ts';
import type { TitleParts } from '../../model/session.ts';
import { instant, pgArray } from '../literals.ts';
import { notDeleted } from '../read/not-deleted.ts';
import { titleParts, withTitle } from '../read/session-title.ts';
import type { Sql } from '../sql.ts';
import { useIndexes } from '../use-indexes.ts';

/** All that is not null must hold. */
export type FindFilter = {
  project: string | null;
  agent_name: string | null;
  model: string | null;
  provider: string | null;
  harness_id: string | null;
  tool: string | null;
  status: string | null;
  since: string | null;
  until: string | null;
};

export type FindCandidate = { trace_id: string; span_id: string; place: FindPlace };

type Search = {
  /** Groups of terms. `all`: a text must have every term of every group; `some`: of as many groups as there are, rare ones first. */
  groups: readonly (readonly number[])[];
  match: 'all' | 'some';
  places: readonly FindPlace[];
  filter: FindFilter;
  /** As `textWindows` has them. */
  windows: readonly string[];
  limit: number;
  /** With `some`: so many texts of each group are looked at. */
  most_of_group?: number;
};

/** Each span and place once. Of a frequent word only the newest texts are looked at: those of a window, of a larger one, then all. */
export const findCandidates = (
  db: Sql,
  { groups, match, places, filter, windows, limit, most_of_group = MOST_OF_GROUP }: Search,
): Promise<FindCandidate[]> =>
  db.transaction(async (tx) => {
    await useIndexes(tx); // how many texts have a term is not in the statistics, so the planner expects few
    const within = sql`f.place = any(${pgArray(places)}::text[]) and ${notDeleted(sql`f.session_id`)}${inWindow(sql`f.at`, filter)}`;
    const read = (found: SQL) =>
      tx.rows<FindCandidate>(sql`
        with c as materialized (${found})
        select c.trace_id, c.span_id, c.place
          from c ${joined(filter)}
         where true ${matching(filter)}
         group by c.trace_id, c.span_id, c.place
         order by max(c.weight) desc, max(c.at) desc, c.span_id, c.place
         limit ${limit}`);
    if (match === 'some') return read(withSome(groups, within, most_of_group));
    const maybeFrequent = groups.flat().length <= FREQUENT_TERMS && filter.until === null;
    const last = windows.length > 0 && maybeFrequent ? await newestText(tx) : null;
    for (const first of windows) {
      const times = last === null ? null : spannedTimes(first, last);
      if (times === null) continue; // or the index cannot tell the window's texts apart
      const inside = sql`${within} and f.terms && ${terms(times)} and f.at >= ${first}::timestamptz`;
      const candidates = await read(withAll(groups, inside));
      if (candidates.length >= limit) return candidates;
      if (candidates.length * WINDOW_RATIO < limit) break; // too rare for the next window
    }
    return read(withAll(groups, within));
  });

async function newestText(tx: Sql): Promise<string | null> {
  const [row] = await tx.rows<{ last: string | null }>(sql`
    select ${instant(sql`max(f.at)`)} as last from svc.found_texts f`);
  return row?.last ?? null;
}

/** Texts that have more terms than this are few. */
const FREQUENT_TERMS = 12;

const WINDOW_RATIO = 8;
/** So many texts has a window. */
const WINDOWS = [8_192, WINDOW_RATIO * 8_192];

/** Since when the newest texts are, for each size of a window that is smaller than all of them. */
export async function textWindows(db: Sql, _args: Record<string, never>): Promise<string[]> {
  const firsts = WINDOWS.map(
    (size) => sql`(select f.at from svc.found_texts f order by f.at desc offset ${size} limit 1)`,
  );
  const rows = await db.rows<{ first: string | null }>(sql`
    select ${instant(sql`w.first`)} as first from unnest(array[${sql.join(firsts, sql`, `)}]) as w (first)
     order by w.first desc`);
  return rows.flatMap(({ first }) => first ?? []);
}

const COLUMNS = sql`f.session_id, f.trace_id, f.span_id, f.place, f.at`;

const withAll = (groups: Search['groups'], within: SQL): SQL => sql`
  select ${COLUMNS}, 0 as weight from svc.found_texts f where f.terms @> ${terms(groups.flat())} and ${within}`;

/** Of a frequent word: it hardly weighs. */
const MOST_OF_GROUP = 300;

/** A group weighs the more the fewer texts have it. */
const withSome = (groups: Search['groups'], within: SQL, most: number): SQL => {
  const arms = groups.map(
    (group) => sql`
    select m.*, 1.0 / ln(2 + count(*) over ()) as weight
      from (select f.ctid as row, ${COLUMNS} from svc.found_texts f where f.terms @> ${terms(group)} and ${within}
             limit ${most}) m`,
  );
  return sql`
    select a.session_id, a.trace_id, a.span_id, a.place, a.at, sum(a.weight) as weight
      from (${sql.join(arms, sql` union all `)}) a
     group by a.row, a.session_id, a.trace_id, a.span_id, a.place, a.at`;
};

export const terms = (numbers: readonly number[]): SQL => sql`${pgArray([...new Set(numbers)])}::smallint[]`;

/** Without a filter neither spans nor sessions are looked at. */
export function joined({ project, agent_name, model, provider, harness_id, tool, status }: FindFilter): SQL {
  const any = (...values: (string | null)[]) => values.some((value) => value !== null);
  return sql.join([
    any(model, provider, tool, status)
      ? sql` join svc.all_spans p on p.trace_id = c.trace_id and p.span_id = c.span_id`
      : sql``,
    any(project, agent_name) ? sql` join svc.session_rollups r on r.session_id = c.session_id` : sql``,
    any(harness_id) ? sql` join svc.sessions s on s.session_id = c.session_id` : sql``,
  ]);
}

export const matching = ({ project, agent_name, model, provider, harness_id, tool, status }: FindFilter): SQL =>
  sql.join([
    equal(sql`r.project`, project),
    equal(sql`r.agent_name`, agent_name),
    equal(sql`s.harness_id`, harness_id),
    equal(sql`p.model`, model),
    equal(sql`p.provider`, provider),
    tool === null ? sql`` : sql` and p.kind = 'tool'${equal(sql`p.name`, tool)}`,
    equal(sql`p.status`, status),
  ]);

/** Text that no column can hold matches nothing; as a parameter PostgreSQL would refuse it. */
function equal(column: SQL, value: string | null): SQL {
  if (value === null) return sql``;
  return storable(value) === value ? sql` and ${column} = ${value}` : sql` and false`;
}

export const inWindow = (at: SQL, { since, until }: FindFilter): SQL =>
  sql`${since === null ? sql`` : sql` and ${at} >= ${since}::timestamptz`}${until === null ? sql`` : sql` and ${at} < ${until}::timestamptz`}`;

/** A span with its payload as JSON, and what is shown of it. */
export type CandidateSpan = {
  session_id: string;
  trace_id: string;
  span_id: string;
  raw_turn_id: number | null;
  title: string | null;
  kind: string;
  name: string;
  model: string;
  status: string;
  at: string;
  input: string;
  output: string;
  error_message: string;
};

const PAGE_BYTES = 1024 * 1024;

/** The first of these spans, as many as fit in a page, but at least one. `covered`: how many of them; the others are gone. */
export async function candidateSpans(
  db: Sql,
  { keys }: { keys: readonly { trace_id: string; span_id: string }[] },
): Promise<{ covered: number; spans: CandidateSpan[] }> {
  const wanted = sql`
    unnest(${pgArray(keys.map(({ trace_id }) => trace_id))}::uuid[], ${pgArray(keys.map(({ span_id }) => span_id))}::uuid[])
      with ordinality as k (trace_id, span_id, place)`;
  const rows = await db.rows<Omit<CandidateSpan, 'title'> & { place: number; title_parts: TitleParts }>(sql`
    with wanted as materialized (select k.place, k.trace_id, k.span_id from ${wanted}),
         sizes as materialized (
           select k.place, o.session_id, o.trace_id, o.span_id, o.payload_bytes
             from wanted k join svc.spans o on o.trace_id = k.trace_id and o.span_id = k.span_id),
         page as materialized (
           select n.place, n.session_id, n.trace_id, n.span_id
             from (select s.*, sum(s.payload_bytes) over (order by s.place) - s.payload_bytes as bytes_before from sizes s) n
            where n.bytes_before < ${PAGE_BYTES}),
         found as materialized (
           select n.place, p.session_id, p.trace_id, p.span_id, p.raw_turn_id, p.kind, p.name, p.model, p.status, p.started_at,
                  p.input, p.output, p.error_message
             from page n
             join svc.spans p on p.session_id = n.session_id and p.trace_id = n.trace_id and p.span_id = n.span_id)
    select p.place, p.session_id, p.trace_id, p.span_id, p.raw_turn_id, ${titleParts},
           p.kind, p.name, p.model, p.status, ${instant(sql`p.started_at`)} as at,
           p.input::text as input, p.output::text as output, p.error_message
      from found p
      left join svc.sessions s on s.session_id = p.session_id
      left join svc.session_rollups r on r.session_id = p.session_id
      left join svc.session_edits e on e.session_id = p.session_id
     where ${notDeleted(sql`p.session_id`)}
     order by p.place`);
  const last = rows.at(-1)?.place ?? keys.length;
  return {
    covered: rows.length === 0 ? keys.length : last,
    spans: rows.map(({ place: _, ...span }) => withTitle(span)),
  };
}
