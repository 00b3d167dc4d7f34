/** Looks for a text in the spans of one session: all of them, by reading them. */
import { sql } from 'drizzle-orm';
import { openSpanSearch, type SearchedSpan, SPAN_BEGINNING, type TextPosition } from '../../find/span-search.ts';
import type { FindPlace, SessionMatch } from '../../model/find.ts';
import { instant } from '../literals.ts';
import { notDeleted } from '../read/not-deleted.ts';
import { PAGE_BYTES, type SpanKey } from '../read/session-traces.ts';
import type { Sql } from '../sql.ts';

type Scope = { session_id: string; thread: string | null };

const inThread = (thread: string | null) => (thread === null ? sql`` : sql` and p.thread_id = ${thread}`);

/** How many spans there are to look through. null: there is no such session. */
export async function spansToSearch(db: Sql, { session_id, thread }: Scope): Promise<number | null> {
  const [row] = await db.rows<{ spans: number }>(sql`
    select (select count(*) from svc.all_spans p where p.session_id = s.session_id${inThread(thread)}) as spans
      from svc.sessions s
     where s.session_id = ${session_id}::uuid and not s.is_empty and ${notDeleted(sql`s.session_id`)}`);
  return row?.spans ?? null;
}

/** Where a page begins: within this span, at a position; behind the span where that is null. */
export type FindStart = { span: SpanKey; within: TextPosition | null };

/** `searched`: spans that were looked through to their end. `next` null: this was the last page. */
export type SearchedPage = { matches: SessionMatch[]; searched: number; next: FindStart | null };

type Row = SpanKey & SearchedSpan & { fetched: number };

type PageRequest = Scope & {
  text: string;
  places: readonly FindPlace[];
  start: FindStart | null; // null: at the first span
  limit: number; // of spans
  most: number; // of matches
};

/**
 * A page of spans in the order of their traces, then of `seq`, and where the text stands in them. With its last match it ends within a
 * span, since one span may hold more matches than memory: the next page goes on at the first one that is left.
 */
export async function findInSession(db: Sql, request: PageRequest): Promise<SearchedPage> {
  const { text, places, start, limit, most } = request;
  const rows = await pageOfSpans(db, request);
  const looked = rows.slice(0, limit);
  const search = openSpanSearch(text, places);
  const matches: SessionMatch[] = [];
  for (const [searched, span] of looked.entries()) {
    const within = start?.span.span_id === span.span_id ? start.within : null;
    const found = search(span, within ?? SPAN_BEGINNING, most - matches.length);
    for (const match of found.matches) matches.push(match);
    if (found.next) return { matches, searched, next: { span: keyOf(span), within: found.next } };
  }
  const last = looked.at(-1);
  const more = last !== undefined && looked.length < last.fetched;
  return { matches, searched: looked.length, next: more ? { span: keyOf(last), within: null } : null };
}

const keyOf = ({ started_at, trace_id, seq, span_id }: SpanKey): SpanKey => ({ started_at, trace_id, seq, span_id });

/** One more than the limit, where there are so many; with bytes of about a page. */
function pageOfSpans(db: Sql, { session_id, thread, start, limit }: PageRequest): Promise<Row[]> {
  const after = start?.span;
  const traces = after
    ? sql` and (t.started_at, t.trace_id) >= (${after.started_at}::timestamptz, ${after.trace_id}::uuid)`
    : sql``;
  const afterKey = after
    ? sql` and (t.started_at, t.trace_id, p.seq, p.span_id)
              ${start.within ? sql`>=` : sql`>`} (${after.started_at}::timestamptz, ${after.trace_id}::uuid, ${after.seq}::integer, ${after.span_id}::uuid)
          and p.seq >= case when t.trace_id = ${after.trace_id}::uuid then ${after.seq}::integer else 0 end` // for the index
    : sql``;
  return db.rows<Row>(sql`
    select p.trace_id, p.span_id, p.raw_turn_id, p.seq, ${instant(sql`k.started_at`)} as started_at, k.fetched, p.kind,
           p.input::text as input, p.output::text as output, p.error_message
      from (select q.*, count(*) over () as fetched,
                   sum(q.payload_bytes) over (order by q.started_at, q.trace_id, q.seq, q.span_id) - q.payload_bytes as bytes_before
              from (select t.started_at, p.trace_id, p.seq, p.span_id, p.payload_bytes
                      from svc.all_traces t,
                           lateral (
                             select p.trace_id, p.seq, p.span_id, p.payload_bytes
                               from svc.all_spans p
                              where p.session_id = t.session_id and p.trace_id = t.trace_id${afterKey}${inThread(thread)}
                              order by p.seq, p.span_id
                              limit ${limit + 1}) p
                     where t.session_id = ${session_id}::uuid and ${notDeleted(sql`t.session_id`)}${traces}
                     order by t.started_at, t.trace_id, p.seq, p.span_id
                     limit ${limit + 1}) q) k
      join svc.all_spans p on p.session_id = ${session_id}::uuid and p.trace_id = k.trace_id and p.span_id = k.span_id
     where k.bytes_before < ${PAGE_BYTES}
     order by k.started_at, k.trace_id, k.seq, k.span_id`);
}
