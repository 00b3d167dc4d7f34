/** What do all proxies of the bench forward to? A bare provider: a short answer, or a stream of frames that can be foretold.
 *  A long request is let run by unread, and its frames come at once. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';

export const DELTAS = 64;
export const APART_MS = 20;

const SHORT = 2_000;
const head = { object: 'chat.completion', created: 1_795_000_000, model: 'gpt-4o-mini' };
const answer = JSON.stringify({
  id: 'chatcmpl-bench',
  ...head,
  choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 },
});

/** The nth frame of a stream, from 0; after the deltas comes the end. */
export function frame(stream: string, n: number): string {
  if (n === DELTAS) return 'data: [DONE]\n\n';
  const choice = { index: 0, delta: { content: `${stream}.${n} ` }, finish_reason: n === DELTAS - 1 ? 'stop' : null };
  return `data: ${JSON.stringify({ id: `chatcmpl-${stream}`, ...head, object: 'chat.completion.chunk', choices: [choice] })}\n\n`;
}

/** Each frame is due at its time from the beginning, however late the one before it was. */
async function pour(response: ServerResponse, stream: string, apartMs: number): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const start = performance.now();
  for (let n = 0; n <= DELTAS; n++) {
    const wait = start + n * apartMs - performance.now();
    if (wait > 0) await new Promise((due) => setTimeout(due, wait));
    response.write(frame(stream, n));
  }
  response.end();
}

function listen(): void {
  const server = createServer((request, response) => {
    if (Number(request.headers['content-length'] ?? 0) > SHORT) {
      request.resume().on('end', () => pour(response, 'long', 0));
      return;
    }
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => void chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      const stream = body.includes('"stream":true') ? /"user":"(\w+)"/.exec(body)?.[1] : undefined;
      if (stream !== undefined) void pour(response, stream, APART_MS);
      else response.writeHead(200, { 'content-type': 'application/json', 'content-length': answer.length }).end(answer);
    });
  });
  server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) listen();
