/** The sums of sub-agents: what the calls of each cost in one trace, without those of the agents below it. */
import type { OutlineColumns } from '../../../store/outline-columns.ts';
import { mayHaveCost, tokensOf } from './step-facts.ts';

export type AgentSums = {
  calls: number;
  tools: number;
  errors: number;
  tokens: number; // input and output
  cost_usd: number | null; // null: no price of its calls is known
  isAtLeast: boolean; // some of its calls have no known price
};

const made = new WeakMap<OutlineColumns, Map<string, AgentSums>>();

export function agentSums(columns: OutlineColumns, agent: number): AgentSums {
  const known = made.get(columns) ?? sums(columns);
  made.set(columns, known);
  return known.get(keyOf(columns, agent)) ?? none();
}

const none = (): AgentSums => ({ calls: 0, tools: 0, errors: 0, tokens: 0, cost_usd: null, isAtLeast: false });

const keyOf = ({ spans }: OutlineColumns, span: number): string => `${spans.trace[span]} ${spans.thread[span]}`;

/** Of all threads at once, in one pass over the spans. */
function sums(columns: OutlineColumns): Map<string, AgentSums> {
  const { spans, names } = columns;
  const [llm, tool, failed] = ['llm', 'tool', 'error'].map((name) => names.indexOf(name));
  const found = new Map<string, AgentSums>();
  for (let span = 0; span < spans.count; span++) {
    if (spans.kind[span] !== llm && spans.kind[span] !== tool) continue;
    const key = keyOf(columns, span);
    const sum = found.get(key) ?? none();
    found.set(key, sum);
    if (spans.status[span] === failed) sum.errors++;
    if (spans.kind[span] === tool) {
      sum.tools++;
      continue;
    }
    sum.calls++;
    const tokens = tokensOf(columns, span);
    sum.tokens += tokens;
    const cost = spans.cost_usd[span] ?? Number.NaN;
    if (Number.isNaN(cost)) sum.isAtLeast ||= mayHaveCost(spans.status[span] === failed, tokens);
    else sum.cost_usd = (sum.cost_usd ?? 0) + cost;
  }
  return found;
}
