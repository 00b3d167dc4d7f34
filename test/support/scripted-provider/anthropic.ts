/** Anthropic's format of a response: Messages, in one document and as named events; a cache is written, then read. Threads are remembered. */
import { namedEvents } from '../provider-streams.ts';
import { type Format, type Refused, tokensOf, weather, wordsIn } from './script.ts';

type Body = {
  model: string;
  stream?: boolean;
  messages: { role: string; content: unknown }[];
  thread?: { type: 'create' } | { type: 'continue'; previous_message_id: string };
};

const lastOf = ({ messages }: Body) => messages.at(-1)?.content;
const isAnswered = (body: Body) =>
  [lastOf(body)].flat().some((block) => (block as { type?: string })?.type === 'tool_result');

const threads = new Map<string, string[]>(); // the questions that led to an answer that is held, by its id
const earlierOf = ({ thread }: Body): string[] | undefined =>
  thread?.type === 'continue' ? threads.get(thread.previous_message_id) : [];

const refused = (status: number, type: string, message: string, details?: object): Refused => ({
  status,
  document: { type: 'error', error: { type, message, ...(details && { details }) }, request_id: 'req_scripted' },
});

export const anthropic: Format = {
  path: /\/messages$/,
  streamType: 'text/event-stream; charset=utf-8',
  parseRequest: (body) => ({
    question: wordsIn(lastOf(body as Body)),
    answered: isAnswered(body as Body),
    stream: (body as Body).stream === true,
    earlier: earlierOf(body as Body) ?? [],
  }),
  refusal(body) {
    if (earlierOf(body as Body)) return null;
    return refused(404, 'not_found_error', 'thread.previous_message_id: not found', { error_code: 'thread_not_found' });
  },
  answer(body, { says, callsTool }, id) {
    const { model, thread } = body as Body;
    const question = wordsIn(lastOf(body as Body));
    if (thread) threads.set(`msg_${id}`, [...(earlierOf(body as Body) ?? []), ...(question === '' ? [] : [question])]);
    const content = callsTool
      ? [
          { type: 'text', text: 'Let me look.' },
          { type: 'tool_use', id: `toolu_${id}`, name: 'get_weather', input: weather },
        ]
      : [{ type: 'text', text: says }];
    const input = isAnswered(body as Body)
      ? { input_tokens: 1200, cache_creation_input_tokens: 0, cache_read_input_tokens: 500 }
      : { input_tokens: 1000, cache_creation_input_tokens: 200, cache_read_input_tokens: 300 };
    const output_tokens = isAnswered(body as Body) ? 25 : 50;
    const end = { stop_reason: callsTool ? 'tool_use' : 'end_turn', stop_sequence: null };
    const message = { id: `msg_${id}`, type: 'message', role: 'assistant', model };
    return {
      document: { ...message, content, ...end, usage: { ...input, output_tokens } },
      stream: [
        {
          type: 'message_start',
          message: {
            ...message,
            content: [],
            stop_reason: null,
            stop_sequence: null,
            usage: { ...input, output_tokens: 1 },
          },
        },
        ...content.flatMap((block, index) => blockEvents(block, index)),
        { type: 'message_delta', delta: end, usage: { output_tokens } },
        { type: 'message_stop' },
      ].map((event) => namedEvents([event])),
    };
  },
  mishaps: {
    busy: refused(429, 'rate_limit_error', 'This request would exceed your rate limit'),
    refused: refused(400, 'invalid_request_error', 'messages: the question is malformed'),
    overloaded: refused(529, 'overloaded_error', 'Overloaded'),
  },
};

function blockEvents(block: { type: string; text?: string; input?: object }, index: number): { type: string }[] {
  const isText = block.type === 'text';
  const start = isText ? { type: 'text', text: '' } : { ...block, input: {} };
  const deltas = tokensOf(isText ? (block.text ?? '') : JSON.stringify(block.input)).map((piece) =>
    isText ? { type: 'text_delta', text: piece } : { type: 'input_json_delta', partial_json: piece },
  );
  const of = (type: string, rest: object = {}) => ({ type, index, ...rest });
  return [
    of('content_block_start', { content_block: start }),
    ...deltas.map((delta) => of('content_block_delta', { delta })),
    of('content_block_stop'),
  ];
}
