/**
 * A local provider that answers like Anthropic, Gemini, OpenAI and Ollama: a question about the weather first with a tool call, then, after its
 * result, with a sentence; everything else with an echo. The response depends on the request, and on earlier requests that it names by
 * id, so a direct call and one through the proxy get equal bytes.
 * Usage is fixed, so that tests can state tokens and costs worked out by hand.
 */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { anthropic } from './scripted-provider/anthropic.ts';
import { gemini } from './scripted-provider/gemini.ts';
import { ollamaChat, ollamaGenerate } from './scripted-provider/ollama.ts';
import { openaiChat } from './scripted-provider/openai-chat.ts';
import { openaiResponses } from './scripted-provider/openai-responses.ts';
import { type Format, idOf, type Mishap, type ScriptedLine, type ScriptedRequest } from './scripted-provider/script.ts';

export type ScriptedProvider = {
  url: string;
  requests: { method: string; url: string; at: number; body: string }[];
  close(): Promise<void>;
};

/** The text of the answer to a plain question: an echo, so that every conversation can be recognised by its replies. */
export const echoOf = (question: string) => `You said: ${question}`;

/** The failure of a question that contains the word. `busy` fails every other time: a retry is answered. */
const MISHAPS: Record<string, Mishap> = { busy: 'busy', malformed: 'refused', overloaded: 'overloaded' };
const BREAKS_OFF = 'break off'; // in the middle of its stream

const lineTo = ({ question, answered, earlier }: ScriptedRequest): ScriptedLine => ({
  says: answered ? 'It is 7 degrees in Oslo.' : echoOf([...earlier, question].join(', then ')),
  callsTool: !answered && question.includes('weather'),
});

/** @param delayMs between the pieces of a stream */
export async function startScriptedProvider(
  options: { delayMs?: number; gzip?: boolean } = {},
): Promise<ScriptedProvider> {
  const requests: ScriptedProvider['requests'] = [];
  const formats = [anthropic, ...gemini, openaiChat, ...openaiResponses(), ollamaChat, ollamaGenerate];
  const turnedAway = new Set<string>();
  const refusalOf = (format: Format, body: unknown, received: string) => {
    const { question } = format.parseRequest(body);
    const mishap = Object.entries(MISHAPS).find(([word]) => question.includes(word))?.[1];
    if (mishap === undefined) return format.refusal?.(body) ?? null;
    if (mishap !== 'busy') return format.mishaps[mishap];
    if (turnedAway.delete(received)) return null;
    turnedAway.add(received);
    return format.mishaps.busy;
  };

  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    const at = Date.now();
    try {
      for await (const chunk of request) chunks.push(chunk as Buffer);
    } catch {
      return; // the client is gone
    }
    const received = Buffer.concat(chunks).toString();
    requests.push({ method: request.method ?? '', url: request.url ?? '', at, body: received });
    const path = (request.url ?? '').split('?')[0] ?? '';
    const format = request.method === 'POST' && formats.find((one) => one.path.test(path));
    const common = { 'request-id': 'req_scripted', 'x-request-id': 'req_scripted' };
    if (!format) {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"data":[]}');
      return;
    }
    const body: unknown = JSON.parse(received);
    const refused = refusalOf(format, body, received);
    if (refused) {
      const again = { 'retry-after': '1', 'retry-after-ms': '20' }; // the clients' own retries use the second header
      response.writeHead(refused.status, { 'content-type': 'application/json', ...common, ...again });
      response.end(JSON.stringify(refused.document));
      return;
    }
    const parsed = format.parseRequest(body);
    const { document, stream } = format.answer(body, lineTo(parsed), idOf(received));
    const encode = (text: string) => (options.gzip ? gzipSync(text) : Buffer.from(text));
    const coding = options.gzip ? { 'content-encoding': 'gzip' } : {};
    const type = parsed.stream ? format.streamType : 'application/json';
    response.writeHead(200, { 'content-type': type, ...coding, ...common });
    if (!parsed.stream) response.end(encode(JSON.stringify(document)));
    else if (options.gzip) response.end(encode(stream.join('')));
    else
      await pour(
        response,
        stream,
        parsed.question.includes(BREAKS_OFF) ? stream.length / 2 : Infinity,
        options.delayMs,
      );
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

/** Writes piece by piece; breaks the connection where there are more pieces than `most`. */
async function pour(response: ServerResponse, stream: readonly string[], most: number, delayMs = 0): Promise<void> {
  for (const [index, piece] of stream.entries()) {
    if (index >= most) {
      response.destroy();
      return;
    }
    await new Promise((written) => response.write(piece, written));
    if (delayMs) await new Promise((resolve) => setTimeout(resolve, delayMs));
  }
  response.end();
}
