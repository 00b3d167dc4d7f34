/** The totals of an agent's calls. Those of a trace's agents together are the trace's. */
import type { ExactAgentTotals } from './changes.ts';
import { type CallSpend, sumsWith } from './usage-sums.ts';

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
export function agentTotalsWith(totals: ExactAgentTotals, spent: CallSpend, tool_calls: number): ExactAgentTotals {
  if (spent.inherited_from !== null) return totals;
  const counted = { ...totals, calls: totals.calls + 1, tool_calls: totals.tool_calls + tool_calls };
  return spent.usage === null ? counted : { ...counted, ...sumsWith(totals, spent, spent.usage) };
}
