/** One session as one line: `{schema, session, traces: [{trace, spans}], links}`, written in pieces, so that its size does not matter. */
import { SCHEMA } from './model.ts';
import { linkOf, type SpanViewRow, sessionOf, spanText, type TraceViewRow, traceOf } from './rows.ts';
import type { ExportedRows } from './store.ts';
import type { Detail } from './window.ts';

/** The approximate size of a piece. Passing a piece on costs as much as some kilobytes, whatever its size. */
const PIECE_CHARACTERS = 16 * 1024;

/** The pieces of one line, its end included. With `traces` there are neither spans nor links. */
export async function* line(
  { session, traces, spans, links }: ExportedRows,
  detail: Detail,
): AsyncGenerator<string, void> {
  yield `{"schema":${JSON.stringify(SCHEMA)},"session":${JSON.stringify(sessionOf(session))},"traces":[`;
  const pages = each(spans);
  let page: readonly SpanViewRow[] = [];
  let at = 0;
  try {
    let text = '';
    for await (const trace of traces) {
      text += `{"trace":${JSON.stringify(traceOf(trace))}`;
      if (detail === 'spans') {
        text += ',"spans":[';
        // Both come in the order of traces. Between two pages a trace may have been derived again: its old spans are skipped.
        for (let separator = ''; ; at += 1) {
          if (at === page.length) {
            page = await nextOf(pages);
            at = 0;
          }
          const span = page[at];
          if (!span || !isDue(span, trace)) break;
          if (span.trace_id !== trace.trace_id) continue;
          text += separator + spanText(span);
          separator = ',';
          if (text.length < PIECE_CHARACTERS) continue;
          yield text;
          text = '';
        }
        text += ']';
      }
      yield `${text}}`;
      text = ',';
    }
  } finally {
    await pages.return();
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

/** Whether the trace of the span is the current one, or an earlier one. Instants and ids compare as text. */
const isDue = (span: SpanViewRow, trace: TraceViewRow): boolean =>
  span.trace_started_at === trace.started_at
    ? span.trace_id <= trace.trace_id
    : span.trace_started_at < trace.started_at;

/** The next page that has rows; empty after the last one. */
async function nextOf<Row>(pages: AsyncGenerator<readonly Row[], void>): Promise<readonly Row[]> {
  for (;;) {
    const { done, value } = await pages.next();
    if (done) return [];
    if (value.length > 0) return value;
  }
}

async function* each<T>(all: Iterable<T> | AsyncIterable<T>): AsyncGenerator<T, void> {
  yield* all;
}
