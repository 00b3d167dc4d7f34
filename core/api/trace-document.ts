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

const TRACES = 200;
const SPANS = 500;
const LINKS = 1_000;

/** `{schema, session, traces: [{trace, spans}], links}` */
export async function* sessionDocument(ask: Ask, session: Session, payload: Payload): AsyncGenerator<string, void> {
  const of = { session_id: session.id };
  yield `{"schema":${JSON.stringify(SCHEMA)},"session":${JSON.stringify(session)},"traces":[`;
  const spans = spansOf(ask, of, payload);
  let ahead = await spans.next();
  let before = '';
  for await (const trace of tracesOf(ask, session.id)) {
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
  yield* elements(linksOf(ask, of));
  yield ']}';
}

/** `{schema, trace, spans, links}` */
export async function* traceDocument(ask: Ask, trace: Trace, payload: Payload): AsyncGenerator<string, void> {
  const of = { trace_id: trace.trace_id };
  yield `{"schema":${JSON.stringify(SCHEMA)},"trace":${JSON.stringify(trace)},"spans":[`;
  let separator = '';
  for await (const { span } of spansOf(ask, of, payload)) {
    yield separator + JSON.stringify(span);
    separator = ',';
  }
  yield '],"links":[';
  yield* elements(linksOf(ask, of));
  yield ']}';
}

type Placed = { trace_started_at: string; span: Span };

/** Negative: the span belongs to an earlier trace; 0: to this one; positive: to a later one. Instants and ids compare as text. */
const placed = ({ trace_started_at, span }: Placed, trace: Trace): number => {
  const at = compared(trace_started_at, trace.started_at);
  return at !== 0 ? at : compared(span.trace_id, trace.trace_id);
};

const compared = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

async function* tracesOf(ask: Ask, session_id: string): AsyncGenerator<Trace, void> {
  let after: Answer<'sessionTraces'>['next'] = null;
  do {
    const page: Answer<'sessionTraces'> = await ask('sessionTraces', { session_id, after, limit: TRACES });
    yield* page.traces;
    after = page.next;
  } while (after);
}

async function* spansOf(ask: Ask, of: Scope, payload: Payload): AsyncGenerator<Placed, void> {
  let after: Answer<'spansOf'>['next'] = null;
  do {
    const page: Answer<'spansOf'> = await ask('spansOf', { of, after, limit: SPANS, payload });
    yield* page.spans;
    after = page.next;
  } while (after);
}

async function* linksOf(ask: Ask, of: Scope): AsyncGenerator<Link, void> {
  let after: Answer<'linksOf'>['next'] = null;
  do {
    const page: Answer<'linksOf'> = await ask('linksOf', { of, after, limit: LINKS });
    yield* page.links;
    after = page.next;
  } while (after);
}
