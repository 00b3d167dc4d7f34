/** Ollama's format of a response: one document or JSON lines, with the usage in the last one. Without a question a model is loaded. */
import { ndjson } from '../ollama-streams.ts';
import { type Answer, type Format, type Mishap, type Refused, tokensOf, weather, wordsIn } from './script.ts';

type ChatBody = { model: string; stream?: boolean; messages?: { role: string; content: string }[] };
type GenerateBody = { model: string; stream?: boolean; prompt?: string };

const created_at = '2026-11-21T09:00:00.000000Z';
const streamType = 'application/x-ndjson';

const mishaps: Record<Mishap, Refused> = {
  busy: { status: 503, document: { error: 'server busy, please try again.  maximum pending requests exceeded' } },
  refused: { status: 400, document: { error: 'the question is malformed' } },
  overloaded: { status: 500, document: { error: 'llama runner process has terminated: exit status 2' } },
};

const figures = (prompt_eval_count: number, eval_count: number) => ({
  total_duration: 5_043_500_667,
  load_duration: 5_025_959,
  prompt_eval_count,
  prompt_eval_duration: 325_953_000,
  eval_count,
  eval_duration: 4_709_213_000,
});

const isAnswered = ({ messages }: ChatBody) => messages?.at(-1)?.role === 'tool';

export const ollamaChat: Format = {
  path: /\/api\/chat$/,
  streamType,
  parseRequest: (body) => ({
    question: wordsIn((body as ChatBody).messages?.at(-1)?.content),
    answered: isAnswered(body as ChatBody),
    stream: (body as ChatBody).stream !== false,
    earlier: [],
  }),
  answer(body, { says, callsTool }) {
    const { model, messages = [] } = body as ChatBody;
    const silent = { role: 'assistant', content: '' };
    if (messages.length === 0) return loaded({ model, message: silent });
    const tool_calls = [{ function: { name: 'get_weather', arguments: weather } }];
    const thoughts = ['The weather ', 'is asked for.'];
    const parts = callsTool
      ? [...thoughts.map((thinking) => ({ ...silent, thinking })), { ...silent, tool_calls }]
      : tokensOf(says).map((content) => ({ ...silent, content }));
    const whole = callsTool ? { ...silent, thinking: thoughts.join(''), tool_calls } : { ...silent, content: says };
    return framed(
      model,
      parts.map((message) => ({ message })),
      { message: whole },
      { message: silent, ...(isAnswered(body as ChatBody) ? figures(60, 9) : figures(26, 12)) },
    );
  },
  mishaps,
};

export const ollamaGenerate: Format = {
  path: /\/api\/generate$/,
  streamType,
  parseRequest: (body) => ({
    question: (body as GenerateBody).prompt ?? '',
    answered: false,
    stream: (body as GenerateBody).stream !== false,
    earlier: [],
  }),
  answer(body, { says }) {
    const { model, prompt = '' } = body as GenerateBody;
    if (prompt === '') return loaded({ model, response: '' });
    return framed(
      model,
      tokensOf(says).map((response) => ({ response })),
      { response: says },
      { response: '', context: [1, 2, 3], ...figures(26, 12) },
    );
  },
  mishaps,
};

function framed(model: string, parts: readonly object[], whole: object, last: object): Answer {
  const head = { model, created_at };
  const end = { done: true, done_reason: 'stop' };
  return {
    document: { ...head, ...last, ...whole, ...end },
    stream: [...parts.map((piece) => ({ ...head, ...piece, done: false })), { ...head, ...last, ...end }].map((line) =>
      ndjson([line]),
    ),
  };
}

function loaded({ model, ...silent }: { model: string; [silent: string]: unknown }): Answer {
  const document = { model, created_at, ...silent, done: true, done_reason: 'load' };
  return { document, stream: [ndjson([document])] };
}
