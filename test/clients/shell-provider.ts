/**
 * Who answers the real clients? A local provider that speaks Anthropic's format, Gemini's and OpenAI's, over HTTP and over a WebSocket: to a prompt
 * it calls the client's own shell, and it quotes what the shell said. It is their way out as well, and lets nobody pass.
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { namedEvents } from '../support/provider-streams.ts';
import { socketProvider } from '../support/responses-socket.ts';
import { type ResponseDocument, responseEvents } from '../support/responses-streams.ts';
import { type ChatRequest, chatAnswer } from './chat-answers.ts';
import { type GeminiRequest, geminiAnswer, geminiMethod } from './gemini-answers.ts';
import { COMMAND } from './shell-words.ts';

export type ShellProvider = {
  url: string;
  /** `POST /v1/messages`, `UPGRADE /v1/responses`: what came, in order. */
  requestLines: string[];
  /** The bodies of the HTTP requests among them. */
  bodies: string[];
  /** Whether upgrades are taken; false refuses them, as a provider does that knows no WebSocket. */
  takesSockets: boolean;
  /** Responses begin and do not go on. */
  holds: boolean;
  close(): Promise<void>;
};

type Item = { type?: string; role?: string; content?: unknown; output?: unknown };
type RequestBody = {
  tools?: { name?: string }[];
  model?: string;
  stream?: boolean;
  messages?: Item[];
  input?: Item[];
  generate?: boolean;
  store?: boolean;
};

export async function startShellProvider(): Promise<ShellProvider> {
  const sockets = socketProvider(
    (socket, message, number) => {
      if (message.type !== 'response.create') return;
      for (const event of responseEvents(openaiDocument(message as RequestBody, `${Date.now()}_${number}`)))
        socket.send(JSON.stringify(event));
    },
    { perMessageDeflate: { threshold: 0 } },
  );
  const taken = new Set<Duplex>();
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = '', url = '' } = request;
    const path = url.split('?')[0] ?? '';
    provider.requestLines.push(`${method} ${path}`);
    provider.bodies.push(Buffer.concat(chunks).toString());
    const id = `${Date.now()}_${provider.requestLines.length}`;
    if (method === 'POST' && provider.holds)
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': it begins\n\n');
    else if (method === 'POST' && path.endsWith('/messages')) anthropicAnswer(response, parsed(chunks), id);
    else if (method === 'POST' && path.endsWith('/responses')) openaiAnswer(response, parsed(chunks), id);
    else if (method === 'POST' && path.endsWith('/chat/completions'))
      chatAnswer(response, parsed(chunks) as ChatRequest, id);
    else if (method === 'POST' && geminiMethod(path))
      geminiAnswer(response, parsed(chunks) as GeminiRequest, {
        stream: geminiMethod(path) === 'streamGenerateContent',
        id,
        answerOf: (result) => answerTo(shellOutput(result) ?? ''),
      });
    else response.writeHead(method === 'HEAD' ? 200 : 404, { 'content-type': 'application/json' }).end('{}');
  });
  server.on('upgrade', (request, socket: Duplex, head: Buffer) => {
    provider.requestLines.push(`UPGRADE ${request.url}`);
    taken.add(socket);
    if (provider.takesSockets) sockets.answer(request, socket, head);
    else socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
  });
  server.on('connect', (_request, socket: Duplex) => {
    socket.on('error', () => {});
    socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n');
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const provider: ShellProvider = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requestLines: [],
    bodies: [],
    takesSockets: true,
    holds: false,
    close: () =>
      new Promise((closed) => {
        server.close(() => closed());
        server.closeAllConnections();
        for (const socket of taken) socket.destroy();
      }),
  };
  return provider;
}

const parsed = (chunks: readonly Buffer[]): RequestBody => JSON.parse(Buffer.concat(chunks).toString());

/** What the shell said, out of all that the client says about it; null: it has not been asked yet. */
function shellOutput(result: unknown): string | null {
  if (result === undefined) return null;
  return /made of \d+/.exec(JSON.stringify(result))?.[0] ?? 'nothing';
}

const answerTo = (printed: string) => `The shell says: ${printed}.`;

function anthropicAnswer(
  response: ServerResponse,
  { model, stream, messages = [], tools = [] }: RequestBody,
  id: string,
): void {
  const last = messages.findLast(({ role }) => role === 'user'); // Claude Code closes with words of the system's
  const printed = shellOutput(
    [last?.content].flat().find((block) => (block as Item | undefined)?.type === 'tool_result') as unknown,
  );
  const shell = tools.some(({ name }) => name === 'bash') ? 'bash' : 'Bash';
  const block =
    printed === null
      ? { type: 'tool_use', id: `toolu_${id}`, name: shell, input: { command: COMMAND, description: 'Multiply' } }
      : { type: 'text', text: answerTo(printed) };
  const message = { id: `msg_${id}`, type: 'message', role: 'assistant', model };
  const end = { stop_reason: printed === null ? 'tool_use' : 'end_turn', stop_sequence: null };
  const input = { input_tokens: 100, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };
  if (!stream) {
    const usage = { ...input, output_tokens: 10 };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ ...message, content: [block], ...end, usage }));
    return;
  }
  const begun = block.type === 'text' ? { type: 'text', text: '' } : { ...block, input: {} };
  const delta =
    block.type === 'text'
      ? { type: 'text_delta', text: block.text }
      : { type: 'input_json_delta', partial_json: JSON.stringify(block.input) };
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' }).end(
    namedEvents([
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
      { type: 'content_block_start', index: 0, content_block: begun },
      { type: 'content_block_delta', index: 0, delta },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: end, usage: { output_tokens: 10 } },
      { type: 'message_stop' },
    ] as { type: string }[]),
  );
}

function openaiAnswer(response: ServerResponse, body: RequestBody, id: string): void {
  const document = openaiDocument(body, id);
  response.writeHead(200, { 'content-type': body.stream ? 'text/event-stream' : 'application/json' });
  response.end(body.stream ? namedEvents(responseEvents(document)) : JSON.stringify(document));
}

/** `generate: false` warms a socket up, and is answered with nothing. An answer is stored unless the request says otherwise. */
function openaiDocument(
  { model = '', input = [], generate = true, store = true }: RequestBody,
  id: string,
): ResponseDocument {
  const printed = shellOutput(input.findLast(({ type }) => type === 'function_call_output')?.output);
  const item =
    printed === null
      ? {
          id: `fc_${id}`,
          type: 'function_call',
          status: 'completed',
          call_id: `call_${id}`,
          name: 'exec_command',
          arguments: JSON.stringify({ cmd: COMMAND }),
        }
      : {
          id: `msg_${id}`,
          type: 'message',
          role: 'assistant',
          status: 'completed',
          content: [{ type: 'output_text', text: answerTo(printed), annotations: [] }],
        };
  const usage = { input_tokens: 100, output_tokens: 10, total_tokens: 110 };
  const thoughts = store && model === 'gpt-5' ? [{ id: `rs_${id}`, type: 'reasoning', summary: [] }] : [];
  const output = generate ? [...thoughts, item] : [];
  const created_at = Math.floor(Date.now() / 1000);
  return {
    ...{ id: `resp_${id}`, object: 'response' as const, created_at, status: 'completed', error: null },
    ...{ model, store, output, usage },
  };
}
