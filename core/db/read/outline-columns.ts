/** Packs the rows of an outline: words become indexes of a list of names, ids become indexes of spans. */
import type { Outline } from '../../model/outline.ts';

/** The columns of rows, each an array of its values. */
type Arrays<Row> = { [Name in keyof Row]: Row[Name][] };

export type TraceRows = Arrays<{
  trace_id: string;
  started_at: string;
  started_us: number;
  duration_us: number | null;
  status: string;
  source: string;
  synthetic: string;
  user_prompt: string;
  span_count: number;
  tool_calls: number;
  error_count: number;
  input_tokens: number;
  output_tokens: number;
  cost_usd: number | null;
}>;

export type SpanRows = Arrays<{
  span_id: string;
  trace_id: string;
  parent_span_id: string | null;
  seq: number;
  kind: string;
  call_kind: string;
  name: string;
  thread_id: string;
  status: string;
  error_type: string;
  model: string;
  stop_reason: string;
  verdict: string;
  started_us: number;
  first_byte_us: number | null;
  duration_us: number | null;
  input_tokens: number;
  cache_read_tokens: number;
  cache_write_tokens: number;
  output_tokens: number;
  cost_usd: number | null;
  raw_turn_id: number | null;
  inherited: number;
  label: string;
  input_lines: number;
  input_characters: number;
  output_lines: number;
  output_characters: number;
  images: number;
}>;

export type LinkRows = Arrays<{
  kind: string;
  from_session_id: string | null; // null: the session itself
  from_trace_id: string;
  from_span_id: string;
  to_trace_id: string;
  to_span_id: string;
  to_session_id: string | null;
}>;

type Rows = { session_id: string; traces: TraceRows; spans: SpanRows; links: LinkRows };

export function packed({
  session_id,
  traces,
  spans,
  links,
}: Rows): Pick<Outline, 'names' | 'traces' | 'spans' | 'others' | 'links'> {
  const names = numbered();
  const words = (column: readonly string[]) => column.map(names.indexOf);
  const refs = spanRefs(spans);
  const { started_at: _, ...traceColumns } = traces;
  const traceIndex = new Map(traces.trace_id.map((trace_id, index) => [trace_id, index]));
  const { trace_id, parent_span_id, thread_id, ...spanColumns } = spans;
  const end = (side: 'from' | 'to', index: number): number =>
    refs.indexOf({
      session_id: links[`${side}_session_id`][index] ?? session_id,
      trace_id: links[`${side}_trace_id`][index] ?? '',
      span_id: links[`${side}_span_id`][index] ?? '',
    });
  return {
    traces: {
      ...traceColumns,
      ...{ status: words(traces.status), source: words(traces.source), synthetic: words(traces.synthetic) },
    },
    spans: {
      ...spanColumns,
      trace: trace_id.map((id) => traceIndex.get(id) ?? -1),
      parent: parent_span_id.map((span_id, index) =>
        span_id === null ? -1 : refs.indexOf({ session_id, trace_id: trace_id[index] ?? '', span_id }),
      ),
      ...{ kind: words(spans.kind), call_kind: words(spans.call_kind), name: words(spans.name) },
      ...{ thread: words(thread_id), status: words(spans.status), error_type: words(spans.error_type) },
      ...{ model: words(spans.model), stop_reason: words(spans.stop_reason), verdict: words(spans.verdict) },
    },
    links: {
      kind: words(links.kind),
      from: links.kind.map((_, index) => end('from', index)),
      to: links.kind.map((_, index) => end('to', index)),
    },
    names: names.list,
    others: refs.others,
  };
}

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
