/** Calls of Claude Code to a provider that caches as it is scripted to: what is billed is worked out beforehand, so a test can state it. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Of the input; what is neither read nor written is fresh. */
export type CacheUse = { read: number; written: number; fresh: number };

type CachingProvider = { url: string; close(): Promise<void> };

/** Answers each request with the usage that its header `x-cache-use` states. */
export async function startCachingProvider(): Promise<CachingProvider> {
  let answers = 0;
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { model } = JSON.parse(Buffer.concat(chunks).toString()) as { model: string };
    const { read, written, fresh } = JSON.parse(String(request.headers['x-cache-use'])) as CacheUse;
    answers += 1;
    response.writeHead(200, { 'content-type': 'application/json' }).end(
      JSON.stringify({
        ...{ id: `msg_cached_${answers}`, type: 'message', role: 'assistant', model, stop_reason: 'end_turn' },
        content: [{ type: 'text', text: `Answer ${answers}` }],
        usage: {
          ...{ input_tokens: fresh, cache_read_input_tokens: read, cache_creation_input_tokens: written },
          cache_creation: { ephemeral_5m_input_tokens: written, ephemeral_1h_input_tokens: 0 },
          output_tokens: 20,
        },
      }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = () =>
    new Promise<void>((resolve) => {
      server.closeAllConnections();
      server.close(() => resolve());
    });
  return { url: `http://127.0.0.1:${port}`, close };
}

/** Sends a call of a harness session through the proxy. @returns the text of the answer */
export async function cachedCall(proxy: string, session: string, request: object, use: CacheUse): Promise<string> {
  const response = await fetch(`${proxy}/anthropic/v1/messages`, {
    method: 'POST',
    headers: {
      ...{ 'content-type': 'application/json', 'anthropic-version': '2023-06-01', 'x-api-key': 'sk-ant-planted-0' },
      ...{ 'user-agent': 'claude-cli/2.1.197 (external, cli)', 'x-claude-code-session-id': session },
      'x-cache-use': JSON.stringify(use),
    },
    body: JSON.stringify(request),
  });
  const { content } = (await response.json()) as { content: { text: string }[] };
  return content[0]?.text ?? '';
}
