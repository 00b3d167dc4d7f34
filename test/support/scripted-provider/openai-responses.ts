/** OpenAI's Responses format and its memory: the responses by id, and the questions of each conversation. */
import { namedEvents } from '../provider-streams.ts';
import { type ResponseDocument, responseEvents } from '../responses-streams.ts';
import { counted, openaiError, openaiMishaps } from './openai.ts';
import { type Format, idOf, weather, wordsIn } from './script.ts';

type Item = { type?: string; content?: unknown };
type Body = {
  model: string;
  stream?: boolean;
  input: string | Item[];
  previous_response_id?: string | null;
  conversation?: string | { id: string } | null;
};

const isOutput = (item: Item | undefined) => item?.type === 'function_call_output';
const lastOf = ({ input }: Body): Item | undefined =>
  typeof input === 'string' ? { type: 'message', content: input } : input.at(-1);
const conversationOf = ({ conversation }: Body) =>
  typeof conversation === 'string' ? conversation : (conversation?.id ?? '');

/** Both of its paths, over one memory. Making a conversation anew empties it. */
export function openaiResponses(): [responses: Format, conversations: Format] {
  const answered = new Map<string, string[]>(); // the questions that led to a response
  const conversations = new Map<string, string[]>();
  const earlierOf = (body: Body) =>
    conversations.get(conversationOf(body)) ?? answered.get(body.previous_response_id ?? '') ?? [];
  const parseRequest = (body: Body) => ({
    question: wordsIn(lastOf(body)?.content),
    answered: isOutput(lastOf(body)),
    stream: body.stream === true,
    earlier: earlierOf(body),
  });
  const responses: Format = {
    path: /\/responses$/,
    streamType: 'text/event-stream; charset=utf-8',
    parseRequest: (body) => parseRequest(body as Body),
    refusal(body) {
      const { previous_response_id: id } = body as Body;
      if (typeof id !== 'string' || answered.has(id)) return null;
      const message = `Previous response with id '${id}' not found.`;
      return openaiError(400, 'invalid_request_error', 'previous_response_not_found', message);
    },
    answer(raw, { says, callsTool }, id) {
      const body = raw as Body;
      const { question, earlier, answered: isAnswered } = parseRequest(body);
      const questions = question === '' ? earlier : [...earlier, question];
      answered.set(`resp_${id}`, questions);
      if (conversations.has(conversationOf(body))) conversations.set(conversationOf(body), questions);

      const { input, cached, output } = counted(isAnswered || earlier.length > 0);
      const document: ResponseDocument = {
        id: `resp_${id}`,
        object: 'response',
        created_at: 1_795_000_000,
        status: 'completed',
        error: null,
        incomplete_details: null,
        model: body.model,
        previous_response_id: body.previous_response_id ?? null,
        output: callsTool ? [reasoning(id), functionCall(id)] : [message(id, says)],
        usage: {
          input_tokens: input,
          input_tokens_details: { cached_tokens: cached },
          output_tokens: output,
          output_tokens_details: { reasoning_tokens: callsTool ? 10 : 0 },
          total_tokens: input + output,
        },
      };
      return { document, stream: responseEvents(document).map((event) => namedEvents([event])) };
    },
    mishaps: openaiMishaps,
  };
  return [responses, { ...responses, ...makingOf(conversations) }];
}

/** POST …/conversations. The same metadata make the same conversation, begun anew. */
const makingOf = (
  conversations: Map<string, string[]>,
): Required<Pick<Format, 'path' | 'parseRequest' | 'answer' | 'refusal'>> => ({
  path: /\/conversations$/,
  parseRequest: () => ({ question: '', answered: false, stream: false, earlier: [] }),
  answer(body) {
    const id = `conv_${idOf(JSON.stringify(body))}`;
    conversations.set(id, []);
    return { document: { id, object: 'conversation', created_at: 1_795_000_000, metadata: {} }, stream: [] };
  },
  refusal: () => null,
});

const reasoning = (id: string) => ({
  id: `rs_${id}`,
  type: 'reasoning',
  summary: [{ type: 'summary_text', text: 'The weather is asked for.' }],
  encrypted_content: `sealed-${id}`,
});

const functionCall = (id: string) => ({
  id: `fc_${id}`,
  type: 'function_call',
  status: 'completed',
  call_id: `call_${id}`,
  name: 'get_weather',
  arguments: JSON.stringify(weather),
});

const message = (id: string, text: string) => ({
  id: `msg_${id}`,
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
});
