/** The totals of an agent's calls. Those of a trace's agents together are the trace's. */

import { addUsd, type Usd } from '../price/money.ts';
import type { ExactAgentTotals } from './changes.ts';
import type { CallSpend } from './totals.ts';

export const noAgentTotals: ExactAgentTotals = {
  calls: 0,
  tool_calls: 0,
  input_tokens: 0,
  output_tokens: 0,
  cache_read_tokens: 0,
  cache_write_tokens: 0,
  reasoning_tokens: 0,
  cost_usd: null,
  unpriced_models: [],
};

/** The totals with one more call, if it counts in this session. @param tool_calls that the call requested */
export function agentTotalsWith(
  totals: ExactAgentTotals,
  { model, usage, cost_usd, inherited_from }: CallSpend,
  tool_calls: number,
): ExactAgentTotals {
  if (inherited_from !== null) return totals;
  const counted = { ...totals, calls: totals.calls + 1, tool_calls: totals.tool_calls + tool_calls };
  if (usage === null) return counted;
  return {
    ...counted,
    input_tokens: totals.input_tokens + usage.input_tokens,
    output_tokens: totals.output_tokens + usage.output_tokens,
    cache_read_tokens: totals.cache_read_tokens + usage.cache_read_tokens,
    cache_write_tokens: totals.cache_write_tokens + usage.cache_write_5m_tokens + usage.cache_write_1h_tokens,
    reasoning_tokens: totals.reasoning_tokens + usage.reasoning_tokens,
    cost_usd: cost_usd === null ? totals.cost_usd : paid(totals.cost_usd, cost_usd),
    unpriced_models: cost_usd === null ? withName(totals.unpriced_models, model) : totals.unpriced_models,
  };
}

const paid = (before: Usd | null, cost: Usd): Usd => addUsd(before ?? '0', cost);

const withName = (names: string[], name: string) => (names.includes(name) ? names : [...names, name].sort());
