/** Claude Code's tools that change its session: those that start sub-agents, and those that keep lists of tasks. */
import type { ContentBlock } from '../model/content-block.ts';
import { fields, text } from '../provider/json.ts';
import type { SpawnRequest, Task } from './harness.ts';
import { resultText } from './message-text.ts';
import { bounded, task, wholeList } from './tasks.ts';

type ToolRequest = { tool_name: string; tool_input: unknown };

/** The spawning tool is `Agent`, which was `Task` before. */
export function spawn({ tool_name, tool_input }: ToolRequest): SpawnRequest | null {
  if (tool_name !== 'Agent' && tool_name !== 'Task') return null;
  const { prompt, subagent_type, description } = fields(tool_input);
  if (typeof prompt !== 'string') return null;
  return { prompt, label: text(subagent_type), description: text(description) };
}

/** The last line `agentId: …` of the result: the text before it is the sub-agent's own and may have such lines too. */
export function spawned(result: ContentBlock): string[] {
  const lines = resultText(result).matchAll(/^agentId:[ \t]*([\w-]{1,256})/gm);
  const id = [...lines].at(-1)?.[1];
  return id === undefined ? [] : [id];
}

/** `TodoWrite` writes the whole list; `TaskCreate`'s result gives the new task a number, by which `TaskUpdate` changes it. */
export function tasksAfter(
  tasks: readonly Task[],
  { tool_name, tool_input }: ToolRequest,
  result: ContentBlock,
): Task[] | null {
  const change = changes.get(tool_name);
  return change ? (result.is_error ? [...tasks] : change(tasks, fields(tool_input), resultText(result))) : null;
}

type Change = (tasks: readonly Task[], input: Record<string, unknown>, output: string) => Task[];

const changes = new Map<string, Change>([
  ['TodoWrite', (tasks, { todos }) => wholeList(todos, 'content') ?? [...tasks]],
  ['TaskCreate', created],
  ['TaskUpdate', updated],
]);

function created(tasks: readonly Task[], { subject }: Record<string, unknown>, output: string): Task[] {
  const id = /#(\d{1,9})/.exec(output)?.[1];
  if (id === undefined) return [...tasks];
  return bounded([...tasks.filter((known) => known.id !== id), task(id, text(subject), '')]);
}

function updated(tasks: readonly Task[], input: Record<string, unknown>): Task[] {
  const id = typeof input.taskId === 'number' ? String(input.taskId) : text(input.taskId).replace(/^#/, '');
  if (input.status === 'deleted') return tasks.filter((known) => known.id !== id);
  return tasks.map((known) =>
    known.id === id ? task(id, text(input.subject) || known.subject, text(input.status) || known.status) : known,
  );
}
