/** OpenAI Chat Completions as they look on the wire, with the usage in a chunk of its own at the end of the stream. */
import { type DemoLine, type DemoUsage, type NumberedAnswer, pieces, toolCallId, type Wire } from './script.ts';

export const chatWire: Wire = {
  provider: 'openai',
  path: '/v1/chat/completions',
  contentType: 'text/event-stream; charset=utf-8',
  request: (script, history) => ({
    model: script.model,
    stream: true,
    stream_options: { include_usage: true },
    messages: [{ role: 'system', content: script.system }, ...history.flatMap((line) => messagesOf(script.slug, line))],
    ...(script.tools.length > 0 && {
      tools: script.tools.map((declared) => ({ type: 'function', function: declared })),
      tool_choice: 'auto',
    }),
  }),
  answer(answer, { slug, model, n, at, spent }) {
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
      chunk({ role: 'assistant', content: answer.text ? '' : null }),
      ...pieces(answer.text).map((content) => chunk({ content })),
      ...toolCalls(slug, answer).flatMap((call, index) => [
        chunk({ tool_calls: [{ index, ...call, function: { ...call.function, arguments: '' } }] }),
        ...pieces(call.function.arguments).map((piece) =>
          chunk({ tool_calls: [{ index, function: { arguments: piece } }] }),
        ),
      ]),
      chunk({}, finishReason(answer)),
      { ...head, choices: [], usage: chatUsage(spent) },
    ];
    return [...chunks.map((json) => JSON.stringify(json)), '[DONE]'].map((event) => `data: ${event}\n\n`).join('');
  },
  refusal: ({ type, message }) => JSON.stringify({ error: { message, type, param: null, code: null } }),
};

/** The answer as a message, in a request that repeats it or in an answer that is no stream. */
export function chatMessage(slug: string, answer: NumberedAnswer) {
  const tool_calls = toolCalls(slug, answer);
  return { role: 'assistant', content: answer.text || null, ...(tool_calls.length > 0 && { tool_calls }) };
}

export const finishReason = ({ uses }: NumberedAnswer) => (uses.length > 0 ? 'tool_calls' : 'stop');

export const chatUsage = ({ input, cached, output, reasoning }: DemoUsage) => ({
  prompt_tokens: input,
  completion_tokens: output,
  total_tokens: input + output,
  prompt_tokens_details: { cached_tokens: cached },
  completion_tokens_details: { reasoning_tokens: reasoning },
});

function messagesOf(slug: string, line: DemoLine): object[] {
  if (line.kind === 'asks') return [{ role: 'user', content: line.text }];
  return [
    chatMessage(slug, line),
    ...line.uses.map(({ result }, i) => ({
      role: 'tool',
      tool_call_id: toolCallId('call', slug, line.n, i),
      content: result,
    })),
  ];
}

const toolCalls = (slug: string, { uses, n }: NumberedAnswer) =>
  uses.map(({ tool, input }, i) => ({
    id: toolCallId('call', slug, n, i),
    type: 'function',
    function: { name: tool, arguments: JSON.stringify(input) },
  }));
