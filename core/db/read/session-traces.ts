/** Traces, spans and links of a session or a trace, in pages that fit in memory. */
import { type SQL, sql } from 'drizzle-orm';
import type { Link } from '../../model/link.ts';
import type { Payload } from '../../model/page.ts';
import type { Span } from '../../model/span.ts';
import type { Trace } from '../../model/trace.ts';
import { type LinkColumns, linkSelect, toLink } from '../columns/link.ts';
import { type SpanColumns, spanSelect } from '../columns/span.ts';
import { type TraceColumns, traceSelect } from '../columns/trace.ts';
import { instant } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { shownSpan } from './span-preview.ts';
import { type TraceKey, tracePage } from './trace-page.ts';

/** A page of the session's traces, the oldest first. */
export async function sessionTraces(
  db: Sql,
  { session_id, after, limit }: { session_id: string; after: TraceKey | null; limit: number },
): Promise<{ traces: Trace[]; next: TraceKey | null }> {
  const afterKey = after
    ? sql`and (t.started_at, t.trace_id) > (${after.started_at}::timestamptz, ${after.trace_id}::uuid)`
    : sql``;
  const rows = await db.rows<TraceColumns>(sql`
    select ${traceSelect}
      from svc.traces t
     where t.session_id = ${session_id}::uuid ${afterKey}
     order by t.started_at, t.trace_id
     limit ${limit + 1}`);
  return tracePage(rows, limit);
}

/** All of a session, or one trace. */
export type SpanScope = { session_id: string } | { trace_id: string };
export type SpanKey = TraceKey & { seq: number; span_id: string };

/** The limit of a page of spans once unpacked, except for its last span, which may be of any size. */
export const PAGE_BYTES = 4 * 1024 * 1024;

/** A page of spans in the order of their traces, then of `seq`: as many as the limit and `PAGE_BYTES` allow. */
export async function spansOf(
  db: Sql,
  { of, after, limit, payload }: { of: SpanScope; after: SpanKey | null; limit: number; payload: Payload },
): Promise<{ spans: { trace_started_at: string; span: Span }[]; next: SpanKey | null }> {
  const traces = after
    ? sql`and (t.started_at, t.trace_id) >= (${after.started_at}::timestamptz, ${after.trace_id}::uuid)`
    : sql``;
  const afterKey = after
    ? sql`and (t.started_at, t.trace_id, p.seq, p.span_id)
              > (${after.started_at}::timestamptz, ${after.trace_id}::uuid, ${after.seq}::integer, ${after.span_id}::uuid)
          and p.seq >= case when (t.started_at, t.trace_id) = (${after.started_at}::timestamptz, ${after.trace_id}::uuid)
                            then ${after.seq}::integer else 0 end` // a condition that the index can use
    : sql``;
  const scope =
    'session_id' in of ? sql`t.session_id = ${of.session_id}::uuid` : sql`t.trace_id = ${of.trace_id}::uuid`;
  // No more spans of a trace are read than a page may have, or every page would sort the whole rest of a long trace.
  // Sizes are summed before a payload is unpacked, so one page never holds more than one large span beyond the bound.
  const rows = await db.rows<SpanColumns & { trace_started_at: string; fetched: number }>(sql`
    select ${spanSelect}, ${instant(sql`p.trace_started_at`)} as trace_started_at, p.fetched
      from (select q.*, count(*) over () as fetched,
                   sum(q.payload_bytes) over (order by q.trace_started_at, q.trace_id, q.seq, q.span_id) - q.payload_bytes
                     as bytes_before
              from (select p.*, t.started_at as trace_started_at
                      from svc.traces t,
                           lateral (
                             select p.*
                               from svc.spans p
                              where p.session_id = t.session_id and p.trace_id = t.trace_id ${afterKey}
                              order by p.seq, p.span_id
                              limit ${limit + 1}) p
                     where ${scope} ${traces}
                     order by t.started_at, t.trace_id, p.seq, p.span_id
                     limit ${limit + 1}) q) p
     where p.bytes_before < ${PAGE_BYTES}
     order by p.trace_started_at, p.trace_id, p.seq, p.span_id`);
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    spans: shown.map((row) => ({ trace_started_at: row.trace_started_at, span: shownSpan(row, payload) })),
    next:
      last && shown.length < last.fetched
        ? { started_at: last.trace_started_at, trace_id: last.trace_id, seq: last.seq, span_id: last.span_id }
        : null,
  };
}

export type LinkKey = Pick<Link, 'kind' | 'from_trace_id' | 'from_span_id' | 'to_trace_id' | 'to_span_id'>;

/**
 * A page of links: those of the session, or those from or to the trace. Links of forks are not stored but computed here; such a link
 * belongs to the session that continues the other.
 */
export async function linksOf(
  db: Sql,
  { of, after, limit }: { of: SpanScope; after: LinkKey | null; limit: number },
): Promise<{ links: Link[]; next: LinkKey | null }> {
  const page = (from: SQL, condition: SQL) => sql`
    (select ${linkSelect}
       from ${from} l
      where ${condition} ${after ? beyondLink(after) : sql``}
      order by l.from_trace_id, l.from_span_id, l.to_trace_id, l.to_span_id, l.kind
      limit ${limit + 1})`;
  const pages = [
    ...linkConditions(of).map((condition) => page(sql`svc.all_span_links`, condition)),
    ...forkConditions(of).map((fork) => page(sql`svc.fork_links`, fork)),
  ];
  const rows = await db.rows<LinkColumns>(sql`
    select l.*
      from (${sql.join(pages, sql` union all `)}) l
     order by l.from_trace_id, l.from_span_id, l.to_trace_id, l.to_span_id, l.kind
     limit ${limit + 1}`);
  const shown = rows.slice(0, limit);
  return { links: shown.map(toLink), next: rows.length > limit ? (shown.at(-1) ?? null) : null };
}

/** Conditions that each match an index: a trace's own links, then those that lead to it from elsewhere. */
const linkConditions = (of: SpanScope): SQL[] =>
  'session_id' in of
    ? [sql`l.session_id = ${of.session_id}::uuid`]
    : [
        sql`l.session_id = ${sessionOf(of)} and l.from_trace_id = ${of.trace_id}::uuid`,
        sql`l.to_trace_id = ${of.trace_id}::uuid and l.from_trace_id <> l.to_trace_id`,
      ];

/** The same for forks. They are found by session, so a trace's forks are looked for among those of its session, each by an index. */
function forkConditions(of: SpanScope): SQL[] {
  if ('session_id' in of) return [sql`l.session_id = ${of.session_id}::uuid`];
  const own = sessionOf(of);
  return [
    sql`l.session_id = ${own} and l.from_trace_id = ${of.trace_id}::uuid`,
    sql`l.origin_session_id = ${own} and l.to_trace_id = ${of.trace_id}::uuid`,
  ];
}

const sessionOf = ({ trace_id }: { trace_id: string }): SQL =>
  sql`(select t.session_id from svc.all_traces t where t.trace_id = ${trace_id}::uuid limit 1)`;

const beyondLink = ({ kind, from_trace_id, from_span_id, to_trace_id, to_span_id }: LinkKey): SQL => sql`
  and (l.from_trace_id, l.from_span_id, l.to_trace_id, l.to_span_id, l.kind)
      > (${from_trace_id}::uuid, ${from_span_id}::uuid, ${to_trace_id}::uuid, ${to_span_id}::uuid, ${kind}::text)`;
