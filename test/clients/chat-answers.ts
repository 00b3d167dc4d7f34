/** How does the shell's provider answer a chat completion? With a call of `bash`, with what it printed, by a sub-agent, or with a title. */
import type { ServerResponse } from 'node:http';
import { chunkEvents } from '../support/provider-streams.ts';
import { ANSWER, COMMAND } from './shell-words.ts';

/** What a client without tools asks for: a name for what was said. */
export const TITLE = 'Six times seven';
/** A prompt with these words is handed on to a sub-agent, which asks the shell. */
export const BY_SUB_AGENT = 'Let a sub-agent find out';
/** What the sub-agent is told. */
export const ERRAND = 'What is six times seven? Ask the shell.';

type Message = { role?: string; content?: unknown };
export type ChatRequest = {
  model?: string;
  stream?: boolean;
  messages?: Message[];
  tools?: { function?: { name?: string } }[];
};

const USAGE = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };

export function chatAnswer(
  response: ServerResponse,
  { model, stream, messages = [], tools = [] }: ChatRequest,
  id: string,
): void {
  const head = { id: `chatcmpl-${id}`, created: 1_795_000_000, model };
  const reply = answerTo(messages, tools.length > 0, id);
  const finish_reason = 'tool_calls' in reply ? 'tool_calls' : 'stop';
  response.writeHead(200, { 'content-type': stream ? 'text/event-stream' : 'application/json' });
  if (!stream) {
    const choices = [{ index: 0, message: { role: 'assistant', content: null, ...reply }, finish_reason }];
    response.end(JSON.stringify({ ...head, object: 'chat.completion', choices, usage: USAGE }));
    return;
  }
  const chunk = { ...head, object: 'chat.completion.chunk' };
  const delta = { role: 'assistant', ...reply };
  response.end(
    chunkEvents([
      { ...chunk, choices: [{ index: 0, delta, finish_reason: null }] },
      { ...chunk, choices: [{ index: 0, delta: {}, finish_reason }] },
      { ...chunk, choices: [], usage: USAGE },
    ]),
  );
}

function answerTo(messages: readonly Message[], hasTools: boolean, id: string): object {
  if (!hasTools) return { content: TITLE };
  const last = messages.at(-1);
  if (last?.role === 'tool')
    return { content: JSON.stringify(last.content).includes('made of 42') ? ANSWER : 'Nothing.' };
  const handsOn = JSON.stringify(last?.content).includes(BY_SUB_AGENT);
  const call = handsOn
    ? { name: 'task', arguments: { description: 'Multiply', prompt: ERRAND, subagent_type: 'general' } }
    : { name: 'bash', arguments: { command: COMMAND, description: 'Multiply' } };
  const named = { name: call.name, arguments: JSON.stringify(call.arguments) };
  return { tool_calls: [{ index: 0, id: `call_${id}`, type: 'function', function: named }] };
}
