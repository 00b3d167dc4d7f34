/** How is a session told on one line? `{schema, session, traces: [{trace, spans}], links}`, in pieces, so that its size does not matter. */
import { SCHEMA } from './model.ts';
import { linkOf, type SpanRow, sessionOf, spanOf, type TraceRow, traceOf } from './rows.ts';
import type { Told } from './store.ts';
import type { Detail } from './window.ts';

/** The pieces of one line, its end included. With `traces` there are neither spans nor links. */
export async function* line({ session, traces, spans, links }: Told, detail: Detail): AsyncGenerator<string, void> {
  yield `{"schema":${JSON.stringify(SCHEMA)},"session":${JSON.stringify(sessionOf(session))},"traces":[`;
  const walk = each(spans);
  try {
    let ahead = await walk.next();
    let before = '';
    for await (const trace of traces) {
      yield `${before}{"trace":${JSON.stringify(traceOf(trace))}`;
      before = ',';
      if (detail === 'spans') {
        yield ',"spans":[';
        // Both come in the order of traces. Between two pages a trace may have been derived anew: its old spans are passed over.
        for (let separator = ''; !ahead.done && isDue(ahead.value, trace); ahead = await walk.next()) {
          if (ahead.value.trace_id !== trace.trace_id) continue;
          yield separator + JSON.stringify(spanOf(ahead.value));
          separator = ',';
        }
        yield ']';
      }
      yield '}';
    }
  } finally {
    await walk.return();
  }
  yield ']';
  if (detail === 'spans') {
    let before = ',"links":[';
    for await (const link of links) {
      yield before + JSON.stringify(linkOf(link));
      before = ',';
    }
    yield before === ',' ? ']' : `${before}]`;
  }
  yield '}\n';
}

/** Its trace has its turn, or had it. Instants and ids compare as text. */
const isDue = (span: SpanRow, trace: TraceRow): boolean =>
  span.trace_started_at === trace.started_at
    ? span.trace_id <= trace.trace_id
    : span.trace_started_at < trace.started_at;

async function* each<T>(rows: Iterable<T> | AsyncIterable<T>): AsyncGenerator<T, void> {
  yield* rows;
}
