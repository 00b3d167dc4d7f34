/** The columns of a session's outline: each property of all its traces and of all its spans as one array, over which later answers are laid. */
import type { Outline } from '../../../model/outline.ts';
import { type LinkTable, linksAfter, references } from './outline-references.ts';

const TRACE_NAMES = ['status', 'source', 'synthetic'] as const;
const TRACE_COUNTS = ['duration_us', 'span_count', 'tool_calls', 'error_count'] as const;
const TRACE_SUMS = ['input_tokens', 'output_tokens', 'cost_usd'] as const;
const TRACE_MOMENTS = ['started_us'] as const;
const TRACE_TEXTS = ['trace_id', 'user_prompt'] as const;
const SPAN_NAMES = ['kind', 'call_kind', 'name', 'thread', 'status', 'error_type', 'model', 'stop_reason'] as const;
const VERDICTS = ['verdict'] as const;
const SPAN_COUNTS = ['seq', 'duration_us', 'raw_turn_id', 'inherited', 'images'] as const;
const SPAN_SUMS = ['input_tokens', 'cache_read_tokens', 'cache_write_tokens', 'output_tokens', 'cost_usd'] as const;
const SPAN_LENGTHS = ['input_lines', 'input_characters', 'output_lines', 'output_characters'] as const;
const SPAN_MOMENTS = ['started_us', 'first_byte_us'] as const;
const SPAN_TEXTS = ['span_id', 'label'] as const;

/** Indexes of `names`. */
type Names<Key extends string> = { [key in Key]: Int32Array };
/** NaN: not known. */
type Numbers<Key extends string> = { [key in Key]: Float64Array };
type Texts<Key extends string> = { [key in Key]: string[] };
type KeysOf<List extends readonly string[]> = List[number];

export type TraceTable = { count: number } & Names<KeysOf<typeof TRACE_NAMES>> &
  Numbers<KeysOf<typeof TRACE_COUNTS> | KeysOf<typeof TRACE_SUMS> | KeysOf<typeof TRACE_MOMENTS>> &
  Texts<KeysOf<typeof TRACE_TEXTS>>;
export type SpanTable = { count: number } & Names<KeysOf<typeof SPAN_NAMES> | KeysOf<typeof VERDICTS>> &
  Numbers<KeysOf<typeof SPAN_COUNTS> | KeysOf<typeof SPAN_SUMS> | KeysOf<typeof SPAN_LENGTHS>> &
  Numbers<KeysOf<typeof SPAN_MOMENTS>> &
  Texts<KeysOf<typeof SPAN_TEXTS>> & {
    trace: Int32Array; // index of `traces`
    parent: Int32Array; // a reference: see `OutlineColumns`
    changed: Int32Array; // the `layer` that last wrote the span
  };

/** A span that is not among the columns. */
export type OtherSpan = Outline['others'][number];

/**
 * What is known of a session. Columns are never changed in place: each answer makes new ones. A reference to a span is its index;
 * -1: none; below that: `others[-2 - reference]`, a span of another session, or of a page that has not come yet.
 */
export type OutlineColumns = {
  rev: string;
  base_us: number; // what moments count from, in microseconds since 1970
  layer: number; // how many answers were laid over each other
  names: string[];
  traces: TraceTable;
  spans: SpanTable;
  others: OtherSpan[];
  links: LinkTable;
  traceKeys: Map<string, number>;
  spanKeys: Map<string, number>;
};

const spanKey = (trace_id: string, span_id: string): string => trace_id + span_id; // a sub-agent's span may be in two traces

/** Whether they are only the part around a span, which has no revision: what comes before it is not known. */
export const isPart = ({ rev }: OutlineColumns): boolean => rev === '0';

/** The index of a trace; -1: it is not here. */
export const traceIndex = ({ traceKeys }: OutlineColumns, trace_id: string): number => traceKeys.get(trace_id) ?? -1;

/** The index of a span; -1: it is not here. @param trace_id '' where an address does not say it: then the first span of that id */
export const spanIndex = ({ spanKeys, spans }: OutlineColumns, trace_id: string, span_id: string): number =>
  trace_id === '' ? spans.span_id.indexOf(span_id) : (spanKeys.get(spanKey(trace_id, span_id)) ?? -1);

