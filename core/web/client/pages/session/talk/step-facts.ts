/** What the outline says of one span, by plain names. */
import type { OutlineColumns } from '../../../store/outline-columns.ts';

export type StepFacts = {
  trace_id: string;
  span_id: string;
  seq: number;
  changed: number;
  kind: string;
  call_kind: string;
  name: string;
  thread: string;
  status: string;
  error_type: string;
  model: string;
  stop_reason: string;
  verdict: string;
  label: string;
  isHistory: boolean; // it counts in another session
  waited_us: number | null; // until the first byte of the answer
  duration_us: number | null;
  cost_usd: number | null;
  raw_turn_id: number | null;
};

export function stepFacts({ spans, names, traces }: OutlineColumns, span: number): StepFacts {
  const name = (column: Int32Array) => names[column[span] ?? -1] ?? '';
  const started = spans.started_us[span] ?? 0;
  const firstByte = known(spans.first_byte_us[span]);
  return {
    trace_id: traces.trace_id[spans.trace[span] ?? -1] ?? '',
    span_id: spans.span_id[span] ?? '',
    seq: spans.seq[span] ?? 0,
    changed: spans.changed[span] ?? 0,
    ...{ kind: name(spans.kind), call_kind: name(spans.call_kind), name: name(spans.name), thread: name(spans.thread) },
    ...{ status: name(spans.status), error_type: name(spans.error_type), model: name(spans.model) },
    ...{ stop_reason: name(spans.stop_reason), verdict: name(spans.verdict), label: spans.label[span] ?? '' },
    isHistory: spans.inherited[span] === 1,
    waited_us: firstByte === null ? null : firstByte - started,
    duration_us: known(spans.duration_us[span]),
    cost_usd: known(spans.cost_usd[span]),
    raw_turn_id: known(spans.raw_turn_id[span]),
  };
}

/** What a call used, input and output. */
export const tokensOf = ({ spans }: OutlineColumns, span: number): number =>
  (spans.input_tokens[span] ?? 0) + (spans.output_tokens[span] ?? 0);

/** Whether a call without a cost may have cost something: its answer may state no usage, but what was refused used nothing. */
export const mayHaveCost = (isRefused: boolean, tokens: number): boolean => tokens > 0 || !isRefused;

/** A number of a column; null: it is not known. */
export const known = (cell: number | undefined): number | null =>
  cell === undefined || Number.isNaN(cell) ? null : cell;
