/** The rows of spans: one builder per kind of span. The fold decides on ids and positions. */
import { isShell } from '../harness/harnesses.ts';
import { SHELL } from '../harness/shell.ts';
import type { ContentBlock } from '../model/content-block.ts';
import { noUsage, type Usage } from '../model/usage.ts';
import { isObject } from '../parse-json.ts';
import type { Priced } from '../price/prices.ts';
import type { CallStatus } from './call-status.ts';
import type { LinkKind, LinkRow, SpanRow } from './changes.ts';
import { eventSpanId, llmSpanId } from './ids.ts';
import { durationNs, later } from './instants.ts';
import { plainText } from './plain-text.ts';
import { isSpokenIn } from './prompt.ts';
import type { Agent } from './state.ts';
import { storable } from './storable.ts';
import type { CallTurn, FreshMessage } from './turn.ts';

/** The position of a span: its trace, its parent, its number in the trace. */
export type SpanPosition = { trace_id: string; parent_span_id: string | null; seq: number };

/** The root span: the agent, for as long as the trace lasts. */
export const agentSpan = (turn: CallTurn, position: SpanPosition, span_id: string): SpanRow =>
  spanRow(turn, position, {
    span_id,
    kind: 'agent',
    name: 'main',
    thread_id: '', // whichever thread opens the trace
    started_at: turn.requested_at,
  });

/** The span of a sub-agent in a trace, for as long as its calls last. */
export const threadSpan = (turn: CallTurn, position: SpanPosition, agent: Agent): SpanRow =>
  spanRow(turn, position, {
    span_id: agent.span_id,
    thread_id: agent.thread_id,
    started_at: agent.started_at,
    kind: 'agent',
    ...agentWords(agent),
  });

/** The name and description of a sub-agent. Where it has none, its path in the tree of agents is used. */
export const agentWords = ({
  label,
  description,
  path,
}: Pick<Agent, 'label' | 'description' | 'path'>): Pick<SpanRow, 'name' | 'description'> => ({
  name: label || (path.split('/').at(-1) ?? '') || 'subagent',
  description: description || path,
});

/** What the caller knows of a call: whether it is priced, what its answer says besides the tools that have spans, and what was left out. */
export type CallResult = Pick<SpanRow, 'output' | 'verdict' | 'tool_calls_omitted' | 'events_omitted'> & {
  status: CallStatus;
  priced: Priced | null;
};

/** The span of the call itself, with what it added to the conversation. */
export function llmSpan(turn: CallTurn, position: SpanPosition, result: CallResult): SpanRow {
  const { status, priced, output } = result;
  const model = modelOf(turn);
  const inputs = turn.fresh
    .filter(isInput)
    .flatMap((message) =>
      message.content.filter(({ type }) => type !== 'tool_result').map((block) => ({ message, block })),
    );
  // Sums over spans count each call once, so a call that counts elsewhere has neither tokens nor costs; the provider's own usage object stays.
  const counts = turn.inherited_from === undefined;
  const input = inputs.map(({ block }) => block);
  const said_blocks = inputs.flatMap(({ message, block }, index) => (isSpokenIn(message, block) ? index : []));
  const error_message = errorMessage(turn);
  const [call_kind, inherited_from] = [turn.kind, turn.inherited_from ?? null];
  return spanRow(turn, position, {
    status: status.status,
    error_type: status.error_type,
    error_message,
    verdict: result.verdict,
    call_kind,
    inherited_from,
    input,
    output,
    said_blocks,
    plain_text: plainText({ call_kind, inherited_from, input, said_blocks, output, error_message }),
    tool_calls_omitted: result.tool_calls_omitted,
    events_omitted: result.events_omitted,
    span_id: llmSpanId(turn.call_id),
    kind: 'llm',
    name: model || 'llm',
    model,
    provider: turn.provider,
    stop_reason: turn.reply?.stop_reason ?? '',
    external_id: turn.reply?.response_id ?? '',
    started_at: turn.requested_at,
    first_byte_at: turn.first_byte_at,
    ended_at: turn.last_byte_at,
    duration_ns: durationNs(turn.requested_at, turn.last_byte_at),
    usage: counts ? (turn.reply?.usage ?? noUsage) : noUsage,
    usage_verbatim: turn.reply?.usage_verbatim ?? null,
    cost_usd: counts ? (priced?.usd ?? null) : null,
    price: counts ? (priced?.price ?? null) : null,
    node_hash: turn.leaf_hash,
  });
}

/** The span of context that a harness injected. */
export const eventSpan = (turn: CallTurn, position: SpanPosition, message: FreshMessage): SpanRow =>
  spanRow(turn, position, {
    span_id: eventSpanId(message.node_hash, turn.call_id),
    kind: 'event',
    call_kind: `injected:${message.injected}`,
    name: message.injected,
    started_at: turn.requested_at,
    ended_at: turn.requested_at,
    duration_ns: 0,
    input: message.content,
    node_hash: message.node_hash,
  });

