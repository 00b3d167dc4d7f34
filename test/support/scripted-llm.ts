/** An LLM behind the API of OpenAI on this machine, that says what a test tells it to, and remembers what it was asked. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export type LlmAsked = {
  model: string;
  authorization: string;
  messages: { role: string; content: string }[];
};

/** @param say the text of an answer, or the status of a refusal */
export async function startScriptedLlm(say: (asked: LlmAsked, times: number) => string | number) {
  const asked: LlmAsked[] = [];
  let answer = say;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (request.url !== '/v1/chat/completions') return void response.writeHead(404).end();
    const { model, messages } = JSON.parse(Buffer.concat(chunks).toString()) as LlmAsked;
    const one = { model, messages, authorization: request.headers.authorization ?? '' };
    asked.push(one);
    const said = answer(one, asked.length);
    if (typeof said === 'number')
      return void response
        .writeHead(said, { 'content-type': 'application/json', 'x-should-retry': 'false' })
        .end('{"error":{"message":"the prompt was: …"}}');
    const choices = [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: said } }];
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ id: 'c1', object: 'chat.completion', created: 1, model, choices }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked,
    /** From now on. */
    says(next: typeof say) {
      answer = next;
      asked.length = 0;
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export type Shown = { span: string; by: string; text: string };

/** The records that a prompt shows, as a model would find them. */
export function recordsIn({ messages }: LlmAsked): Shown[] {
  const text = messages.map(({ content }) => content).join('\n');
  const fence = /<record-([0-9a-f]{16})>/.exec(text)?.[1];
  const record = new RegExp(`<record-${fence} span="([^"]+)" by="([^"]+)">\\n([\\s\\S]*?)\\n</record-${fence}>`, 'g');
  return [...text.matchAll(record)].map(([, span = '', by = '', said = '']) => ({ span, by, text: said }));
}