/** The columns after an answer. @param before what it is laid over; null: it begins a whole outline */
export function layOver(before: OutlineColumns | null, answer: Outline): OutlineColumns {
  const names = [...(before?.names ?? [''])];
  const known = new Map(names.map((name, index) => [name, index]));
  const renamed = answer.names.map((name) => {
    const index = indexIn(known, name);
    names[index] = name;
    return index;
  });
  const base_us = before?.base_us ?? instantUs(answer.base_at);
  const shift = instantUs(answer.base_at) - base_us;
  const layer = (before?.layer ?? 0) + 1;

  const traceKeys = new Map(before?.traceKeys);
  const traceAt = answer.traces.trace_id.map((id) => indexIn(traceKeys, id));
  const traceCells = cells(traceAt, traceKeys.size, before?.traces, answer.traces);
  const spanKeys = new Map(before?.spanKeys);
  const spanAt = answer.spans.span_id.map((id, row) =>
    indexIn(spanKeys, spanKey(answer.traces.trace_id[answer.spans.trace[row] ?? -1] ?? '', id)),
  );
  const spanCells = cells(spanAt, spanKeys.size, before?.spans, answer.spans);
  const refs = references(
    before?.others ?? [],
    answer,
    (other) => spanKeys.get(spanKey(other.trace_id, other.span_id)),
    spanAt,
  );

  const spans: SpanTable = {
    count: spanKeys.size,
    ...spanCells.names([...SPAN_NAMES, ...VERDICTS], renamed),
    ...spanCells.numbers([...SPAN_COUNTS, ...SPAN_SUMS, ...SPAN_LENGTHS], 0),
    ...spanCells.numbers(SPAN_MOMENTS, shift),
    ...spanCells.texts(SPAN_TEXTS),
    trace: grown(before?.spans.trace, spanKeys.size),
    parent: grown(before?.spans.parent, spanKeys.size).map(refs.settled),
    changed: grown(before?.spans.changed, spanKeys.size),
  };
  for (const [row, index] of spanAt.entries()) {
    spans.trace[index] = traceAt[answer.spans.trace[row] ?? 0] ?? 0;
    spans.parent[index] = refs.own(answer.spans.parent[row] ?? -1);
    spans.changed[index] = layer;
  }
  return {
    ...{ rev: answer.rev, base_us, layer, names, traceKeys, spanKeys, spans, others: refs.others },
    traces: {
      count: traceKeys.size,
      ...traceCells.names(TRACE_NAMES, renamed),
      ...traceCells.numbers([...TRACE_COUNTS, ...TRACE_SUMS], 0),
      ...traceCells.numbers(TRACE_MOMENTS, shift),
      ...traceCells.texts(TRACE_TEXTS),
    },
    links: linksAfter(before?.links, answer.links, refs, renamed, new Set(spanAt)),
  };
}

/** An instant with microseconds, as microseconds since 1970. */
export const instantUs = (at: string): number =>
  Math.floor(Date.parse(at) / 1000) * 1_000_000 + Number((/\.(\d{1,6})/.exec(at)?.[1] ?? '').padEnd(6, '0'));

function indexIn(known: Map<string, number>, key: string): number {
  const index = known.get(key) ?? known.size;
  known.set(key, index);
  return index;
}

/** Makers of the columns of one table: the cells of before, with those of the answer in the rows that it names. */
function cells<Before extends object, Answer extends object>(
  at: readonly number[],
  count: number,
  before: Before | undefined,
  answer: Answer,
) {
  const record = <Key extends string, Column>(keys: readonly Key[], columnOf: (key: Key) => Column) =>
    Object.fromEntries(keys.map((key) => [key, columnOf(key)])) as { [key in Key]: Column };
  const was = <Column>(key: string) => (before as Record<string, Column> | undefined)?.[key];
  const is = <Cell>(key: string) => (answer as Record<string, readonly Cell[]>)[key] ?? [];
  return {
    names: <Key extends string>(keys: readonly Key[], renamed: readonly number[]) =>
      record(keys, (key) => {
        const [column, cells] = [grown(was<Int32Array>(key), count), is<number>(key)];
        for (const [row, index] of at.entries()) column[index] = renamed[cells[row] ?? -1] ?? 0;
        return column;
      }),
    numbers: <Key extends string>(keys: readonly Key[], shift: number) =>
      record(keys, (key) => {
        const column = new Float64Array(count);
        column.set(was<Float64Array>(key) ?? []);
        const cells = is<number | null>(key);
        for (const [row, index] of at.entries()) column[index] = (cells[row] ?? Number.NaN) + shift;
        return column;
      }),
    texts: <Key extends string>(keys: readonly Key[]) =>
      record(keys, (key) => {
        const [column, cells] = [[...(was<string[]>(key) ?? [])], is<string>(key)];
        for (const [row, index] of at.entries()) column[index] = cells[row] ?? '';
        return column;
      }),
  };
}

function grown(before: Int32Array | undefined, count: number): Int32Array {
  const column = new Int32Array(count);
  column.set(before ?? []);
  return column;
}
