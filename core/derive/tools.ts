/** The tools that an answer requests, and the results that later calls deliver; joined by the provider's tool_use_id. */
import { SHELL } from '../harness/shell.ts';
import type { ContentBlock } from '../model/content-block.ts';
import { toolCallIn } from '../model/tool-call.ts';
import { isObject } from '../parse-json.ts';
import type { SpanPatch, SpanRow } from './changes.ts';
import { toolSpanId } from './ids.ts';
import { durationNs } from './instants.ts';
import { answeredAt, commandOf, toolSpan } from './spans.ts';
import type { PendingTool } from './state.ts';
import { storable } from './storable.ts';
import type { CallTurn } from './turn.ts';

export type ToolResult = Required<Pick<SpanPatch, 'status' | 'error_type' | 'ended_at' | 'duration_ns' | 'output'>>;

/** A tool's span before its result: what a rewind past the result restores. */
export const unanswered: ToolResult & { verdict: null } = {
  status: 'ok',
  error_type: '',
  ended_at: null,
  duration_ns: null,
  output: [],
  verdict: null,
};

/** A tool that an answer requests; `result` where the provider ran it itself. */
export type RequestedTool = { span: SpanRow; result: ToolResult | null };

/** `output`: the answer's content without the tools that have no span, which `omitted` counts. */
export type RequestedTools = { requested: RequestedTool[]; omitted: number; output: ContentBlock[] };

/**
 * A span for each tool that the answer requests, in order, up to `mostSteps`. A tool that the provider ran itself has its result in
 * the same answer.
 * @param seq of the first of them in the trace
 */
export function requestedTools(
  turn: CallTurn,
  parent: { trace_id: string; parent_span_id: string | null },
  seq: number,
): RequestedTools {
  const content = turn.reply?.content ?? [];
  const uses = content.flatMap((raw, index) => {
    const block = toolCallIn(raw);
    return block === null ? [] : [{ block, index }];
  });
  const results = serverResults(content);
  const seen = new Set<string>();
  const requested = uses.slice(0, mostSteps(turn)).map(({ block, index }, i) => {
    const id = block.tool_use_id ?? '';
    const ownId = id !== '' && !seen.has(id);
    seen.add(id);
    const span = toolSpan(turn, { ...parent, seq: seq + i }, toolSpanId(turn.call_id, id, ownId ? '' : index), block);
    const ranHere = ownId ? results.get(id)?.find(({ at }) => at > index)?.block : undefined;
    const result = ranHere ? toolResult(ranHere, span.started_at, answeredAt(turn)) : null;
    return { span: result ? { ...span, ...result } : span, result };
  });
  const omitted = new Set(uses.slice(requested.length).map(({ index }) => index));
  const output = omitted.size === 0 ? content : content.filter((_, index) => !omitted.has(index));
  return { requested, omitted: omitted.size, output };
}

const MOST_STEPS = 2_000;

/**
 * How many tools of one call are shown as steps, and how many injected messages; the call counts the others. A capture holds
 * untrusted bytes: without a bound one answer could become any number of rows. A transcript is bounded by the size of its file.
 */
export const mostSteps = ({ source }: CallTurn): number => (source === 'wire' ? MOST_STEPS : Number.POSITIVE_INFINITY);

/** The results in an answer by the id of their call, each with its index. */
function serverResults(content: readonly ContentBlock[]): Map<string, { block: ContentBlock; at: number }[]> {
  const results = new Map<string, { block: ContentBlock; at: number }[]>();
  for (const [at, block] of content.entries()) {
    if (block.tool_result_id === undefined || !isServerResult(block)) continue;
    const known = results.get(block.tool_result_id);
    if (known) known.push({ block, at });
    else results.set(block.tool_result_id, [{ block, at }]);
  }
  return results;
}

/** `isInput`: the call's request has it, and not its answer. */
export type DeliveredResult = { tool: PendingTool; result: ToolResult; isInput: boolean };

/**
 * Results that a call delivers, each with the span that waited for it: as fresh messages, and in its answer those of tools that the
 * provider ran for an answer before (platform.claude.com, "Server tools": it may stop between such a call and its result). The first
 * result of a tool wins.
 */
