/** How is a session or a trace told in one document? As JSON in pieces, a page of rows at a time whatever its size. */
import type { Database, OperationArgs, OperationResult } from '../db/database.ts';
import { elements } from '../http/json-stream.ts';
import type { Link } from '../model/link.ts';
import type { Payload } from '../model/page.ts';
import type { Session } from '../model/session.ts';
import type { Span } from '../model/span.ts';
import { SCHEMA, type Trace } from '../model/trace.ts';

type Ask = Database['execute'];
type Scope = OperationArgs<'spansOf'>['of'];

/** How many rows one page may have. */
export const PAGE_ROWS = { traces: 200, spans: 500, links: 1_000 };

/**
 * `{schema, session, traces: [{trace, spans}], links}`. What fits the first pages is told as of the moment of the session itself.
 * @param session what `start` holds, as it is shown
 */
export async function* sessionDocument(
  execute: Ask,
  session: Session,
  start: OperationResult<'sessionStart'> & object,
  payload: Payload,
): AsyncGenerator<string, void> {
  const of = { session_id: session.id };
  yield `{"schema":${JSON.stringify(SCHEMA)},"session":${JSON.stringify(session)},"traces":[`;
  const spans = spansOf(execute, of, payload, start.spans);
  let ahead = await spans.next();
  let before = '';
  for await (const trace of tracesOf(execute, session.id, start.traces)) {
    yield `${before}{"trace":${JSON.stringify(trace)},"spans":[`;
    before = ',';
    let separator = '';
    // Both come in the order of traces. Between two pages a trace may have been derived anew: its old spans are passed over.
    while (!ahead.done && placed(ahead.value, trace) <= 0) {
      if (ahead.value.span.trace_id === trace.trace_id) {
        yield separator + JSON.stringify(ahead.value.span);
        separator = ',';
      }
      ahead = await spans.next();
    }
    yield ']}';
  }
  yield '],"links":[';
  yield* elements(linksOf(execute, of, start.links));
  yield ']}';
}

/** `{schema, trace, spans, links}`, told as of one moment as far as it fits the first pages. */
export async function* traceDocument(
  execute: Ask,
  start: OperationResult<'traceStart'> & object,
  payload: Payload,
): AsyncGenerator<string, void> {
  const { trace } = start;
  const of = { trace_id: trace.trace_id };
  yield `{"schema":${JSON.stringify(SCHEMA)},"trace":${JSON.stringify(trace)},"spans":[`;
  let separator = '';
  for await (const { span } of spansOf(execute, of, payload, start.spans)) {
    yield separator + JSON.stringify(span);
    separator = ',';
  }
  yield '],"links":[';
  yield* elements(linksOf(execute, of, start.links));
  yield ']}';
}

type Placed = { trace_started_at: string; span: Span };

/** Negative: the span belongs to an earlier trace; 0: to this one; positive: to a later one. Instants and ids compare as text. */
const placed = ({ trace_started_at, span }: Placed, trace: Trace): number => {
  const at = compared(trace_started_at, trace.started_at);
  return at !== 0 ? at : compared(span.trace_id, trace.trace_id);
};

const compared = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

async function* tracesOf(
  execute: Ask,
  session_id: string,
  first: OperationResult<'sessionTraces'>,
): AsyncGenerator<Trace, void> {
  for (let page = first; ; ) {
    yield* page.traces;
    if (!page.next) return;
    page = await execute('sessionTraces', { session_id, after: page.next, limit: PAGE_ROWS.traces });
  }
}

async function* spansOf(
  execute: Ask,
  of: Scope,
  payload: Payload,
  first: OperationResult<'spansOf'>,
): AsyncGenerator<Placed, void> {
  const limit = PAGE_ROWS.spans;
  for (let page = first; ; ) {
    yield* page.spans;
    if (!page.next) return;
    page = await execute('spansOf', { of, after: page.next, limit, payload });
  }
}

async function* linksOf(execute: Ask, of: Scope, first: OperationResult<'linksOf'> | null): AsyncGenerator<Link, void> {
  const limit = PAGE_ROWS.links;
  for (let page = first ?? (await execute('linksOf', { of, after: null, limit })); ; ) {
    yield* page.links;
    if (!page.next) return;
    page = await execute('linksOf', { of, after: page.next, limit });
  }
}
