/** Who stands beside the proxy? A bare upstream and `http-proxy-3`, each a process of its own, so that nobody shares an event loop. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';

export type Peer = { url: string; stop(): void };

/** Starts this file again as a process that plays `role`. */
export async function startPeer(role: 'upstream' | 'http-proxy-3', target = ''): Promise<Peer> {
  const child: ChildProcess = spawn(
    process.execPath,
    ['--import', 'tsx', fileURLToPath(import.meta.url), role, target],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const url = await new Promise<string>((ready) =>
    child.stdout?.once('data', (line: Buffer) => ready(line.toString().trim())),
  );
  return { url, stop: () => child.kill('SIGTERM') };
}

const answer = JSON.stringify({
  id: 'chatcmpl-bench',
  object: 'chat.completion',
  created: 1_795_000_000,
  model: 'gpt-4o-mini',
  choices: [{ index: 0, message: { role: 'assistant', content: 'ok' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 10, completion_tokens: 1, total_tokens: 11 },
});

async function play(role: string | undefined, target: string): Promise<void> {
  if (role === 'upstream') {
    const server = createServer((request, response) => {
      request.resume();
      request.on('end', () =>
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': answer.length }).end(answer),
      );
    });
    server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  } else if (role === 'http-proxy-3') {
    const { createProxyServer } = await import('http-proxy-3');
    const { Agent } = await import('node:http');
    const proxy = createProxyServer({ target, agent: new Agent({ keepAlive: true }) });
    const server = createServer((request, response) => proxy.web(request, response));
    server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await play(process.argv[2], process.argv[3] ?? '');
