/** Which steps does one call add to its trace? The rows that are its own, and those of earlier steps that it completes. */

import { callStatus } from './call-status.ts';
import type { LinkRow, SpanRow } from './changes.ts';
import { headHash } from './place-call.ts';
import type { PriceOf } from './prices.ts';
import { agentSpan, eventSpan, link, llmSpan, modelOf } from './spans.ts';
import type { FailedCall, LiveTrace, PendingTool, SessionState } from './state.ts';
import { termsOf } from './terms.ts';
import { askedTools, broughtResults, type ToolResult } from './tools.ts';
import type { Spent } from './totals.ts';
import type { CallTurn } from './turn.ts';

export type CallSteps = {
  spans: SpanRow[]; // in walk order: root, context put in, the call, its tools
  llm: SpanRow;
  asked: { span: SpanRow; result: ToolResult | null }[];
  brought: { tool: PendingTool; result: ToolResult }[];
  retried: FailedCall | undefined; // the failed call that this one tries again
  links: LinkRow[];
  spent: Spent;
};

/** @param trace the trace that the call belongs to, as it was before the call */
export function callSteps(state: SessionState, turn: CallTurn, trace: LiveTrace, priceOf: PriceOf): CallSteps {
  const { trace_id } = trace.row;
  const under = { trace_id, parent_span_id: trace.root_span_id };
  const { kind } = turn;
  const model = modelOf(turn);
  const { reply } = turn;
  const usage = reply?.usage ?? null;
  const priced = reply && usage && priceOf(turn.provider, model, turn.requested_at, usage, termsOf(reply));

  const root = trace.next_seq === 0 ? [agentSpan(turn, { trace_id, parent_span_id: null, seq: 0 })] : [];
  const first = trace.next_seq + root.length;
  const events = turn.fresh
    .filter((message) => message.injected !== '')
    .map((message, i) => eventSpan(turn, { ...under, seq: first + i }, message));
  const seq = first + events.length;
  const llm = llmSpan(turn, { ...under, seq }, { kind, status: callStatus(turn), priced });
  const asked = askedTools(turn, under, seq + 1);
  const brought = broughtResults(turn, trace.n, state.pending);
  const retried = state.failed.findLast(({ tip, n }) => n === trace.n && tip === tipOf(turn));

  return {
    spans: [...root, ...events, llm, ...asked.map(({ span }) => span)],
    llm,
    asked,
    brought,
    retried,
    links: [
      ...asked.map(({ span }) => link('emits', turn, { ...llm, io: 'output' }, { ...span, io: 'input' })),
      ...brought.map(({ tool }) =>
        link('feeds', turn, { ...traceOf(state, tool), io: 'output' }, { ...llm, io: 'input' }),
      ),
      ...(retried ? [link('retry-of', turn, { ...llm, io: '' }, { ...retried, trace_id, io: '' })] : []),
    ],
    spent: { kind, model: model || 'unknown', usage, cost_usd: priced?.usd ?? null, price: priced?.price ?? null },
  };
}

/** What a retry would repeat: the call's last message. */
export const tipOf = ({ tip_hash }: CallTurn): string | null => (tip_hash === null ? null : headHash(tip_hash));

/** Where a waiting tool's span stands. A tool waits only while its trace is live. */
export const traceOf = (
  { live }: SessionState,
  { n, span_id }: PendingTool,
): { trace_id: string; span_id: string } => ({
  trace_id: live.find((trace) => trace.n === n)?.row.trace_id ?? '',
  span_id,
});
