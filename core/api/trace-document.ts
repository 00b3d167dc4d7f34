/** How is a session or a trace told in one document? As JSON in pieces, a page of rows at a time whatever its size. */
import type { Answer, Args, Database } from '../db/database.ts';
import { elements } from '../http/json-stream.ts';
import type { Link } from '../model/link.ts';
import type { Payload } from '../model/page.ts';
import type { Session } from '../model/session.ts';
import type { Span } from '../model/span.ts';
import { SCHEMA, type Trace } from '../model/trace.ts';

type Ask = Database['ask'];
type Scope = Args<'spansOf'>['of'];

/** How many rows one page may have. */
export const PAGE_ROWS = { traces: 200, spans: 500, links: 1_000 };

/**
 * `{schema, session, traces: [{trace, spans}], links}`. What fits the first pages is told as of the moment of the session itself.
 * @param session what `start` holds, as it is shown
 */
export async function* sessionDocument(
  ask: Ask,
  session: Session,
  start: Answer<'sessionStart'> & object,
  payload: Payload,
): AsyncGenerator<string, void> {
  const of = { session_id: session.id };
  yield `{"schema":${JSON.stringify(SCHEMA)},"session":${JSON.stringify(session)},"traces":[`;
  const spans = spansOf(ask, of, payload, start.spans);
  let ahead = await spans.next();
  let before = '';
  for await (const trace of tracesOf(ask, session.id, start.traces)) {
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
  yield* elements(linksOf(ask, of, start.links));
  yield ']}';
}

/** `{schema, trace, spans, links}`, told as of one moment as far as it fits the first pages. */
export async function* traceDocument(
  ask: Ask,
  start: Answer<'traceStart'> & object,
  payload: Payload,
): AsyncGenerator<string, void> {
  const { trace } = start;
  const of = { trace_id: trace.trace_id };
  yield `{"schema":${JSON.stringify(SCHEMA)},"trace":${JSON.stringify(trace)},"spans":[`;
  let separator = '';
  for await (const { span } of spansOf(ask, of, payload, start.spans)) {
    yield separator + JSON.stringify(span);
    separator = ',';
  }
  yield '],"links":[';
  yield* elements(linksOf(ask, of, start.links));
  yield ']}';
}

type Placed = { trace_started_at: string; span: Span };

/** Negative: the span belongs to an earlier trace; 0: to this one; positive: to a later one. Instants and ids compare as text. */
const placed = ({ trace_started_at, span }: Placed, trace: Trace): number => {
  const at = compared(trace_started_at, trace.started_at);
  return at !== 0 ? at : compared(span.trace_id, trace.trace_id);
};

const compared = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

async function* tracesOf(ask: Ask, session_id: string, first: Answer<'sessionTraces'>): AsyncGenerator<Trace, void> {
  for (let page = first; ; ) {
    yield* page.traces;
    if (!page.next) return;
    page = await ask('sessionTraces', { session_id, after: page.next, limit: PAGE_ROWS.traces });
  }
}

async function* spansOf(ask: Ask, of: Scope, payload: Payload, first: Answer<'spansOf'>): AsyncGenerator<Placed, void> {
  const limit = PAGE_ROWS.spans;
  for (let page = first; ; ) {
    yield* page.spans;
    if (!page.next) return;
    page = await ask('spansOf', { of, after: page.next, limit, payload });
  }
}

async function* linksOf(ask: Ask, of: Scope, first: Answer<'linksOf'> | null): AsyncGenerator<Link, void> {
  const limit = PAGE_ROWS.links;
  for (let page = first ?? (await ask('linksOf', { of, after: null, limit })); ; ) {
    yield* page.links;
    if (!page.next) return;
    page = await ask('linksOf', { of, after: page.next, limit });
  }
}
