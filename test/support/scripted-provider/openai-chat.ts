/** OpenAI's format of a chat completion: one document, or nameless chunks with the usage in the last one. */
import { counted, openaiMishaps } from './openai.ts';
import { type Format, tokensOf, weather, wordsIn } from './script.ts';

type Body = { model: string; stream?: boolean; messages: { role: string; content: unknown }[] };

const isAnswered = ({ messages }: Body) => messages.at(-1)?.role === 'tool';

export const openaiChat: Format = {
  path: /\/chat\/completions$/,
  streamType: 'text/event-stream; charset=utf-8',
  parseRequest: (body) => ({
    question: wordsIn((body as Body).messages.at(-1)?.content),
    answered: isAnswered(body as Body),
    stream: (body as Body).stream === true,
    earlier: [],
  }),
  answer(body, { says, callsTool }, id) {
    const { input, cached, output } = counted(isAnswered(body as Body));
    const usage = {
      prompt_tokens: input,
      completion_tokens: output,
      total_tokens: input + output,
      prompt_tokens_details: { cached_tokens: cached },
    };
    const head = { id: `chatcmpl-${id}`, created: 1_795_000_000, model: (body as Body).model };
    const args = JSON.stringify(weather);
    const call = { id: `call_${id}`, type: 'function', function: { name: 'get_weather', arguments: args } };
    const message = callsTool
      ? { role: 'assistant', content: null, tool_calls: [call] }
      : { role: 'assistant', content: says, refusal: null };
    const finish_reason = callsTool ? 'tool_calls' : 'stop';
    const event = (rest: object) =>
      `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [], ...rest })}\n\n`;
    const chunk = (delta: object, finish_reason: string | null = null) =>
      event({ choices: [{ index: 0, delta, finish_reason }] });
    const named = { index: 0, ...call, function: { name: 'get_weather', arguments: '' } };
    return {
      document: {
        ...head,
        object: 'chat.completion',
        choices: [{ index: 0, message, finish_reason }],
        usage,
      },
      stream: [
        chunk({ role: 'assistant', content: callsTool ? null : '' }),
        ...(callsTool
          ? [
              chunk({ tool_calls: [named] }),
              ...tokensOf(args).map((piece) => chunk({ tool_calls: [{ index: 0, function: { arguments: piece } }] })),
            ]
          : tokensOf(says).map((content) => chunk({ content }))),
        chunk({}, finish_reason),
        event({ usage }),
        'data: [DONE]\n\n',
      ],
    };
  },
  mishaps: openaiMishaps,
};