export function deliveredResults(turn: CallTurn, n: number, pending: readonly PendingTool[]): DeliveredResult[] {
  const waiting = waitingTools(pending, { n, thread_id: turn.thread_id });
  const deliver = (block: ContentBlock, isInput: boolean) => {
    const tool = waiting.take(storable(block.tool_result_id ?? ''), storable(block.tool_name ?? ''));
    const at = isInput ? turn.requested_at : answeredAt(turn);
    return tool ? [{ tool, result: toolResult(block, tool.started_at, at), isInput }] : [];
  };
  const returned = turn.fresh
    .filter((message) => message.injected === '')
    .flatMap(({ content }) => content)
    .filter(({ type }) => type === 'tool_result');
  return [
    ...returned.flatMap((block) => deliver(block, true)),
    ...earlierServerResults(turn.reply?.content ?? []).flatMap((block) => deliver(block, false)),
  ];
}

/** The results in an answer whose calls are not in it. */
function earlierServerResults(content: readonly ContentBlock[]): ContentBlock[] {
  const own = new Set(content.flatMap((block) => toolCallIn(block)?.tool_use_id ?? []));
  return content.filter((block) => isServerResult(block) && block.tool_result_id && !own.has(block.tool_result_id));
}

/** True when a tool's command commits or pushes with git. */
export const touchesGit = ({ kind, name, input }: SpanRow): boolean =>
  kind === 'tool' &&
  name === SHELL &&
  (commandOf(input[0]?.tool_input) ?? '')
    .split(/[|;&\n]/)
    .some((line) => GIT_WRITES.has(gitVerb(line.trim().split(/\s+/))));

const GIT_WRITES = new Set(['commit', 'push']);

/** The verb of a git command: its first word that is neither an option nor the value of `-C` or `-c`. */
function gitVerb(words: string[]): string {
  const rest = words.slice(words.indexOf('git') + 1);
  if (rest.length === words.length) return '';
  return rest.find((word, i) => !word.startsWith('-') && rest[i - 1] !== '-C' && rest[i - 1] !== '-c') ?? '';
}

/**
 * The tools that may get a result, looked up by id. A result belongs to the thread that requested the tool; in another thread it is
 * history. Some providers restart their ids in each answer: the trace's own tool is preferred, and the oldest among equals. Clients
 * of Ollama send the function's name with a result, though its call had an id; LangChain's sends no name, and sends results in the
 * order in which the last answer requested them. Clients that make up an id for a call without one name the function beside it.
 */
function waitingTools(pending: readonly PendingTool[], { n, thread_id }: { n: number; thread_id: string }) {
  const own = pending.filter((tool) => tool.thread_id === thread_id);
  const byId = setsBy(own, ({ tool_use_id }) => tool_use_id);
  const byName = setsBy(own, ({ tool_name }) => tool_name);
  const ofLastAnswer = new Set(own.filter(({ started_at }) => started_at === own.at(-1)?.started_at));
  return {
    take(id: string, name: string): PendingTool | undefined {
      const named = id === '' ? ofLastAnswer : (byName.get(id) ?? byName.get(name));
      const found = [...(byId.get(id) ?? named ?? [])];
      const tool = found.find((one) => one.n === n) ?? found[0];
      if (!tool) return undefined;
      ofLastAnswer.delete(tool);
      remove(byId, tool.tool_use_id, tool);
      remove(byName, tool.tool_name, tool);
      return tool;
    },
  };
}

function setsBy<T>(members: readonly T[], keyOf: (member: T) => string): Map<string, Set<T>> {
  const sets = new Map<string, Set<T>>();
  for (const member of members) sets.set(keyOf(member), (sets.get(keyOf(member)) ?? new Set<T>()).add(member));
  return sets;
}

/** Removes a member from its set, and a set that has become empty. */
function remove<T>(sets: Map<string, Set<T>>, key: string, member: T): void {
  const set = sets.get(key);
  set?.delete(member);
  if (set?.size === 0) sets.delete(key);
}

function toolResult(block: ContentBlock, started_at: string, delivered_at: string): ToolResult {
  const failed = block.is_error === true || isServerError(block.content);
  const ended_at = delivered_at > started_at ? delivered_at : started_at;
  return {
    status: failed ? 'error' : 'ok',
    error_type: failed ? 'tool_error' : '',
    ended_at,
    duration_ns: durationNs(started_at, ended_at),
    output: [block],
  };
}

const isServerResult = ({ type }: ContentBlock) => type.endsWith('tool_result');

function isServerError(content: unknown): boolean {
  const type = isObject(content) ? content.type : undefined;
  return typeof type === 'string' && type.endsWith('_error');
}
