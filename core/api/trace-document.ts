/** A session or a trace as one JSON document: generated in pieces, a page of rows at a time whatever its size. */
import type { Database, OperationArgs, OperationResult } from '../db/database.ts';
import { elements } from '../http/json-stream.ts';
import type { Link } from '../model/link.ts';
import type { Payload } from '../model/page.ts';
import type { Session } from '../model/session.ts';
import type { Span } from '../model/span.ts';
import { SCHEMA, type Trace } from '../model/trace.ts';

type Execute = Database['execute'];
type Scope = OperationArgs<'spansOf'>['of'];

/** How many rows one page may have; `firstSpans`: the first page of spans where there are more than one. */
export const PAGE_ROWS = { traces: 200, spans: 500, firstSpans: 50, links: 1_000 };

/**
 * `{schema, session, traces: [{trace, spans}], links}`. The rows of the first pages are of the same moment as the session itself.
 * @param session the session of `start`, as it is shown
 */
export async function* sessionDocument(
  execute: Execute,
  session: Session,
  start: OperationResult<'sessionStart'> & object,
  payload: Payload,
): AsyncGenerator<string, void> {
  const of = { session_id: session.id };
  yield `{"schema":${JSON.stringify(SCHEMA)},"session":${JSON.stringify(session)},"traces":[`;
  const spans = spansOf(execute, of, payload, start.spans);
  let nextSpan = await spans.next();
  let traceSeparator = '';
  for await (const trace of tracesOf(execute, session.id, start.traces)) {
    yield `${traceSeparator}{"trace":${JSON.stringify(trace)},"spans":[`;
    traceSeparator = ',';
    let separator = '';
    // Both come in the order of traces. Between two pages a trace may have been derived anew: its old spans are skipped.
    while (!nextSpan.done && compareToTrace(nextSpan.value, trace) <= 0) {
      if (nextSpan.value.span.trace_id === trace.trace_id) {
        yield separator + JSON.stringify(nextSpan.value.span);
        separator = ',';
      }
      nextSpan = await spans.next();
    }
    yield ']}';
  }
  yield '],"links":[';
  yield* elements(linksOf(execute, of, start.links));
  yield ']}';
}

/** `{schema, trace, spans, links}`. The rows of the first pages are of one moment. */
export async function* traceDocument(
  execute: Execute,
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

type PlacedSpan = { trace_started_at: string; span: Span };

/** Negative: the span belongs to an earlier trace; 0: to this one; positive: to a later one. Instants and ids compare as text. */
const compareToTrace = ({ trace_started_at, span }: PlacedSpan, trace: Trace): number => {
  const at = compareText(trace_started_at, trace.started_at);
  return at !== 0 ? at : compareText(span.trace_id, trace.trace_id);
};

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

async function* tracesOf(
  execute: Execute,
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
  execute: Execute,
  of: Scope,
  payload: Payload,
  first: OperationResult<'spansOf'>,
): AsyncGenerator<PlacedSpan, void> {
  const limit = PAGE_ROWS.spans;
  for (let page = first; ; ) {
    yield* page.spans;
    if (!page.next) return;
    page = await execute('spansOf', { of, after: page.next, limit, payload });
  }
}

async function* linksOf(
  execute: Execute,
  of: Scope,
  first: OperationResult<'linksOf'> | null,
): AsyncGenerator<Link, void> {
  const limit = PAGE_ROWS.links;
  for (let page = first ?? (await execute('linksOf', { of, after: null, limit })); ; ) {
    yield* page.links;
    if (!page.next) return;
    page = await execute('linksOf', { of, after: page.next, limit });
  }
}
