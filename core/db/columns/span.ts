/** The columns of spans, in the shape of the model. */
import type { ExactAgentTotals, SpanRow } from '../../derive/changes.ts';
import type { SpanOutline } from '../../derive/span-outline.ts';
import type { Span } from '../../model/span.ts';
import { partsOf } from '../../price/bill.ts';
import {
  type Column,
  type ColumnsFor,
  columnsOf,
  mapping,
  money,
  nonZero,
  optional,
  type PgType,
  type RowOf,
  selectOf,
  shownAs,
  typesOf,
  usd,
} from './column.ts';

/** Of `svc.spans p`. */
const derived = columnsOf<'p', SpanRow>('p');

/** What a provider sent is stored as it is: an object, or null. */
const fields = <Name extends string>(column: Column<'p', Name, unknown, unknown>) =>
  column as Column<'p', Name, Record<string, unknown> | null, Record<string, unknown> | null>;

const agentTotals = (totals: ExactAgentTotals | null) => totals && { ...totals, cost_usd: usd(totals.cost_usd) };

/** Rates are stored as the decimal texts that were multiplied. */
const price = (stored: SpanRow['price']): NonNullable<Span['price']> | null => {
  if (stored === null) return null;
  const { rates, ...row } = stored;
  return rates ? { ...row, rates: numbers(rates) } : row;
};

const numbers = <Amounts extends Record<string, string>>(amounts: Amounts) =>
  Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, Number(amount)])) as Record<
    keyof Amounts,
    number
  >;

export const spanColumns = {
  trace_id: derived('trace_id', 'uuid'),
  span_id: derived('span_id', 'uuid'),
  session_id: derived('session_id', 'uuid'),
  parent_span_id: optional(derived('parent_span_id', 'uuid')),
  seq: derived('seq', 'integer'),
  kind: derived('kind', 'text'),
  call_kind: derived('call_kind', 'text'),
  name: derived('name', 'text'),
  thread_id: derived('thread_id', 'text'),
  status: derived('status', 'text'),
  error_type: optional(derived('error_type', 'text')),
  error_message: optional(derived('error_message', 'text')),
  model: derived('model', 'text'),
  provider: derived('provider', 'text'),
  stop_reason: derived('stop_reason', 'text'),
  external_id: optional(derived('external_id', 'text')),
  started_at: derived('started_at', 'timestamptz'),
  first_byte_at: optional(derived('first_byte_at', 'timestamptz')),
  ended_at: optional(derived('ended_at', 'timestamptz')),
  duration_ns: optional(derived('duration_ns', 'bigint')),
  input: derived('input', 'jsonb'),
  output: derived('output', 'jsonb'),
  verdict: optional(derived('verdict', 'jsonb')),
  usage: {
    input_tokens: derived('input_tokens', 'bigint'),
    output_tokens: derived('output_tokens', 'bigint'),
    cache_read_tokens: derived('cache_read_tokens', 'bigint'),
    cache_write_5m_tokens: derived('cache_write_5m_tokens', 'bigint'),
    cache_write_1h_tokens: derived('cache_write_1h_tokens', 'bigint'),
    reasoning_tokens: derived('reasoning_tokens', 'bigint'),
    cost_usd: money(derived('cost_usd', 'numeric')),
  },
  usage_verbatim: optional(fields(derived('usage_verbatim', 'jsonb'))),
  price: optional(shownAs(derived('price', 'jsonb'), price)),
  tool_calls_omitted: nonZero(derived('tool_calls_omitted', 'integer')),
  events_omitted: nonZero(derived('events_omitted', 'integer')),
  description: optional(derived('description', 'text')),
  totals: optional(shownAs(derived('totals', 'jsonb'), agentTotals)),
  raw_turn_id: optional(derived('raw_turn_id', 'bigint')),
  node_hash: optional(derived('node_hash', 'bytea')),
  inherited_from_session_id: optional(derived('inherited_from', 'uuid')),
} as const satisfies ColumnsFor<WholeSpan>;

/** A span as it is stored: how much of it is shown is not in it. */
type WholeSpan = Omit<Span, 'payload' | 'usage'> & { usage: Omit<Span['usage'], 'cost'> };

export type SpanColumns = RowOf<typeof spanColumns>;

export const spanSelect = selectOf(spanColumns);

/** What the fold writes: its row must have each of these columns, and no other. */
export const spanTypes: Record<keyof SpanRow, PgType> = {
  said_blocks: 'integer[]',
  plain_text: 'text',
  call_id: 'text',
  ...typesOf(spanColumns, 'p'),
};

/** What is written of a span besides, for the outline of its session. */
export const outlineTypes: Record<keyof SpanOutline, PgType> = {
  label: 'text',
  input_lines: 'integer',
  input_characters: 'integer',
  output_lines: 'integer',
  output_characters: 'integer',
  images: 'integer',
};

const toStored = mapping<WholeSpan, SpanColumns>(spanColumns);

/** With the parts of its cost, which follow from its tokens and the rates that were applied. */
export function toSpan(row: SpanColumns): Omit<Span, 'payload'> {
  const span = toStored(row);
  const rates = row.price?.rates;
  if (!rates || row.cost_usd === null) return span;
  return { ...span, usage: { ...span.usage, cost: numbers(partsOf(span.usage, rates, row.cost_usd)) } };
}
