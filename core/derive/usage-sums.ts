/** The sums of what calls used, of a trace or of an agent. */
import type { CallKind } from '../model/call-kind.ts';
import type { Usage } from '../model/usage.ts';
import { addUsd, type Usd } from '../price/money.ts';
import type { SpanRow, TraceRow } from './changes.ts';

export type CallSpend = {
  kind: CallKind;
  model: string;
  usage: Usage | null;
  cost_usd: Usd | null;
  price: SpanRow['price'];
  inherited_from: string | null; // the session in which it counts; null: this one
};

type UsageSums = Pick<
  TraceRow,
  | 'input_tokens'
  | 'output_tokens'
  | 'cache_read_tokens'
  | 'cache_write_tokens'
  | 'reasoning_tokens'
  | 'cost_usd'
  | 'unpriced_models'
>;

/** The sums with one more call's tokens and money. */
export const sumsWith = (sums: UsageSums, { model, cost_usd }: CallSpend, usage: Usage): UsageSums => ({
  input_tokens: sums.input_tokens + usage.input_tokens,
  output_tokens: sums.output_tokens + usage.output_tokens,
  cache_read_tokens: sums.cache_read_tokens + usage.cache_read_tokens,
  cache_write_tokens: sums.cache_write_tokens + usage.cache_write_5m_tokens + usage.cache_write_1h_tokens,
  reasoning_tokens: sums.reasoning_tokens + usage.reasoning_tokens,
  cost_usd: cost_usd === null ? sums.cost_usd : addUsd(sums.cost_usd ?? '0', cost_usd),
  unpriced_models: cost_usd === null ? withName(sums.unpriced_models, model) : sums.unpriced_models,
});

/** The names with one more, sorted, each once. */
export const withName = (names: string[], name: string): string[] =>
  names.includes(name) ? names : [...names, name].sort();
