/**
 * Reads sessions for their lines, whatever their size. Small ones are read several in one statement, which sees them at one moment;
 * a large one page by page, so that no more than some megabytes of it are in memory.
 */
import type { Db } from '../../core/cassette/contract.ts';
import { oneAhead } from './one-ahead.ts';
import type { LinkViewRow, SessionViewRow, SpanViewRow, TraceViewRow } from './rows.ts';
import { IDS, LINKS, SESSION, SIZES, SPANS, TRACES, WHOLE } from './statements.ts';
import { type Detail, isEmpty, stampOf, type Window } from './window.ts';

type All<T> = Iterable<T> | AsyncIterable<T>;

/** Spans come in the order of the traces, then of the walk. They come in pages, since awaiting each one would take as long as writing it. */
export type ExportedRows = {
  session: SessionViewRow;
  traces: All<TraceViewRow>;
  spans: All<readonly SpanViewRow[]>;
  links: All<LinkViewRow>;
};

/** The limits of one query. `storedBytes` are compressed: usually some 6 MB of JSON. A query costs as much as half a megabyte of rows. */
export type ExportLimits = {
  sessions: number;
  rows: number;
  storedBytes: number;
  traces: number;
  spans: number;
  links: number;
};
export const LIMITS: ExportLimits = {
  sessions: 200,
  rows: 4_000,
  storedBytes: 2 * 1024 * 1024,
  traces: 200,
  spans: 500,
  links: 1_000,
};

/** The sessions that had a turn in the window. Their order and number are fixed here, whatever comes in while they are exported. */
export async function sessionsIn(db: Db, window: Window): Promise<string[]> {
  const ids: string[] = [];
  if (isEmpty(window)) return ids;
  const bounds = [stampOf(window.since), stampOf(window.until)];
  for await (const [id] of db.stream<[string]>(IDS, bounds, { rows: 'array' })) ids.push(id);
  return ids;
}

/** In the order of their ids; those that are gone are left out. */
export async function* readSessions(
  db: Db,
  ids: readonly string[],
  detail: Detail,
  limits: ExportLimits = LIMITS,
): AsyncGenerator<ExportedRows, void> {
  for await (const { sessions } of oneAhead(groups(db, ids, detail, limits))) yield* await sessions;
}

/** Promises in a box, so that the next group is queried before this one has come. */
async function* groups(
  db: Db,
  ids: readonly string[],
  detail: Detail,
  limits: ExportLimits,
): AsyncGenerator<{ sessions: Promise<ExportedRows[]> }, void> {
  for (let from = 0; from < ids.length; from += limits.sessions) {
    const { rows } = await db.query<Size>(SIZES, [arrayOf(ids.slice(from, from + limits.sessions))]);
    for (const group of grouped(rows, detail, limits)) {
      const sessions = rowsOf(db, group, detail, limits);
      sessions.catch(() => {}); // a failure is thrown where the group is awaited
      yield { sessions };
    }
  }
}

async function rowsOf(db: Db, { ids, isLarge }: Group, detail: Detail, limits: ExportLimits): Promise<ExportedRows[]> {
  const together = isLarge ? null : await whole(db, ids, detail);
  return together ?? (await Promise.all(ids.map((id) => paged(db, id, detail, limits)))).flat();
}

type Size = { id: string; traces: number; spans: number; links: number; bytes: number };
type Group = { ids: string[]; isLarge: boolean };

/** Groups of neighbours that together stay within the limits. A session that exceeds them by itself is a group of its own. */
function grouped(sizes: readonly Size[], detail: Detail, limits: ExportLimits): Group[] {
  const groups: Group[] = [];
  let remaining = { rows: 0, bytes: 0 };
  for (const { id, traces, spans, links, bytes } of sizes) {
    const size = detail === 'spans' ? { rows: traces + spans + links, bytes } : { rows: traces, bytes: 0 };
    const isLarge = size.rows > limits.rows || size.bytes > limits.storedBytes;
    const last = groups.at(-1);
    if (last && !last.isLarge && !isLarge && size.rows <= remaining.rows && size.bytes <= remaining.bytes)
      last.ids.push(id);
    else {
      groups.push({ ids: [id], isLarge });
      remaining = { rows: limits.rows, bytes: limits.storedBytes };
    }
    remaining = { rows: remaining.rows - size.rows, bytes: remaining.bytes - size.bytes };
  }
  return groups;
}

