/** Both ends of a Responses socket: a provider that answers each request with an echo, and a client that records what it receives. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type ClientOptions, type ServerOptions, WebSocket, WebSocketServer } from 'ws';
import { type ResponseDocument, type ResponseEvent, responseEvents } from './responses-streams.ts';

export type Message = { type: string; [key: string]: unknown };

/** The response to a request, the `number`th of its socket. */
export function echoDocument(request: Message, number: number): ResponseDocument {
  const input = Array.isArray(request.input) ? request.input.at(-1)?.content : request.input;
  return {
    id: `resp_${number}`,
    object: 'response',
    status: 'completed',
    model: 'gpt-5',
    previous_response_id: request.previous_response_id ?? null,
    output: [
      {
        id: `msg_${number}`,
        type: 'message',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: `You said: ${input}`, annotations: [] }],
      },
    ],
    usage: { input_tokens: 10 * number, output_tokens: number, total_tokens: 11 * number },
  };
}

export const echoEvents = (request: Message, number: number): ResponseEvent[] =>
  responseEvents(echoDocument(request, number));

/** What the provider does with a message; `number` counts those of the socket from 1. */
export type Talk = (socket: WebSocket, request: Message, number: number) => void;

export const echoing: Talk = (socket, request, number) => {
  for (const event of echoEvents(request, number)) socket.send(JSON.stringify(event));
};

/** Answers an upgrade and adds each accepted socket to `sockets`. @param head lines of the answer to each upgrade */
export function socketProvider(handler: Talk, options: ServerOptions = {}, head: readonly string[] = []) {
  const server = new WebSocketServer({ noServer: true, ...options });
  server.on('headers', (lines) => lines.push(...head));
  const sockets: WebSocket[] = [];
  return {
    sockets,
    answer: (incoming: IncomingMessage, socket: Duplex, head: Buffer) =>
      server.handleUpgrade(incoming, socket, head, (taken) => {
        let number = 0;
        sockets.push(taken);
        taken.on('error', () => {});
        taken.on('message', (bytes, isBinary) => {
          if (isBinary) taken.send(bytes, { binary: true });
          else handler(taken, JSON.parse(String(bytes)), ++number);
        });
      }),
  };
}

export type SocketClient = {
  socket: WebSocket;
  /** Text messages, as they came. */
  heard: string[];
  events(): Message[];
  send(message: object): void;
  closed: Promise<{ code: number; reason: string }>;
};

/** @throws the refusal of the upgrade */
export async function socketClient(
  url: string,
  options: ClientOptions & { protocols?: string[] } = {},
): Promise<SocketClient> {
  const { protocols = [], ...others } = options;
  const socket = new WebSocket(url.replace(/^http/, 'ws'), protocols, { perMessageDeflate: false, ...others });
  const heard: string[] = [];
  socket.on('message', (bytes, isBinary) => {
    if (!isBinary) heard.push(String(bytes));
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) =>
    socket.on('close', (code, reason) => resolve({ code, reason: String(reason) })),
  );
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  socket.on('error', () => {});
  return {
    socket,
    heard,
    events: () => heard.map((text) => JSON.parse(text)),
    send: (message) => socket.send(JSON.stringify(message)),
    closed,
  };
}
