/** The official clients in a conversation. All have one interface here, so that each gets the same questions and its bytes can be compared. */
import Anthropic from '@anthropic-ai/sdk';
import { type Content, GoogleGenAI, type Part } from '@google/genai';
import type { Message as OllamaMessage, Tool as OllamaTool } from 'ollama';
import { Ollama } from 'ollama';
import OpenAI from 'openai';

/** An answer as the client's `fetch` got it; `bytes` grow until its end, or until it breaks off. */
export type Kept = { status: number; headers: Record<string, string | null>; bytes: string };

export type Conversation = {
  /** The text of the answer; after a tool call, that of the answer to its result. A question that fails is not part of the history. */
  ask(question: string, image?: string): Promise<string>;
  answers: Kept[];
};

export type OfficialClient = {
  name: string;
  /** The path of its base address on the proxy. */
  prefix: string;
  /** @param base where the client would find its provider; beyond it the paths are the provider's own */
  open(base: string, options: { key: string; stream: boolean }): Conversation;
};

export const TOOL_RESULT = '7 C, rain';

const description = 'The weather of a city';
const parameters = {
  type: 'object' as const,
  properties: { city: { type: 'string' }, unit: { type: 'string' } },
};

/** A `fetch` that records each response while the client reads it. */
export function keeping(answers: Kept[], send: typeof fetch = fetch): typeof fetch {
  return async (input, init) => {
    const response = await send(input, init);
    const headers = ['content-type', 'retry-after', 'retry-after-ms', 'request-id', 'x-request-id'];
    const recorded: Kept = {
      status: response.status,
      headers: Object.fromEntries(headers.map((name) => [name, response.headers.get(name)])),
      bytes: '',
    };
    answers.push(recorded);
    const copy = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        recorded.bytes += Buffer.from(chunk).toString('latin1');
        controller.enqueue(chunk);
      },
    });
    const body = response.body?.pipeThrough(copy) ?? null;
    return new Response(body, { status: response.status, headers: response.headers });
  };
}

/** Adds to the history when the question succeeds; otherwise leaves it unchanged. */
async function within<T>(history: T[], added: T[], converse: () => Promise<string>): Promise<string> {
  const before = history.length;
  history.push(...added);
  try {
    return await converse();
  } catch (error) {
    history.length = before;
    throw error;
  }
}

const anthropic: OfficialClient = {
  name: '@anthropic-ai/sdk',
  prefix: '/anthropic',
  open(baseURL, { key: apiKey, stream }) {
    const answers: Kept[] = [];
    const client = new Anthropic({ baseURL, apiKey, fetch: keeping(answers), maxRetries: 1 });
    const messages: Anthropic.MessageParam[] = [];
    const tools = [{ name: 'get_weather', description, input_schema: parameters }];
    const answer = async (): Promise<string> => {
      const body = { model: 'claude-sonnet-4-6', max_tokens: 500, tools, messages };
      const { content } = await (stream ? client.messages.stream(body).finalMessage() : client.messages.create(body));
      messages.push({ role: 'assistant', content });
      const use = content.find((block) => block.type === 'tool_use');
      if (!use) return content.map((block) => (block.type === 'text' ? block.text : block.type)).join();
      messages.push({ role: 'user', content: [{ type: 'tool_result', tool_use_id: use.id, content: TOOL_RESULT }] });
      return answer();
    };
    const shown = (data: string, text: string): Anthropic.ContentBlockParam[] => [
      { type: 'image', source: { type: 'base64', media_type: 'image/png', data } },
      { type: 'text', text },
    ];
    return {
      answers,
      ask: (question, image) =>
        within(messages, [{ role: 'user', content: image ? shown(image, question) : question }], answer),
    };
  },
};

const gemini: OfficialClient = {
  name: '@google/genai',
  prefix: '/gemini',
  open(baseUrl, { key: apiKey, stream }) {
    const answers: Kept[] = [];
    const client = new GoogleGenAI({ apiKey, vertexai: false, httpOptions: { baseUrl } });
    const tools = [{ functionDeclarations: [{ name: 'get_weather', description, parametersJsonSchema: parameters }] }];
    const history: Content[] = []; // as the client's own chat keeps it: each chunk of a stream is a content
    const answer = async (): Promise<string> => {
      const body = { model: 'gemini-2.5-flash', contents: history, config: { tools } };
      const chunks = stream
        ? await allOf(await client.models.generateContentStream(body))
        : [await client.models.generateContent(body)];
      const contents = chunks.flatMap(({ candidates }) => candidates?.[0]?.content ?? []);
      history.push(...contents);
      const parts = contents.flatMap(({ parts = [] }) => parts);
      const call = parts.find(({ functionCall }) => functionCall)?.functionCall;
      if (!call) return parts.map(({ text }) => text ?? '').join('');
      const response = { output: TOOL_RESULT };
      history.push({ role: 'user', parts: [{ functionResponse: { name: call.name ?? '', response } }] });
      return answer();
    };
    const shown = (data: string, text: string): Part[] => [{ inlineData: { mimeType: 'image/png', data } }, { text }];
    return {
      answers,
      ask: (question, image) => {
        const parts = image ? shown(image, question) : [{ text: question }];
        return within(history, [{ role: 'user', parts }], () => recordingFetch(answers, answer));
      },
    };
  },
};

async function allOf<T>(pieces: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const piece of pieces) all.push(piece);
  return all;
}

/** The client takes no `fetch` of ours: it is recorded where the client finds it. */
async function recordingFetch<T>(answers: Kept[], run: () => Promise<T>): Promise<T> {
  const own = globalThis.fetch;
  globalThis.fetch = keeping(answers, own);
  try {
    return await run();
  } finally {
    globalThis.fetch = own;
  }
}

