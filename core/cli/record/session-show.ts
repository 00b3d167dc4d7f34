/** `svc sessions show`: a conversation in the terminal, and with `--follow` what comes to it. Read page by page, so that a long one begins at once. */
import type { LoadedConfig } from '../../config/load.ts';
import type { Session } from '../../model/session.ts';
import type { Span } from '../../model/span.ts';
import type { Trace } from '../../model/trace.ts';
import { type ApiClient, openApiClient } from '../api-client.ts';
import type { Io } from '../io.ts';
import { copyBody } from '../print-response.ts';
import { type Depths, sessionHeading, spanLines, toolResultLines, traceHeading, type View } from './conversation.ts';
import { sessionChanges } from './session-changes.ts';
import { newestSession, sessionOf } from './session-of.ts';

export type ShowOptions = {
  full: boolean;
  follow: boolean;
  json: boolean;
  /** Only so many of the newest turns. Null: all. */
  last: number | null;
};

const PAGE = 200;

/** @throws {OperatorError} no such session */
export async function showSession(word: string, options: ShowOptions, loaded: LoadedConfig, io: Io): Promise<void> {
  const api = await openApiClient(loaded);
  const newest = word === 'last' ? await newestSession(api) : null;
  const id = newest?.id ?? (await sessionOf(word, api, io.home));
  if (options.json) return copyBody(await api.response({ path: `/v1/sessions/${id}/traces`, what: WHAT }), io, WHAT);
  const reading = tracesOf(api, id, options.last);
  reading.catch(() => {}); // where there is no such session, this is said of the session
  const session = newest ?? (await api.json<{ session: Session }>({ path: `/v1/sessions/${id}`, what: WHAT })).session;
  io.out(sessionHeading(session));
  const shown: Shown = new Map();
  const view: View = { full: options.full, width: io.columns };
  const traces = await reading;
  const number = Math.max(1, session.rollup.turn_count - traces.length + 1);
  const printing: Printing = { shown, view, next: { number, below: '' }, io };
  await showTraces(api, traces, printing);
  if (!options.follow) return;
  const [first] = traces;
  for await (const _ of sessionChanges(api, id))
    await showTraces(api, await recentTraces(api, id, { shown, first }), printing);
}

/** In the order of their list. */
const isBehind = (trace: Trace, other: Trace): boolean =>
  trace.started_at === other.started_at ? trace.trace_id > other.trace_id : trace.started_at > other.started_at;

const WHAT = 'read the session';

/** So many of the newest that were shown are read again: several agents may be at work at once, so something may still come to each. */
const RECENT = 3;

/** By trace: what of it was printed, which of that are tools without a result, and how deep its spans are. */
type Shown = Map<string, ShownTrace>;
type ShownTrace = { printed: Set<string>; awaited: Set<string>; depths: Depths };

/** `next`: the number of the next turn, and the span that it is printed below. */
type Printing = { shown: Shown; view: View; next: { number: number; below: string }; io: Io };

/** Newest first. @param most so many are wanted, as far as is known: the first page has no more */
async function* newestTraces(api: ApiClient, session_id: string, most: number): AsyncGenerator<Trace> {
  let limit = Math.min(PAGE, most);
  for (let cursor: string | undefined = ''; cursor !== undefined; limit = PAGE) {
    const query = new URLSearchParams({ session_id, limit: String(limit) });
    if (cursor) query.set('cursor', cursor);
    const page: { items: Trace[]; next_cursor?: string } = await api.json({ path: `/v1/traces?${query}`, what: WHAT });
    yield* page.items;
    cursor = page.next_cursor;
  }
}

/** Oldest first. */
async function tracesOf(api: ApiClient, session_id: string, last: number | null): Promise<Trace[]> {
  const traces: Trace[] = [];
  for await (const trace of newestTraces(api, session_id, last ?? PAGE)) if (traces.push(trace) === last) break;
  return traces.reverse();
}

/**
 * All that came since, however many there are, and the newest of those that were shown. Oldest first.
 * @param first the oldest that was shown at the beginning: what is before it stays out
 */
async function recentTraces(
  api: ApiClient,
  session_id: string,
  { shown, first }: { shown: Shown; first: Trace | undefined },
): Promise<Trace[]> {
  const traces: Trace[] = [];
  let again = 0;
  for await (const trace of newestTraces(api, session_id, RECENT + 1)) {
    const wasShown = shown.has(trace.trace_id);
    if (!wasShown && first && !isBehind(trace, first)) break;
    traces.push(trace);
    if (trace.trace_id === first?.trace_id || (wasShown && ++again === RECENT)) break;
  }
  return traces.reverse();
}

/** Prints what of them was not printed yet. The beginnings of the next ones are read meanwhile. */
async function showTraces(api: ApiClient, traces: readonly Trace[], printing: Printing): Promise<void> {
  const begun: Promise<SpanWindow>[] = [];
  const ahead = printing.view.full ? 1 : AHEAD; // of whole payloads the service reads few at once
  for (const [at, trace] of traces.entries()) {
    for (const next of traces.slice(at + begun.length, at + ahead)) {
      const window = spansFrom(api, next, 0, printing.view);
      window.catch(() => {}); // said when it is its turn
      begun.push(window);
    }
    const first = begun.shift();
    if (first) await showTrace(api, trace, first, printing);
  }
}

const AHEAD = 4;

async function showTrace(api: ApiClient, trace: Trace, first: Promise<SpanWindow>, printing: Printing): Promise<void> {
  const { shown, view, next, io } = printing;
  let before = shown.get(trace.trace_id);
  if (before === undefined) {
    before = { printed: new Set(), awaited: new Set(), depths: new Map() };
    shown.set(trace.trace_id, before);
    io.out(traceHeading(trace, next.number++));
    next.below = '';
  }
  for await (const span of spansOf(api, trace, first, view)) showSpan(span, before, printing);
}

/** A tool is printed when it is called. Its result comes below it; behind something else, with the tool once more. */
function showSpan(span: Span, { printed, awaited, depths }: ShownTrace, { view, next, io }: Printing): void {
  const hasResult = span.kind !== 'tool' || span.output.length > 0;
  const isFirst = !printed.has(span.span_id);
  if (!isFirst && !(hasResult && awaited.has(span.span_id))) return;
  const lines = !isFirst && next.below === span.span_id ? toolResultLines : spanLines;
  const text = lines(span, depths, view);
  printed.add(span.span_id);
  if (hasResult) awaited.delete(span.span_id);
  else awaited.add(span.span_id);
  if (text === '') return;
  io.out(text);
  next.below = span.span_id;
}

type SpanWindow = { items: Span[]; next_seq?: number };

const spansFrom = (api: ApiClient, { trace_id }: Trace, from: number, { full }: View): Promise<SpanWindow> =>
  api.json({
    path: `/v1/traces/${trace_id}/spans?from_seq=${from}&limit=${PAGE}&payload=${full ? 'full' : 'preview'}`,
    what: WHAT,
  });

async function* spansOf(api: ApiClient, trace: Trace, first: Promise<SpanWindow>, view: View): AsyncGenerator<Span> {
  for (let window = await first; ; window = await spansFrom(api, trace, window.next_seq, view)) {
    yield* window.items;
    if (window.next_seq === undefined) return;
  }
}
