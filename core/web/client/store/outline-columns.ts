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
  traceKeys: Map<string, number>; // may go on with rows of later columns, which share it: only those below `traces.count` count
  spanKeys: Map<string, number>;
};

const spanKey = (trace_id: string, span_id: string): string => trace_id + span_id; // a sub-agent's span may be in two traces

/** Whether they are only the part around a span, which has no revision: what comes before it is not known. */
export const isPart = ({ rev }: OutlineColumns): boolean => rev === '0';

/** The index of a trace; -1: it is not here. */
export const traceIndex = ({ traceKeys, traces }: OutlineColumns, trace_id: string): number =>
  indexBelow(traces.count, traceKeys.get(trace_id));

/** The index of a span; -1: it is not here. @param trace_id '' where an address does not say it: then the first span of that id */
export const spanIndex = ({ spanKeys, spans }: OutlineColumns, trace_id: string, span_id: string): number =>
  trace_id === '' ? spans.span_id.indexOf(span_id) : indexBelow(spans.count, spanKeys.get(spanKey(trace_id, span_id)));

const indexBelow = (count: number, index: number | undefined): number =>
  index !== undefined && index < count ? index : -1;

/** The columns after an answer. @param before what it is merged into; null: it begins a whole outline */
export function mergeOutline(before: OutlineColumns | null, answer: Outline): OutlineColumns {
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

  const isLatest = before?.traceKeys.size === before?.traces.count && before?.spanKeys.size === before?.spans.count; // none was laid over it yet
  const traceKeys = isLatest && before ? before.traceKeys : keysBelow(before?.traces.count ?? 0, before?.traceKeys);
  const traceAt = answer.traces.trace_id.map((id) => indexIn(traceKeys, id));
  const traceCells = cells(traceAt, traceKeys.size, isLatest, before?.traces, answer.traces);
  const spanKeys = isLatest && before ? before.spanKeys : keysBelow(before?.spans.count ?? 0, before?.spanKeys);
  const spanAt = answer.spans.span_id.map((id, row) =>
    indexIn(spanKeys, spanKey(answer.traces.trace_id[answer.spans.trace[row] ?? -1] ?? '', id)),
  );
  const spanCells = cells(spanAt, spanKeys.size, isLatest, before?.spans, answer.spans);
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
    trace: spanCells.column<Whole>('trace', Int32Array, (trace) => traceAt[trace ?? 0] ?? 0),
    parent: spanCells.column<Whole>('parent', Int32Array, (parent) => refs.own(parent ?? -1)),
    changed: spanCells.column<Whole>('changed', Int32Array, () => layer),
  };
  if (before?.others.length) spans.parent = spans.parent.map(refs.settled);
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

/** The keys of the first rows: the others belong to columns that were laid over the same ones before. */
const keysBelow = (count: number, keys: Map<string, number> | undefined): Map<string, number> =>
  new Map([...(keys ?? [])].slice(0, count)); // rows are numbered as their keys came

type Whole = Int32Array<ArrayBuffer>;
type Fraction = Float64Array<ArrayBuffer>;
type Cells = Whole | Fraction;
type KindOf<Column> = { new (buffer: ArrayBuffer, start: number, count: number): Column; BYTES_PER_ELEMENT: number };

/**
 * Makers of the columns of one table: the cells of before, with those of the answer in the rows that it names.
 *
 * An answer that only adds rows, as the pages of a long session do, has them added in the memory of before, which does not reach so far.
 *
 * @param mayShare whether nothing else was added there
 */
function cells<Before extends object, Answer extends object>(
  at: readonly number[],
  count: number,
  mayShare: boolean,
  before: (Before & { count: number }) | undefined,
  answer: Answer,
) {
  const adds = mayShare && before !== undefined && at.every((index) => index >= before.count);
  const record = <Key extends string, Column>(keys: readonly Key[], columnOf: (key: Key) => Column) =>
    Object.fromEntries(keys.map((key) => [key, columnOf(key)])) as { [key in Key]: Column };
  const was = <Column>(key: string) => (before as Record<string, Column> | undefined)?.[key];
  const is = <Cell>(key: string) => (answer as Record<string, readonly Cell[]>)[key] ?? [];
  const column = <Column extends Cells>(
    key: string,
    kind: KindOf<Column>,
    cellOf: (cell: number | null) => number,
  ): Column => {
    const known = was<Column>(key);
    const bytes = count * kind.BYTES_PER_ELEMENT;
    const hasRoom = adds && known !== undefined && known.buffer.byteLength >= bytes;
    const made = new kind(hasRoom ? known.buffer : new ArrayBuffer(adds ? 2 * bytes : bytes), 0, count);
    if (!hasRoom && known) made.set(known);
    const cells = is<number | null>(key);
    at.forEach((index, row) => {
      made[index] = cellOf(cells[row] ?? null);
    });
    return made;
  };
  return {
    column,
    names: <Key extends string>(keys: readonly Key[], renamed: readonly number[]) =>
      record(keys, (key) => column<Whole>(key, Int32Array, (name) => renamed[name ?? -1] ?? 0)),
    numbers: <Key extends string>(keys: readonly Key[], shift: number) =>
      record(keys, (key) => column<Fraction>(key, Float64Array, (cell) => (cell ?? Number.NaN) + shift)),
    texts: <Key extends string>(keys: readonly Key[]) =>
      record(keys, (key) => {
        const [made, cells] = [[...(was<string[]>(key) ?? [])], is<string>(key)];
        at.forEach((index, row) => {
          made[index] = cells[row] ?? '';
        });
        return made;
      }),
  };
}