const openaiChat: OfficialClient = {
  name: 'openai, chat',
  prefix: '/openai',
  open(base, { key: apiKey, stream }) {
    const answers: Kept[] = [];
    const client = new OpenAI({ baseURL: `${base}/v1`, apiKey, fetch: keeping(answers), maxRetries: 1 });
    const messages: OpenAI.ChatCompletionMessageParam[] = [];
    const tools = [{ type: 'function' as const, function: { name: 'get_weather', description, parameters } }];
    const answer = async (): Promise<string> => {
      const body = { model: 'gpt-4o-mini', messages, tools };
      const { choices } = await (stream
        ? client.chat.completions.stream({ ...body, stream_options: { include_usage: true } }).finalChatCompletion()
        : client.chat.completions.create(body));
      const message = choices[0]?.message;
      if (!message) throw new Error('Cannot go on: the answer has no choice');
      messages.push(message);
      const use = message.tool_calls?.[0];
      if (!use) return message.content ?? '';
      messages.push({ role: 'tool', tool_call_id: use.id, content: TOOL_RESULT });
      return answer();
    };
    const shown = (data: string, text: string): OpenAI.ChatCompletionContentPart[] => [
      { type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } },
      { type: 'text', text },
    ];
    return {
      answers,
      ask: (question, image) =>
        within(messages, [{ role: 'user', content: image ? shown(image, question) : question }], answer),
    };
  },
};

const openaiResponses: OfficialClient = {
  name: 'openai, responses',
  prefix: '/openai',
  open(base, { key: apiKey, stream }) {
    const answers: Kept[] = [];
    const client = new OpenAI({ baseURL: `${base}/v1`, apiKey, fetch: keeping(answers), maxRetries: 1 });
    const input: OpenAI.Responses.ResponseInputItem[] = [];
    const answer = async (): Promise<string> => {
      const body = { ...responsesBody, instructions: 'Be brief', store: false, input };
      const { output, output_text }: OpenAI.Responses.Response = await (stream
        ? client.responses.stream(body).finalResponse()
        : client.responses.create(body));
      input.push(...(output as OpenAI.Responses.ResponseInputItem[]));
      const use = output.find((item) => item.type === 'function_call');
      if (!use) return output_text;
      input.push({ type: 'function_call_output', call_id: use.call_id, output: TOOL_RESULT });
      return answer();
    };
    const shown = (data: string, text: string): OpenAI.Responses.ResponseInputContent[] => [
      { type: 'input_image', detail: 'auto', image_url: `data:image/png;base64,${data}` },
      { type: 'input_text', text },
    ];
    return {
      answers,
      ask: (question, image) =>
        within(input, [{ role: 'user', content: image ? shown(image, question) : question }], answer),
    };
  },
};

/** The members of a request of the Responses format besides its input. */
export const responsesBody = {
  model: 'gpt-5-mini',
  tools: [{ type: 'function' as const, name: 'get_weather', description, parameters, strict: false }],
};

const OLLAMA_MODEL = 'llama3.2';

/** Ollama has no keys; the header is sent so that a test would find it if it were stored. */
const openOllama = (host: string, key: string, answers: Kept[]) =>
  new Ollama({ host, fetch: keeping(answers), headers: { authorization: `Bearer ${key}` } });

const ollamaChat = (name: string, prefix: string): OfficialClient => ({
  name,
  prefix,
  open(host, { key, stream }) {
    const answers: Kept[] = [];
    const client = openOllama(host, key, answers);
    const messages: OllamaMessage[] = [];
    const tools: OllamaTool[] = [{ type: 'function', function: { name: 'get_weather', description, parameters } }];
    const answer = async (): Promise<string> => {
      const body = { model: OLLAMA_MODEL, messages, tools, think: true };
      const message: OllamaMessage = stream
        ? await wholeMessage(await client.chat({ ...body, stream }))
        : (await client.chat(body)).message;
      messages.push(message);
      const use = message.tool_calls?.[0];
      if (!use) return message.content;
      messages.push({ role: 'tool', tool_name: use.function.name, content: TOOL_RESULT });
      return answer();
    };
    return {
      answers,
      ask: (question, image) =>
        within(messages, [{ role: 'user', content: question, ...(image && { images: [image] }) }], answer),
    };
  },
});

/** Joins the chunks as in the client's documentation: text and thinking are concatenated, calls come whole. */
async function wholeMessage(pieces: AsyncIterable<{ message: OllamaMessage }>): Promise<OllamaMessage> {
  const whole = { role: 'assistant', content: '', thinking: '', tool_calls: [] as OllamaMessage['tool_calls'] & {} };
  for await (const { message } of pieces) {
    whole.content += message.content;
    whole.thinking += message.thinking ?? '';
    whole.tool_calls.push(...(message.tool_calls ?? []));
  }
  return whole;
}

/** Each question is independent, and there are no tools. */
const ollamaGenerate: OfficialClient = {
  name: 'ollama, generate',
  prefix: '/ollama',
  open(host, { key, stream }) {
    const answers: Kept[] = [];
    const client = openOllama(host, key, answers);
    return {
      answers,
      async ask(prompt, image) {
        const body = { model: OLLAMA_MODEL, prompt, ...(image && { images: [image] }) };
        if (!stream) return (await client.generate(body)).response ?? '';
        let text = '';
        for await (const piece of await client.generate({ ...body, stream })) text += piece.response ?? '';
        return text;
      },
    };
  },
};

export const officialClients = {
  anthropic,
  gemini,
  openaiChat,
  openaiResponses,
  ollamaChat: ollamaChat('ollama, chat', '/ollama'),
  ollamaBare: ollamaChat('ollama, chat on the bare path', ''),
  ollamaGenerate,
};
