/** Looks for a text in the spans of one session: all of them, by reading them. */
import { sql } from 'drizzle-orm';
import { literalPattern, matchAt } from '../../find/matches.ts';
import { type PlacedText, spanTexts } from '../../find/span-texts.ts';
import type { ContentBlock } from '../../model/content-block.ts';
import type { FindPlace, SessionMatch } from '../../model/find.ts';
import { parseJson } from '../../parse-json.ts';
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

export type SearchedPage = { matches: SessionMatch[]; searched: number; next: SpanKey | null };

/** A page of spans in the order of their traces, then of `seq`, and where the text stands in them. */
export async function findInSession(
  db: Sql,
  {
    session_id,
    thread,
    text,
    places,
    after,
    limit,
  }: Scope & { text: string; places: readonly FindPlace[]; after: SpanKey | null; limit: number },
): Promise<SearchedPage> {
  type Row = {
    trace_id: string;
    span_id: string;
    raw_turn_id: number | null;
    seq: number;
    started_at: string;
    fetched: number;
    kind: string;
    input: string;
    output: string;
    error_message: string;
  };
  const traces = after
    ? sql` and (t.started_at, t.trace_id) >= (${after.started_at}::timestamptz, ${after.trace_id}::uuid)`
    : sql``;
  const afterKey = after
    ? sql` and (t.started_at, t.trace_id, p.seq, p.span_id)
              > (${after.started_at}::timestamptz, ${after.trace_id}::uuid, ${after.seq}::integer, ${after.span_id}::uuid)
          and p.seq >= case when t.trace_id = ${after.trace_id}::uuid then ${after.seq}::integer else 0 end` // for the index
    : sql``;
  const rows = await db.rows<Row>(sql`
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
  const looked = rows.slice(0, limit);
  const search = openSearch(text, places);
  const matches = looked.flatMap(({ trace_id, span_id, raw_turn_id, ...span }) =>
    search(span).map((match) => ({ ...match, trace_id, span_id, raw_turn_id })),
  );
  const last = looked.at(-1);
  const more = last !== undefined && looked.length < last.fetched;
  return {
    ...{ matches, searched: looked.length },
    next: more ? { started_at: last.started_at, trace_id: last.trace_id, seq: last.seq, span_id: last.span_id } : null,
  };
}

type Payload = { kind: string; input: string; output: string; error_message: string };

/** JSON is parsed only where it holds the text as JSON writes it. */
function openSearch(text: string, places: readonly FindPlace[]) {
  const pattern = literalPattern(text);
  const inJson = literalPattern(JSON.stringify(text).slice(1, -1));
  const holds = (sought: RegExp, within: string) => {
    sought.lastIndex = 0;
    return sought.test(within);
  };
  const blocks = (json: string) => (holds(inJson, json) ? (parseJson(json) as ContentBlock[]) : []);
  return ({
    kind,
    input,
    output,
    error_message,
  }: Payload): Omit<SessionMatch, 'trace_id' | 'span_id' | 'raw_turn_id'>[] =>
    spanTexts({ kind, input: blocks(input), output: blocks(output), error_message }).flatMap((placed) =>
      places.includes(placed.place) ? matchesIn(pattern, placed) : [],
    );
}

const matchesIn = (pattern: RegExp, { place, side, block, offset, text }: PlacedText) =>
  [...text.matchAll(pattern)].map(({ 0: found, index }) => ({
    ...{ side, block, place },
    ...matchAt(text, index, found.length, offset),
  }));
