/** How do OpenAI Chat Completions look on the wire? With the usage in a chunk of its own at the end of the stream. */
import { type Answered, type DemoLine, type DemoUsage, pieces, toolCallId, type Wire } from './script.ts';

export const chatWire: Wire = {
  provider: 'openai',
  path: '/v1/chat/completions',
  contentType: 'text/event-stream; charset=utf-8',
  request: (script, history) => ({
    model: script.model,
    stream: true,
    stream_options: { include_usage: true },
    messages: [{ role: 'system', content: script.system }, ...history.flatMap((said) => messagesOf(script.slug, said))],
    ...(script.tools.length > 0 && {
      tools: script.tools.map((declared) => ({ type: 'function', function: declared })),
      tool_choice: 'auto',
    }),
  }),
  answer(said, { slug, model, n, at, spent }) {
    const head = {
      id: `chatcmpl-demo-${slug}-${n}`,
      object: 'chat.completion.chunk',
      created: Math.floor(at.getTime() / 1000),
      model,
    };
    const chunk = (delta: object, finish_reason: string | null = null) => ({
      ...head,
      choices: [{ index: 0, delta, finish_reason }],
    });
    const chunks = [
      chunk({ role: 'assistant', content: said.text ? '' : null }),
      ...pieces(said.text).map((content) => chunk({ content })),
      ...toolCalls(slug, said).flatMap((call, index) => [
        chunk({ tool_calls: [{ index, ...call, function: { ...call.function, arguments: '' } }] }),
        ...pieces(call.function.arguments).map((piece) =>
          chunk({ tool_calls: [{ index, function: { arguments: piece } }] }),
        ),
      ]),
      chunk({}, finishReason(said)),
      { ...head, choices: [], usage: chatUsage(spent) },
    ];
    return [...chunks.map((json) => JSON.stringify(json)), '[DONE]'].map((event) => `data: ${event}\n\n`).join('');
  },
  refusal: ({ type, message }) => JSON.stringify({ error: { message, type, param: null, code: null } }),
};

/** The answer as a message, in a request that repeats it or in an answer that is no stream. */
export function chatMessage(slug: string, said: Answered) {
  const tool_calls = toolCalls(slug, said);
  return { role: 'assistant', content: said.text || null, ...(tool_calls.length > 0 && { tool_calls }) };
}

export const finishReason = ({ uses }: Answered) => (uses.length > 0 ? 'tool_calls' : 'stop');

export const chatUsage = ({ input, cached, output, reasoning }: DemoUsage) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  prompt_tokens_details: { cached_tokens: cached },
  completion_tokens_details: { reasoning_tokens: reasoning },
});

function messagesOf(slug: string, said: DemoLine): object[] {
  if (said.kind === 'asks') return [{ role: 'user', content: said.text }];
  return [
    chatMessage(slug, said),
    ...said.uses.map(({ result }, i) => ({
      role: 'tool',
      tool_call_id: toolCallId('call', slug, said.n, i),
      content: result,
    })),
  ];
}

const toolCalls = (slug: string, { uses, n }: Answered) =>
  uses.map(({ tool, input }, i) => ({
    id: toolCallId('call', slug, n, i),
    type: 'function',
    function: { name: tool, arguments: JSON.stringify(input) },
  }));
