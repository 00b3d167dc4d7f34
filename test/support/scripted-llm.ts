/** An LLM behind the API of OpenAI on this machine, which answers as a test specifies and records its requests. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export type LlmRequest = {
  model: string;
  authorization: string;
  messages: { role: string; content: string }[];
};

/** @param reply the text of an answer, or the status of a refusal */
export async function startScriptedLlm(reply: (request: LlmRequest, times: number) => string | number) {
  const requests: LlmRequest[] = [];
  let answer = reply;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (request.url !== '/v1/chat/completions') return void response.writeHead(404).end();
    const { model, messages } = JSON.parse(Buffer.concat(chunks).toString()) as LlmRequest;
    const one = { model, messages, authorization: request.headers.authorization ?? '' };
    requests.push(one);
    const outcome = answer(one, requests.length);
    if (typeof outcome === 'number')
      return void response
        .writeHead(outcome, { 'content-type': 'application/json', 'x-should-retry': 'false' })
        .end('{"error":{"message":"the prompt was: …"}}');
    const choices = [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: outcome } }];
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ id: 'c1', object: 'chat.completion', created: 1, model, choices }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests,
    /** Sets the answer to later requests. */
    says(next: typeof reply) {
      answer = next;
      requests.length = 0;
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
export function recordsIn({ messages }: LlmRequest): Shown[] {
  const text = messages.map(({ content }) => content).join('\n');
  const fence = /<record-([0-9a-f]{16})>/.exec(text)?.[1];
  const record = new RegExp(`<record-${fence} span="([^"]+)" by="([^"]+)">\\n([\\s\\S]*?)\\n</record-${fence}>`, 'g');
  return [...text.matchAll(record)].map(([, span = '', by = '', body = '']) => ({ span, by, text: body }));
}

/** The answer of a model that learns a sentence of each record that it is shown. */
export function claimOfEachRecord(request: LlmRequest): string {
  const claims = recordsIn(request).map(({ span, text }) => {
    const quote = text.split('\n')[0]?.slice(0, 60) ?? '';
    return { text: `It is said that ${quote}`, sources: [{ span, quote }] };
  });
  return JSON.stringify({ name: 'What was learnt', sections: [{ heading: 'Learnt', claims }] });
}
