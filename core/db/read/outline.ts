/** The outline of a session: its traces, spans and links without their texts, whole or as they changed since a revision. */
import { type SQL, sql } from 'drizzle-orm';
import { Refusal } from '../../errors.ts';
import { instant, pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { atOneMoment } from './at-one-moment.ts';
import { notDeleted } from './not-deleted.ts';
import {
  type LinkRows,
  packed,
  SPAN_VALUES,
  type SpanRows,
  TRACE_VALUES,
  type TraceRows,
  withoutLast,
} from './outline-columns.ts';
import { keyAround, type OutlineKey, type OutlineOrder } from './outline-key.ts';

/** The rest of an answer that has begun: after which span, and since which revision (null: it is a whole one) up to which. */
export type OutlineRest = { key: OutlineKey; since: number | null; rev: number };

/** `members`: the JSON of an outline's members from `base_at` on, without braces; `next`: the rest of the answer, null: there is none. */
export type OutlinePage = {
  rev: number;
  whole: boolean;
  members: string;
  next: OutlineRest | null;
};

type Request = {
  session_id: string;
  after: number;
  order: OutlineOrder;
  rest: OutlineRest | null;
  around: string | null;
  limit: number;
};

/**
 * One page. Null when there is no such session, or it is deleted.
 * @param after the revision that the reader has; 0: nothing
 * @param around a span: the only page is the part of the outline that has it in the middle, of revision 0, since all else is unread
 * @throws {Refusal} `span-unknown`: the session has no such span
 */
export const outline = (
  db: Sql,
  { session_id, after, order, rest, around, limit }: Request,
): Promise<OutlinePage | null> =>
  atOneMoment(db, async (tx) => {
    const [session] = await tx.rows<{ base_at: string; rev: number; floor: number }>(sql`
      select ${instant(sql`s.started_at`)} as base_at, coalesce(v.rev, 1) as rev, coalesce(v.floor, 1) as floor
        from svc.sessions s
        left join svc.session_revisions v on v.session_id = s.session_id
       where s.session_id = ${session_id}::uuid and not s.is_empty and ${notDeleted(sql`s.session_id`)}`);
    if (!session) return null;
    const known = after >= session.floor && after <= session.rev ? after : null;
    const since = rest ? rest.since : known;
    const rev = around === null ? (rest?.rev ?? session.rev) : 0;
    const base = sql`${session.base_at}::timestamptz`;
    const key =
      around === null
        ? (rest?.key ?? null)
        : await keyAround(tx, { session_id, span_id: around, order, before: Math.floor((limit - 1) / 2) });
    if (around !== null && key === null)
      throw new Refusal('span-unknown', 'Cannot read around the span: the session has none with this id');
    const found = await spanRows(tx, { session_id, base, since, order, key, limit: limit + 1 });
    const more = found.span_id.length > limit;
    const spans = more ? withoutLast(found) : found;
    const changed = since !== null && rest === null ? sql`or t.rev > ${since}` : sql``;
    const ids = pgArray([...new Set(spans.trace_id)]);
    const traces = await traceRows(tx, {
      ...{ base, order },
      of: sql`t.session_id = ${session_id}::uuid and (t.trace_id = any(${ids}::uuid[]) ${changed})`,
    });
    const isAll = since === null && key === null && !more;
    const links = await linkRows(tx, { session_id, spans: isAll ? null : spans });
    const last = spans.span_id.length - 1;
    const trace_id = spans.trace_id[last] ?? '';
    return {
      rev,
      whole: since === null && around === null,
      members: packed({ session_id, base_at: session.base_at, traces, spans, links }),
      next:
        more && around === null
          ? {
              key: {
                started_at: traces.started_at[traces.trace_id.indexOf(trace_id)] ?? '',
                ...{
                  trace_id,
                  seq: (JSON.parse(spans.seq) as number[])[last] ?? 0,
                  span_id: spans.span_id[last] ?? '',
                },
              },
              ...{ since, rev },
            }
          : null,
    };
  });

/** Selects each expression as one array of its values, in the order of the rows: as its JSON text, but for those that are read as values. */
const arrays = (expressions: Record<string, SQL>, values: readonly string[]): SQL =>
  sql.join(
    Object.entries(expressions).map(([name, value]) => {
      const column = sql`coalesce(json_agg(${value}), '[]')`;
      return sql`${values.includes(name) ? column : sql`${column}::text`} as ${sql.identifier(name)}`;
    }),
    sql`, `,
  );

const plain = (alias: string, names: readonly string[]): Record<string, SQL> =>
  Object.fromEntries(names.map((name) => [name, sql.raw(`${alias}.${name}`)]));

/** Exact for centuries, and quicker than `extract`, which counts in `numeric`. */
const microseconds = (at: SQL, base: SQL): SQL => sql`(date_part('epoch', ${at} - ${base}) * 1000000)::bigint`;

const directionOf = (order: OutlineOrder): SQL => (order === 'newest' ? sql`desc` : sql`asc`);

const SPAN_COLUMNS = [
  ...['span_id', 'trace_id', 'parent_span_id', 'seq', 'kind', 'call_kind', 'name', 'thread_id', 'status', 'error_type'],
  ...['model', 'stop_reason', 'input_tokens', 'cache_read_tokens', 'output_tokens', 'cost_usd', 'raw_turn_id', 'label'],
  ...['input_lines', 'input_characters', 'output_lines', 'output_characters', 'images'],
];

type SpanScope = {
  session_id: string;
  base: SQL;
  since: number | null;
  order: OutlineOrder;
  key: OutlineKey | null;
  limit: number;
};

/**
 * Of a long session's spans no more are read than the page has; a trace's own come in the order of an index. The session is compared so
 * that no index of it is chosen, which would be read whole for each trace.
 */
async function spanRows(tx: Sql, { session_id, base, since, order, key, limit }: SpanScope): Promise<SpanRows> {
  const [onwards, direction] = [order === 'newest' ? sql`<=` : sql`>=`, directionOf(order)];
  const traces = key
    ? sql`and (t.started_at, t.trace_id) ${onwards} (${key.started_at}::timestamptz, ${key.trace_id}::uuid)`
    : sql``;
  const spans = key
    ? sql`and (t.trace_id <> ${key.trace_id}::uuid or (p.seq, p.span_id) > (${key.seq}::integer, ${key.span_id}::uuid))
          and p.seq >= case when t.trace_id = ${key.trace_id}::uuid then ${key.seq}::integer else 0 end`
    : sql``;
  const sorted = sql`order by t.started_at ${direction}, t.trace_id ${direction}, p.seq, p.span_id limit ${limit}`;
  const page =
    since === null
      ? sql`select p.*
              from svc.all_traces t,
                   lateral (select p.*
                              from svc.all_spans p
                             where p.trace_id = t.trace_id and p.session_id is not distinct from t.session_id ${spans}
                             order by p.seq, p.span_id
                             limit ${limit}) p
             where t.session_id = ${session_id}::uuid ${traces} ${sorted}`
      : sql`select p.*
              from svc.all_spans p
              join svc.all_traces t on t.trace_id = p.trace_id and t.session_id = p.session_id
             where p.session_id = ${session_id}::uuid and p.rev > ${since} ${traces} ${spans} ${sorted}`;
  const [row] = await tx.rows<SpanRows>(sql`
    select ${arrays(
      {
        ...plain('p', SPAN_COLUMNS),
        verdict: sql`coalesce(p.verdict ->> 'disposition', '')`,
        inherited: sql`(p.inherited_from is not null)::integer`,
        cache_write_tokens: sql`p.cache_write_5m_tokens + p.cache_write_1h_tokens`,
        started_us: microseconds(sql`p.started_at`, base),
        first_byte_us: microseconds(sql`p.first_byte_at`, base),
        duration_us: sql`p.duration_ns / 1000`,
      },
      SPAN_VALUES,
    )}
      from (${page}) p`);
  if (!row) throw new Error('Cannot read an outline: an aggregate has no row');
  return row;
}

const TRACE_COLUMNS = [
  ...['trace_id', 'status', 'source', 'synthetic', 'user_prompt', 'span_count', 'tool_calls', 'error_count'],
  ...['input_tokens', 'output_tokens', 'cost_usd'],
];

type TraceScope = { base: SQL; of: SQL; order: OutlineOrder };

async function traceRows(tx: Sql, { base, of, order }: TraceScope): Promise<TraceRows> {
  const direction = directionOf(order);
  const [row] = await tx.rows<TraceRows>(sql`
    select ${arrays(
      {
        ...plain('t', TRACE_COLUMNS),
        started_at: instant(sql`t.started_at`),
        started_us: microseconds(sql`t.started_at`, base),
        duration_us: sql`t.duration_ns / 1000`,
      },
      TRACE_VALUES,
    )}
      from (select t.* from svc.all_traces t where ${of} order by t.started_at ${direction}, t.trace_id ${direction}) t`);
  if (!row) throw new Error('Cannot read an outline: an aggregate has no row');
  return row;
}

const END_COLUMNS = ['session_id', 'trace_id', 'span_id'];

/** Links of the session, or of these spans; and always those to and from other sessions, which no revision covers. */
async function linkRows(
  tx: Sql,
  { session_id, spans }: { session_id: string; spans: SpanRows | null },
): Promise<LinkRows> {
  let ofSpans = sql``;
  if (spans) {
    const keys = sql`(select u.trace_id, u.span_id
                        from unnest(${pgArray(spans.trace_id)}::uuid[], ${pgArray(spans.span_id)}::uuid[]) as u (trace_id, span_id))`;
    ofSpans = sql`and ((l.from_trace_id, l.from_span_id) in ${keys} or (l.to_trace_id, l.to_span_id) in ${keys})`;
  }
  const forks = (side: SQL) => sql`
            select f.kind, f.session_id, f.from_trace_id, f.from_span_id, f.origin_session_id, f.to_trace_id, f.to_span_id
              from svc.fork_links f
             where ${side} = ${session_id}::uuid`; // each by an index of its own
  const columns = [
    'kind',
    ...END_COLUMNS.map((column) => `from_${column}`),
    ...END_COLUMNS.map((column) => `to_${column}`),
  ];
  const [row] = await tx.rows<LinkRows>(sql`
    select ${arrays(plain('l', columns), columns)}
      from (select l.kind, null::uuid as from_session_id, l.from_trace_id, l.from_span_id,
                   null::uuid as to_session_id, l.to_trace_id, l.to_span_id
              from svc.all_span_links l
             where l.session_id = ${session_id}::uuid ${ofSpans}
             union all ${forks(sql`f.session_id`)}
             union all ${forks(sql`f.origin_session_id`)}
             order by 3, 4, 6, 7, 1) l`);
  if (!row) throw new Error('Cannot read an outline: an aggregate has no row');
  return row;
}