/** The span of a tool, from the end of the answer that requested it. */
export const toolSpan = (turn: CallTurn, position: SpanPosition, span_id: string, block: ContentBlock): SpanRow =>
  spanRow(turn, position, {
    span_id,
    kind: 'tool',
    name: toolName(block),
    external_id: storable(block.tool_use_id ?? ''),
    started_at: answeredAt(turn),
    input: [block],
  });

export const link = (
  kind: LinkKind,
  { session_id }: CallTurn,
  from: { trace_id: string; span_id: string; io: LinkRow['from_io'] },
  to: { trace_id: string; span_id: string; io: LinkRow['to_io'] },
): LinkRow => ({
  session_id,
  kind,
  from_trace_id: from.trace_id,
  from_span_id: from.span_id,
  from_io: from.io,
  to_trace_id: to.trace_id,
  to_span_id: to.span_id,
  to_io: to.io,
});

/** The model that answered, else the one that was requested. */
export const modelOf = ({ reply, model }: CallTurn): string => storable(reply?.model || model);

/** When the answer was complete; never before the call, even if the clock went backwards. */
export const answeredAt = (turn: CallTurn): string => later(turn.requested_at, turn.last_byte_at) ?? turn.requested_at;

const LONGEST_MESSAGE = 4096;

/** The provider's message about its failure. */
const errorMessage = ({ reply }: CallTurn): string =>
  storable((reply?.error?.message ?? '').slice(0, LONGEST_MESSAGE).trim());

/** Shells of all harnesses are shown by one name. */
const toolName = ({ tool_name = '', tool_input }: ContentBlock) =>
  isShell(tool_name) && commandOf(tool_input) !== null ? SHELL : tool_name || 'tool';

/** The command line in a tool's input; null when it has none. */
export function commandOf(input: unknown): string | null {
  if (!isObject(input)) return null;
  const { command, cmd, commands } = input;
  const line = command ?? cmd;
  if (typeof line === 'string') return line;
  if (Array.isArray(line)) return line.filter((word) => typeof word === 'string').join(' ');
  return Array.isArray(commands) ? commands.filter((one) => typeof one === 'string').join('\n') : null;
}

const isInput = ({ role, injected }: FreshMessage) => (role === 'user' || role === 'system') && injected === '';

type OwnValues = Pick<SpanRow, 'span_id' | 'kind' | 'name' | 'started_at'> &
  Partial<Omit<SpanRow, keyof SpanPosition | keyof Usage | 'session_id' | 'raw_turn_id' | 'call_id'>> & {
    usage?: Usage;
  };

/** One literal: a row of so many members that is spread from parts costs more than all the rest of a small call's fold. */
const spanRow = (turn: CallTurn, position: SpanPosition, own: OwnValues): SpanRow => {
  const usage = own.usage ?? noUsage;
  return {
    trace_id: position.trace_id,
    span_id: own.span_id,
    session_id: turn.session_id,
    parent_span_id: position.parent_span_id,
    seq: position.seq,
    kind: own.kind,
    call_kind: own.call_kind ?? '',
    name: own.name,
    thread_id: own.thread_id ?? turn.thread_id,
    status: own.status ?? 'ok',
    error_type: own.error_type ?? '',
    error_message: own.error_message ?? '',
    model: own.model ?? '',
    provider: own.provider ?? '',
    stop_reason: own.stop_reason ?? '',
    external_id: own.external_id ?? '',
    started_at: own.started_at,
    first_byte_at: own.first_byte_at ?? null,
    ended_at: own.ended_at ?? null,
    duration_ns: own.duration_ns ?? null,
    input: own.input ?? [],
    output: own.output ?? [],
    said_blocks: own.said_blocks ?? [],
    plain_text: own.plain_text ?? null,
    verdict: own.verdict ?? null,
    tool_calls_omitted: own.tool_calls_omitted ?? 0,
    events_omitted: own.events_omitted ?? 0,
    description: own.description ?? '',
    totals: own.totals ?? null,
    usage_verbatim: own.usage_verbatim ?? null,
    cost_usd: own.cost_usd ?? null,
    price: own.price ?? null,
    input_tokens: usage.input_tokens,
    output_tokens: usage.output_tokens,
    cache_read_tokens: usage.cache_read_tokens,
    cache_write_5m_tokens: usage.cache_write_5m_tokens,
    cache_write_1h_tokens: usage.cache_write_1h_tokens,
    reasoning_tokens: usage.reasoning_tokens,
    raw_turn_id: turn.raw_turn_id,
    call_id: turn.source === 'transcript' ? turn.call_id : '',
    node_hash: own.node_hash ?? null,
    inherited_from: own.inherited_from ?? turn.inherited_from ?? null,
  };
};
