/** The tasks of a session, as the results of task tools leave them. */
import type { Task } from '../harness/harness.ts';
import { tasksAfter } from '../harness/harnesses.ts';
import type { SpanRow } from './changes.ts';
import type { RequestedTask, SessionState } from './state.ts';
import type { ToolResult } from './tools.ts';
import type { CallTurn } from './turn.ts';

const LONGEST = 20_000;

/** A sample result with what any task tool waits for: the number of a task. */
const ANY = { type: 'tool_result', tool_output: '#1' };

/** The waiting tools of the main thread that may change its tasks: their input is needed again when the result arrives. */
export const taskTools = (
  { tasks }: SessionState,
  { kind, thread_id, identity }: CallTurn,
  waiting: readonly SpanRow[],
  n: number,
): RequestedTask[] =>
  waiting.flatMap(({ span_id, input: [block] }) => {
    if (kind !== 'main' || thread_id !== '' || !block) return [];
    const { tool_name = '', tool_input = null } = block;
    const changes = tasksAfter(identity.harness_id, tasks, { tool_name, tool_input }, ANY) !== null;
    return changes && JSON.stringify(tool_input).length <= LONGEST ? [{ n, span_id, tool_input }] : [];
  });

/** The tasks after the results that were delivered. */
export const tasksWith = (
  { tasks, tasks_asked }: SessionState,
  { identity }: CallTurn,
  delivered: readonly { tool: { span_id: string; tool_name: string }; result: ToolResult }[],
): Task[] =>
  delivered.reduce<Task[]>((known, { tool: { span_id, tool_name }, result }) => {
    const request = tasks_asked.find((one) => one.span_id === span_id);
    const [block] = result.output;
    if (!request || !block || result.status !== 'ok') return known;
    const next = tasksAfter(identity.harness_id, known, { tool_name, tool_input: request.tool_input }, block);
    return next ? next.map((task) => marked(task, known, span_id)) : known;
  }, tasks);

/** With the tool that made it what it is: this one, or where it says the same as before, the one before. */
function marked({ id, subject, status }: Task, before: readonly Task[], span_id: string): Task {
  const same = before.find((task) => task.id === id && task.subject === subject && task.status === status);
  return { id, subject, status, changed_by: same?.changed_by ?? span_id };
}