type WholeRow = SessionViewRow & { traces: TraceViewRow[]; spans: SpanViewRow[]; links: LinkViewRow[] };

/** Null: what is stored in few bytes unpacks to more than a result may hold. */
async function whole(db: Db, ids: readonly string[], detail: Detail): Promise<ExportedRows[] | null> {
  try {
    const { rows } = await db.query<WholeRow>(WHOLE[detail], [arrayOf(ids)]);
    const found = new Map(rows.map((row) => [row.id, row]));
    return ids.flatMap((id) => {
      const row = found.get(id);
      return row ? [{ session: row, traces: row.traces, spans: [row.spans], links: row.links }] : [];
    });
  } catch (error) {
    if (isTooLarge(error)) return null;
    throw error;
  }
}

async function paged(db: Db, id: string, detail: Detail, limits: ExportLimits): Promise<ExportedRows[]> {
  const { rows } = await db.query<SessionViewRow>(SESSION, [id]);
  return rows.map((session) => ({
    session,
    traces: tracesOf(db, id, limits.traces),
    spans: detail === 'spans' ? oneAhead(spanPages(db, id, limits)) : [],
    links: detail === 'spans' ? linksOf(db, id, limits.links) : [],
  }));
}

async function* tracesOf(db: Db, id: string, limit: number): AsyncGenerator<TraceViewRow, void> {
  for (let last: TraceViewRow | undefined; ; ) {
    const { rows } = await db.query<TraceViewRow>(TRACES, [id, last?.started_at, last?.trace_id, limit]);
    yield* rows;
    last = rows.at(-1);
    if (rows.length < limit) return;
  }
}

type PagedSpan = SpanViewRow & { fetched: number };

async function* spanPages(db: Db, id: string, limits: ExportLimits): AsyncGenerator<readonly PagedSpan[], void> {
  for (let last: PagedSpan | undefined; ; ) {
    const after = [last?.trace_started_at, last?.trace_id, last?.seq, last?.span_id];
    const rows: PagedSpan[] = await pageOf(db, [id, ...after, limits.spans, limits.storedBytes]);
    yield rows;
    last = rows.at(-1);
    if (!last || (rows.length === last.fetched && last.fetched < limits.spans)) return;
  }
}

/** One page; when a span is larger than a result may be, the page is read as a stream. */
async function pageOf(db: Db, parameters: readonly unknown[]): Promise<PagedSpan[]> {
  try {
    return (await db.query<PagedSpan>(SPANS, parameters)).rows;
  } catch (error) {
    if (!isTooLarge(error)) throw error;
    const rows: PagedSpan[] = [];
    for await (const row of db.stream<PagedSpan>(SPANS, parameters)) rows.push(row);
    return rows;
  }
}

async function* linksOf(db: Db, id: string, limit: number): AsyncGenerator<LinkViewRow, void> {
  for (let last: LinkViewRow | undefined; ; ) {
    const after = [last?.from_trace_id, last?.from_span_id, last?.to_trace_id, last?.to_span_id, last?.kind];
    const { rows } = await db.query<LinkViewRow>(LINKS, [id, ...after, limit]);
    yield* rows;
    last = rows.at(-1);
    if (rows.length < limit) return;
  }
}

/** PostgreSQL's `program_limit_exceeded`. */
const isTooLarge = (error: unknown): boolean => (error as { sqlstate?: unknown } | null)?.sqlstate === '54000';

const arrayOf = (ids: readonly string[]): string => `{${ids.join(',')}}`;
