/** Which tools did an answer ask for, and which call brought their results? Joined by the provider's tool_use_id. */
import type { ContentBlock } from '../model/content-block.ts';
import type { SpanPatch, SpanRow } from './changes.ts';
import { toolSpanId } from './ids.ts';
import { durationNs } from './instants.ts';
import { answeredAt, commandOf, toolSpan } from './spans.ts';
import type { PendingTool } from './state.ts';
import { storable } from './storable.ts';
import type { CallTurn } from './turn.ts';

export type ToolResult = Required<Pick<SpanPatch, 'status' | 'error_type' | 'ended_at' | 'duration_ns' | 'output'>>;

/** A span as it stands before its result: what a rewind past the result puts back. */
export const unanswered: ToolResult & { verdict: null } = {
  status: 'ok',
  error_type: '',
  ended_at: null,
  duration_ns: null,
  output: [],
  verdict: null,
};

/**
 * A span for each tool that the answer asks for, in order. What the provider ran itself has its result in the same answer.
 * @param seq number in the trace of the first of them
 */
export function askedTools(
  turn: CallTurn,
  place: { trace_id: string; parent_span_id: string | null },
  seq: number,
): { span: SpanRow; result: ToolResult | null }[] {
  const content = turn.reply?.content ?? [];
  const uses = content.flatMap((block, index) => (isToolUse(block) ? [{ block, index }] : []));
  const seen = new Set<string>();
  return uses.map(({ block, index }, i) => {
    const id = block.tool_use_id ?? '';
    const ownId = id !== '' && !seen.has(id);
    seen.add(id);
    const span = toolSpan(turn, { ...place, seq: seq + i }, toolSpanId(turn.call_id, id, ownId ? '' : index), block);
    const ranHere = ownId
      ? content.find((other, at) => at > index && isServerResult(other) && other.tool_result_id === id)
      : undefined;
    const result = ranHere ? toolResult(ranHere, span.started_at, answeredAt(turn)) : null;
    return { span: result ? { ...span, ...result } : span, result };
  });
}

/** Results that a call brings as fresh messages, each with the span that waited for it. The first result of a tool wins. */
export function broughtResults(
  turn: CallTurn,
  n: number,
  pending: readonly PendingTool[],
): { tool: PendingTool; result: ToolResult }[] {
  const waiting = new Set(pending);
  return turn.fresh
    .filter((message) => message.injected === '')
    .flatMap(({ content }) => content)
    .flatMap((block) => {
      if (block.type !== 'tool_result') return [];
      const tool = waitingFor(waiting, storable(block.tool_result_id ?? ''), { n, thread_id: turn.thread_id });
      if (!tool) return [];
      waiting.delete(tool);
      return [{ tool, result: toolResult(block, tool.started_at, turn.requested_at) }];
    });
}

/** True when a tool's command commits or pushes with git. */
export const touchesGit = ({ kind, name, input }: SpanRow): boolean =>
  kind === 'tool' &&
  name === 'Bash' &&
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
 * A result comes back to the thread that asked; in another one it is history. Some providers number their ids anew in each answer: the
 * trace's own tool is preferred, and the oldest among equals. Clients of Ollama name the function whose result they bring, though its
 * call had an id.
 */
function waitingFor(
  waiting: ReadonlySet<PendingTool>,
  id: string,
  { n, thread_id }: { n: number; thread_id: string },
): PendingTool | undefined {
  const own = [...waiting].filter((tool) => tool.thread_id === thread_id);
  const byId = own.filter((tool) => tool.tool_use_id === id);
  const found = byId.length > 0 ? byId : own.filter((tool) => id !== '' && tool.tool_name === id);
  return found.find((tool) => tool.n === n) ?? found[0];
}

function toolResult(block: ContentBlock, started_at: string, brought_at: string): ToolResult {
  const failed = block.is_error === true || isServerError(block.content);
  const ended_at = brought_at > started_at ? brought_at : started_at;
  return {
    status: failed ? 'error' : 'ok',
    error_type: failed ? 'tool_error' : '',
    ended_at,
    duration_ns: durationNs(started_at, ended_at),
    output: [block],
  };
}

const isToolUse = ({ type }: ContentBlock) => type === 'tool_use' || type === 'server_tool_use';
const isServerResult = ({ type }: ContentBlock) => type.endsWith('tool_result');

function isServerError(content: unknown): boolean {
  const type = isObject(content) ? content.type : undefined;
  return typeof type === 'string' && type.endsWith('_error');
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
