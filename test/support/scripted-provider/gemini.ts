/** Gemini's format of an answer: one document, or events that are documents of the same form. What is streamed is decided by the path. */
import { type Answer, type Format, type Mishap, type Refused, type ScriptedLine, tokensOf, weather } from './script.ts';

type Part = { text?: string; functionResponse?: object };
type Body = { contents: { role?: string; parts: Part[] }[] };

const lastParts = ({ contents }: Body): Part[] => contents.at(-1)?.parts ?? [];
const isAnswered = (body: Body) => lastParts(body).some(({ functionResponse }) => functionResponse !== undefined);

const refused = (code: number, status: string, message: string): Refused => ({
  status: code,
  document: { error: { code, message, status } },
});

const mishaps: Record<Mishap, Refused> = {
  busy: refused(429, 'RESOURCE_EXHAUSTED', 'Resource has been exhausted (e.g. check quota).'),
  refused: refused(400, 'INVALID_ARGUMENT', 'The question is malformed'),
  overloaded: refused(503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.'),
};

const format = (method: string, stream: boolean): Format => ({
  path: new RegExp(`/models/[^/]+:${method}$`),
  streamType: 'text/event-stream',
  parseRequest: (body) => ({
    question: lastParts(body as Body)
      .flatMap(({ text }) => text ?? [])
      .join('\n'),
    answered: isAnswered(body as Body),
    stream,
    earlier: [],
  }),
  answer: (body, line, id) => answerOf(isAnswered(body as Body), line, id),
  mishaps,
});

/** Both of its paths. */
export const gemini: Format[] = [format('generateContent', false), format('streamGenerateContent', true)];

function answerOf(follows: boolean, { says, callsTool }: ScriptedLine, id: string): Answer {
  const [prompt, cached, candidates, thoughts] = follows ? [1100, 1000, 20, 0] : [1000, 400, 30, 10];
  const usageMetadata = {
    promptTokenCount: prompt,
    cachedContentTokenCount: cached,
    candidatesTokenCount: candidates,
    thoughtsTokenCount: thoughts,
    totalTokenCount: prompt + candidates + thoughts,
    promptTokensDetails: [{ modality: 'TEXT', tokenCount: prompt }],
  };
  const head = { modelVersion: 'gemini-2.5-flash', responseId: id };
  const thought = { text: 'The weather is asked for.', thought: true };
  const call = { functionCall: { name: 'get_weather', args: weather }, thoughtSignature: 'c2lnbmVk' };
  const chunk = (parts: object[], finishReason?: string) => ({
    candidates: [{ content: { parts, role: 'model' }, ...(finishReason && { finishReason }), index: 0 }],
    usageMetadata,
    ...head,
  });
  const streamed = callsTool ? [thought, call] : tokensOf(says).map((text) => ({ text }));
  return {
    document: chunk(callsTool ? [thought, call] : [{ text: says }], 'STOP'),
    stream: streamed
      .map((part, n) => chunk([part], n === streamed.length - 1 ? 'STOP' : undefined))
      .map((document) => `data: ${JSON.stringify(document)}\r\n\r\n`),
  };
}
