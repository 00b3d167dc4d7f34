/**
 * A local provider that answers like Anthropic and OpenAI: first with a tool call, then, given its result, with a sentence.
 * What it answers follows from the request alone, so a call answered directly and one through the proxy get equal bytes.
 * Usage is fixed, so that tests can state tokens and costs worked out by hand.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';

type AnthropicBody = { model: string; stream?: boolean; messages: { role: string; content: unknown }[] };
type OpenAiBody = { model: string; stream?: boolean; messages: { role: string; content: unknown }[] };

export type ScriptedProvider = {
  url: string;
  requests: { method: string; url: string; at: number; body: string }[];
  close(): Promise<void>;
};

/** @param delayMs between the events of a stream */
export async function startScriptedProvider(
  options: { delayMs?: number; gzip?: boolean } = {},
): Promise<ScriptedProvider> {
  const requests: ScriptedProvider['requests'] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    const at = Date.now();
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const received = Buffer.concat(chunks).toString();
    requests.push({ method: request.method ?? '', url: request.url ?? '', at, body: received });
    const path = (request.url ?? '').split('?')[0] ?? '';
    if (request.method !== 'POST' || !/\/(messages|completions)$/.test(path)) {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[]}');
      return;
    }
    const body = JSON.parse(received) as AnthropicBody & OpenAiBody;
    const anthropic = path.endsWith('/messages');
    const { document, events } = anthropic ? anthropicAnswer(body) : openAiAnswer(body);
    const coding = options.gzip ? { 'content-encoding': 'gzip' } : {};
    const encode = (text: string) => (options.gzip ? gzipSync(text) : Buffer.from(text));
    const common = { ...coding, 'request-id': 'req_scripted', 'x-request-id': 'req_scripted' };
    if (!body.stream) {
      response.writeHead(200, { 'content-type': 'application/json', ...common }).end(encode(document));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', ...common });
    if (options.gzip) {
      response.end(encode(events.join('')));
      return;
    }
    for (const event of events) {
      response.write(event);
      if (options.delayMs) await new Promise((resolve) => setTimeout(resolve, options.delayMs));
    }
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** The words of the answer to a plain question: an echo, so that every conversation can be told from its replies. */
export const echoOf = (question: string) => `You said: ${question}`;

function anthropicAnswer(body: AnthropicBody): { document: string; events: string[] } {
  const last = body.messages.at(-1)?.content;
  const question = typeof last === 'string' ? last : textIn(last);
  const answered = Array.isArray(last) && last.some((block) => (block as { type: string }).type === 'tool_result');
  const id = `msg_scripted_${body.messages.length}`;
  const toolCall = !answered && question.includes('weather');
  const content = toolCall
    ? [
        { type: 'text', text: 'Let me look.' },
        { type: 'tool_use', id: 'toolu_weather_1', name: 'get_weather', input: { city: 'Oslo', unit: 'C' } },
      ]
    : [{ type: 'text', text: answered ? 'It is 7 degrees in Oslo.' : echoOf(question) }];
  const input = answered
    ? { input_tokens: 1200, cache_creation_input_tokens: 0, cache_read_input_tokens: 500 }
    : { input_tokens: 1000, cache_creation_input_tokens: 200, cache_read_input_tokens: 300 };
  const outputTokens = answered ? 25 : 50;
  const stop = toolCall ? 'tool_use' : 'end_turn';
  const message = { id, type: 'message', role: 'assistant', model: body.model };
  const event = (data: { type: string }) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`;
  return {
    document: JSON.stringify({
      ...message,
      content,
      stop_reason: stop,
      stop_sequence: null,
      usage: { ...input, output_tokens: outputTokens },
    }),
    events: [
      event({
        type: 'message_start',
        message: {
          ...message,
          content: [],
          stop_reason: null,
          stop_sequence: null,
          usage: { ...input, output_tokens: 1 },
        },
      } as { type: string }),
      ...content.flatMap((block, index) => [
        event({
          type: 'content_block_start',
          index,
          content_block: block.type === 'text' ? { type: 'text', text: '' } : { ...block, input: {} },
        } as { type: string }),
        ...pieces(block.type === 'text' ? (block.text ?? '') : JSON.stringify(block.input)).map((piece) =>
          event({
            type: 'content_block_delta',
            index,
            delta:
              block.type === 'text'
                ? { type: 'text_delta', text: piece }
                : { type: 'input_json_delta', partial_json: piece },
          } as { type: string }),
        ),
        event({ type: 'content_block_stop', index } as { type: string }),
      ]),
      event({
        type: 'message_delta',
        delta: { stop_reason: stop, stop_sequence: null },
        usage: { output_tokens: outputTokens },
      } as { type: string }),
      event({ type: 'message_stop' }),
    ],
  };
}

function openAiAnswer(body: OpenAiBody): { document: string; events: string[] } {
  const last = body.messages.at(-1);
  const question = typeof last?.content === 'string' ? last.content : textIn(last?.content);
  const answered = last?.role === 'tool';
  const toolCall = !answered && question.includes('weather');
  const text = answered ? 'It is 7 degrees in Oslo.' : echoOf(question);
  const args = JSON.stringify({ city: 'Oslo', unit: 'C' });
  const call = { id: 'call_weather_1', type: 'function', function: { name: 'get_weather', arguments: args } };
  const usage = answered
    ? { prompt_tokens: 1100, completion_tokens: 20, total_tokens: 1120, prompt_tokens_details: { cached_tokens: 1000 } }
    : { prompt_tokens: 1000, completion_tokens: 30, total_tokens: 1030, prompt_tokens_details: { cached_tokens: 400 } };
  const finish = toolCall ? 'tool_calls' : 'stop';
  const head = { id: `chatcmpl-scripted-${body.messages.length}`, created: 1_795_000_000, model: body.model };
  const chunk = (delta: object, finish_reason: string | null, more: object = {}) =>
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }], ...more })}\n\n`;
  return {
    document: JSON.stringify({
      ...head,
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          message: toolCall
            ? { role: 'assistant', content: null, tool_calls: [call] }
            : { role: 'assistant', content: text, refusal: null },
          finish_reason: finish,
        },
      ],
      usage,
    }),
    events: [
      chunk({ role: 'assistant', content: toolCall ? null : '' }, null),
      ...(toolCall
        ? [
            chunk({ tool_calls: [{ index: 0, ...call, function: { name: 'get_weather', arguments: '' } }] }, null),
            ...pieces(args).map((piece) => chunk({ tool_calls: [{ index: 0, function: { arguments: piece } }] }, null)),
          ]
        : pieces(text).map((piece) => chunk({ content: piece }, null))),
      chunk({}, finish),
      `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [], usage })}\n\n`,
      'data: [DONE]\n\n',
    ],
  };
}

const pieces = (text: string) => text.match(/[\s\S]{1,7}/g) ?? [];

const textIn = (content: unknown): string =>
  Array.isArray(content) ? content.map((block) => (block as { text?: string }).text ?? '').join('\n') : '';
