/** Calls with the usage that a provider reports, for tests that count a bill by hand. The number `n` of a call is also its second. */
import type { JournalCall } from '../../core/capture/journal-format.ts';
import type { HeaderList } from '../../core/model/headers.ts';
import { type CallLike, capturedCall } from './captured-calls.ts';

type Message = { role: string; content: unknown };
export const user = (content: unknown): Message => ({ role: 'user', content });
export const assistant = (content: unknown): Message => ({ role: 'assistant', content });
export const uses = (id: string, name: string, input: object) => ({ type: 'tool_use', id, name, input });
export const brings = (id: string, content: string) => ({ type: 'tool_result', tool_use_id: id, content });

/** As Anthropic counts: `fresh` is neither read from the cache nor written to it. */
type ClaudeUsage = { fresh: number; read?: number; write_5m?: number; write_1h?: number; output: number };

type ClaudeCall = {
  n: number;
  session: string;
  thread?: string;
  model?: string;
  version?: string;
  system?: string;
  max_tokens?: number;
  says: Message[];
  answers: string | object[];
  usage: ClaudeUsage;
  headers?: HeaderList;
};

/** A call of Claude Code's, as it names its session and its thread. */
export function claudeCall({
  n,
  session,
  thread,
  model = 'claude-sonnet-4-5',
  version = '2.1.197',
  system = 'You are an agent',
  max_tokens = 1024,
  says,
  answers,
  usage,
  headers = [],
}: ClaudeCall): JournalCall {
  const content = typeof answers === 'string' ? [{ type: 'text', text: answers }] : answers;
  const { fresh, read = 0, write_5m = 0, write_1h = 0, output } = usage;
  return capturedCall({
    n,
    format: 'anthropic.messages',
    headers: [
      ['user-agent', `claude-cli/${version} (external, cli)`],
      ['x-claude-code-session-id', session],
      ...(thread ? [['x-claude-code-agent-id', thread] as [string, string]] : []),
      ...headers,
    ],
    request: { model, max_tokens, system, messages: says },
    response: JSON.stringify({
      ...{ id: `msg_${n}`, type: 'message', role: 'assistant', model, content },
      stop_reason: content.some((block) => 'type' in block && block.type === 'tool_use') ? 'tool_use' : 'end_turn',
      usage: {
        input_tokens: fresh,
        cache_read_input_tokens: read,
        cache_creation_input_tokens: write_5m + write_1h,
        cache_creation: { ephemeral_5m_input_tokens: write_5m, ephemeral_1h_input_tokens: write_1h },
        output_tokens: output,
      },
    }),
  });
}

type ChatCall = {
  n: number;
  model?: string;
  says: Message[];
  answers: string;
  usage: { prompt: number; cached?: number; completion: number; reasoning?: number };
} & Pick<CallLike, 'headers' | 'client'>;

/** A call of Chat Completions, by default of a client that names no session. */
export function chatCall({ n, model = 'gpt-5', says, answers, usage, ...more }: ChatCall): JournalCall {
  const { prompt, cached = 0, completion, reasoning = 0 } = usage;
  return capturedCall({
    n,
    ...more,
    request: { model, messages: says },
    response: JSON.stringify({
      ...{ id: `chatcmpl-${n}`, object: 'chat.completion', model },
      choices: [{ index: 0, message: { role: 'assistant', content: answers }, finish_reason: 'stop' }],
      usage: {
        prompt_tokens: prompt,
        completion_tokens: completion,
        prompt_tokens_details: { cached_tokens: cached },
        completion_tokens_details: { reasoning_tokens: reasoning },
      },
    }),
  });
}
