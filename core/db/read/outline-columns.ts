/** Packs the rows of an outline as JSON text: words become indexes of a list of names, ids become indexes of spans, and all else is the database's
 *  own JSON, since parsing and writing a quarter of a million values again would take longer than reading them. */
import type { Outline } from '../../model/outline.ts';
import { parseJson } from '../../parse-json.ts';

/** The columns of rows, each an array of its values. */
type Arrays<Row> = { [Name in keyof Row]: Row[Name][] };
/** Columns that are only passed on: each is the JSON of an array. */
type Texts<Name extends string> = { [Column in Name]: string };

const TRACE_WORDS = ['status', 'source', 'synthetic'] as const;
const SPAN_WORDS = ['kind', 'call_kind', 'name', 'status', 'error_type', 'model', 'stop_reason', 'verdict'] as const;

/** The columns that are read as values. */
export const TRACE_VALUES = ['trace_id', 'started_at', ...TRACE_WORDS] as const;
export const SPAN_VALUES = ['span_id', 'trace_id', 'parent_span_id', 'thread_id', ...SPAN_WORDS] as const;

type TraceColumn = keyof Outline['traces'];
type SpanColumn = keyof Outline['spans'];

export type TraceRows = Arrays<{ [Name in (typeof TRACE_VALUES)[number]]: string }> &
  Texts<Exclude<TraceColumn, (typeof TRACE_VALUES)[number]>>;

export type SpanRows = Arrays<{ span_id: string; trace_id: string; parent_span_id: string | null; thread_id: string }> &
  Arrays<{ [Name in (typeof SPAN_WORDS)[number]]: string }> &
  Texts<Exclude<SpanColumn, (typeof SPAN_VALUES)[number] | 'trace' | 'parent' | 'thread'>>;

export type LinkRows = Arrays<{
  kind: string;
  from_session_id: string | null; // null: the session itself
  from_trace_id: string;
  from_span_id: string;
  to_trace_id: string;
  to_span_id: string;
  to_session_id: string | null;
}>;

type Rows = { session_id: string; base_at: string; traces: TraceRows; spans: SpanRows; links: LinkRows };

/** @returns the members of an outline, without braces around them */
export function packed({ session_id, base_at, traces, spans, links }: Rows): string {
  const names = numbered();
  const words = <Name extends string>(rows: { [Column in Name]: string[] }, columns: readonly Name[]) =>
    Object.fromEntries(columns.map((column) => [column, rows[column].map(names.indexOf)]));
  const refs = spanRefs(spans);
  const { trace_id, started_at: _, ...traceColumns } = traces;
  const traceIndex = new Map(trace_id.map((id, index) => [id, index]));
  const { trace_id: traceOf, parent_span_id, thread_id, ...spanColumns } = spans;
  const end = (side: 'from' | 'to', index: number): number =>
    refs.indexOf({
      session_id: links[`${side}_session_id`][index] ?? session_id,
      trace_id: links[`${side}_trace_id`][index] ?? '',
      span_id: links[`${side}_span_id`][index] ?? '',
    });
  const columns = {
    traces: object({ ...traceColumns, trace_id, ...words(traces, TRACE_WORDS) }),
    spans: object({
      ...{ ...spanColumns, ...words(spans, SPAN_WORDS) },
      thread: thread_id.map(names.indexOf),
      trace: traceOf.map((id) => traceIndex.get(id) ?? -1),
      parent: parent_span_id.map((span_id, index) =>
        span_id === null ? -1 : refs.indexOf({ session_id, trace_id: traceOf[index] ?? '', span_id }),
      ),
    }),
    links: object({
      kind: links.kind.map(names.indexOf),
      from: links.kind.map((_, index) => end('from', index)),
      to: links.kind.map((_, index) => end('to', index)),
    }),
  };
  const rest = { base_at: JSON.stringify(base_at), names: names.list, others: refs.others };
  return object({ ...rest, ...columns }).slice(1, -1);
}

/** The JSON of an object. @param members text is JSON already */
const object = (members: Record<string, string | readonly unknown[]>): string =>
  `{${Object.entries(members)
    .map(([name, value]) => `"${name}":${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(',')}}`;

/** The rows without the last one. */
export const withoutLast = <Rows extends Record<string, string | unknown[]>>(rows: Rows): Rows =>
  Object.fromEntries(
    Object.entries(rows).map(([name, column]) => [
      name,
      typeof column === 'string' ? JSON.stringify((parseJson(column) as unknown[]).slice(0, -1)) : column.slice(0, -1),
    ]),
  ) as Rows;

/** A list of words, each once. */
function numbered() {
  const list: string[] = [];
  const indexes = new Map<string, number>();
  const indexOf = (word: string): number => {
    const known = indexes.get(word);
    if (known !== undefined) return known;
    indexes.set(word, list.length);
    return list.push(word) - 1;
  };
  return { list, indexOf };
}

/** Indexes of spans: those of the page first, then those that are not in it, as they are met. */
function spanRefs({ trace_id, span_id }: SpanRows) {
  const others: Outline['others'] = [];
  const traces = new Map<string, Map<string, number>>();
  const put = (trace: string, span: string, index: number) => {
    const spans = traces.get(trace);
    if (spans) spans.set(span, index);
    else traces.set(trace, new Map([[span, index]]));
  };
  for (const [index, span] of span_id.entries()) put(trace_id[index] ?? '', span, index);
  const indexOf = (ref: Outline['others'][number]): number => {
    const known = traces.get(ref.trace_id)?.get(ref.span_id);
    if (known !== undefined) return known;
    const index = span_id.length + others.push(ref) - 1;
    put(ref.trace_id, ref.span_id, index);
    return index;
  };
  return { others, indexOf };
}
