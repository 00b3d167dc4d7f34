/** Turns that fill every field of a bucket: a conversation of each provider, the expected nodes, and their hashes worked out by hand. */
import { createHash } from 'node:crypto';
import type { Json } from './read-api.ts';

export const text = (words: string) => ({ type: 'text', text: words });
export const use = { type: 'tool_use', tool_use_id: 'call_1', tool_name: 'get_weather', tool_input: { city: 'Oslo' } };
export const result = { type: 'tool_result', tool_result_id: 'call_1', tool_output: '7 C, rain' };
const chatUse = { id: 'call_1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Oslo"}' } };
const openingMessages = [
  { role: 'system', content: 'Be brief' },
  { role: 'user', content: 'What is the weather?' },
];

/** A body for each call; `nodes` are the messages in their order. Text beside the messages (`system`, `instructions`) is no node. */
export const buckets: Record<string, { calls: object[]; nodes: [role: string, ...blocks: Json[]][] }> = {
  chat: {
    calls: [
      {
        request: { model: 'gpt-4o-mini', messages: openingMessages },
        response: { model: 'gpt-4o-mini-2024-07-18', message: { role: 'assistant', content: [use] } },
      },
      {
        request: {
          model: 'gpt-4o-mini',
          messages: [
            ...openingMessages,
            { role: 'assistant', content: null, tool_calls: [chatUse] },
            { role: 'tool', tool_call_id: 'call_1', content: '7 C, rain' },
          ],
        },
        response: { model: 'gpt-4o-mini-2024-07-18', message: { role: 'assistant', content: [text('It rains.')] } },
      },
    ].map((call) => ({ provider: 'openai', agent_name: 'weather-bot', ...call })),
    nodes: [
      ['system', text('Be brief')],
      ['user', text('What is the weather?')],
      ['assistant', use],
      ['tool', result],
      ['assistant', text('It rains.')],
    ],
  },
  messages: {
    calls: [
      {
        provider: 'anthropic',
        session: { harness_id: 'my-agent', harness_session_id: 'buckets' },
        request: { model: 'claude-sonnet-4-5', system: 'Be brief', messages: [{ role: 'user', content: 'Hello' }] },
        response: { message: { content: [text('Hi')] } },
      },
    ],
    nodes: [
      ['user', text('Hello')],
      ['assistant', text('Hi')],
    ],
  },
  responses: {
    calls: [
      {
        provider: 'openai',
        request: { model: 'gpt-5', instructions: 'Be brief', input: [{ role: 'developer', content: 'Be kind' }] },
        response: { message: { content: [text('Hi')] } },
      },
    ],
    nodes: [
      ['system', text('Be kind')],
      ['assistant', text('Hi')],
    ],
  },
  generate: {
    calls: [
      {
        provider: 'ollama',
        request: { model: 'llama3.2', system: 'Be brief', prompt: 'Hello' },
        response: { message: { content: [text('Hi')] } },
      },
    ],
    nodes: [
      ['user', text('Hello')],
      ['assistant', text('Hi')],
    ],
  },
};

/** Computed by hand: SHA-256 of RFC 8785 JSON, whose keys are sorted. */
export function hashOf(parent: string, role: string, blocks: Json[]): string {
  const sorted = (value: Json): Json => {
    if (typeof value !== 'object' || value === null) return value;
    const keys = Object.keys(value).sort();
    return Object.fromEntries(keys.map((key) => [key, sorted(value[key])]));
  };
  const projected = blocks.map((block) => sorted({ is_error: false, ...block }));
  const json = JSON.stringify({ content: { content: projected, role, type: 'message' }, parent });
  return createHash('sha256').update(json).digest('hex');
}
