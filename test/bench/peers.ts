/**
 * Who stands beside the proxy? A bare upstream, nginx, `http-proxy-3` and Portkey's gateway, each a process of its own, so that nobody
 * shares an event loop. Who is not installed is left out, and it is said how to get it.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, createServer } from 'node:http';
import { createRequire } from 'node:module';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { freePort } from '../support/free-port.ts';

export type Peer = {
  name: string;
  url: string;
  pid: number;
  /** What its requests need besides. */
  headers?: Record<string, string>;
  stop(): Promise<void>;
};

const here = import.meta.dirname;
// both of the bench's own packages, which the project does without
const HTTP_PROXY = 'http-proxy-3';
const PORTKEY = '@portkey-ai/gateway/build/start-server.js'; // its HTTP server is held back: under a newer one it streams nothing
const NGINX = 'nginx'; // of the distribution
const INSTALL = 'npm ci --prefix test/bench --ignore-scripts';

export const startUpstream = (): Promise<Peer> => startScript('direct', join(here, 'peers-upstream.ts'));

/** All that are installed, before the upstream. */
export async function startNeighbours(upstream: string): Promise<Peer[]> {
  const peers: Peer[] = [];
  if (hasNginx()) peers.push(await startNginx(upstream));
  else console.log('  nginx is left out: it is not on PATH (apt-get install nginx-light)');
  if (isPackage(HTTP_PROXY)) peers.push(await startScript(HTTP_PROXY, fileURLToPath(import.meta.url), upstream));
  else console.log(`  http-proxy-3 is left out: it is not installed (${INSTALL})`);
  if (isPackage(PORTKEY)) peers.push(await startPortkey(upstream));
  else console.log(`  Portkey's gateway is left out: it is not installed (${INSTALL})`);
  return peers;
}

const isPackage = (name: string) => existsSync(join(here, 'node_modules', name));

function hasNginx(): boolean {
  try {
    execFileSync(NGINX, ['-v'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** A script of ours that prints its address. */
async function startScript(name: string, script: string, ...args: string[]): Promise<Peer> {
  const child = spawn(process.execPath, ['--import', 'tsx', script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const url = await new Promise<string>((ready, failed) => {
    child.stdout.once('data', (line: Buffer) => ready(line.toString().trim()));
    child.once('exit', (code) => failed(new Error(`${name} ended with ${code}`)));
  });
  return { name, url, pid: pidOf(child), stop: () => end(child) };
}

/** One worker, as the others have one event loop; nothing buffered, connections to the upstream kept. */
async function startNginx(upstream: string): Promise<Peer> {
  const folder = await mkdtemp(join(tmpdir(), 'svc-bench-nginx-'));
  const port = await freePort();
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${join(folder, kind)};`,
  );
  const conf = `${process.getuid?.() === 0 ? 'user root;' : ''}
worker_processes 1;
daemon off;
pid ${join(folder, 'nginx.pid')};
error_log stderr error;
events { worker_connections 1024; }
http {
  access_log off;
  client_max_body_size 0;
  keepalive_requests 1000000000;
  ${temporary.join('\n  ')}
  upstream provider { server ${new URL(upstream).host}; keepalive 256; keepalive_requests 1000000000; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://provider;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_buffering off;
      proxy_request_buffering off;
    }
  }
}
`;
  const file = join(folder, 'nginx.conf');
  await writeFile(file, conf);
  const child = spawn(NGINX, ['-p', folder, '-c', file, '-e', 'stderr'], { stdio: ['ignore', 'inherit', 'inherit'] });
  await listening('nginx', child, port);
  const stop = async () => {
    await end(child);
    await rm(folder, { recursive: true, force: true });
  };
  return { name: 'nginx', url: `http://127.0.0.1:${port}`, pid: pidOf(child), stop };
}

async function startPortkey(upstream: string): Promise<Peer> {
  const port = await freePort();
  const child = spawn(process.execPath, [join(here, 'node_modules', PORTKEY), `--port=${port}`, '--headless'], {
    env: { PATH: process.env.PATH, NODE_ENV: 'production', TRUSTED_CUSTOM_HOSTS: '127.0.0.1' },
    stdio: 'ignore',
  });
  await listening("Portkey's gateway", child, port);
  const headers = {
    authorization: 'Bearer dummy',
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': `${upstream}/v1`,
  };
  const stop = () => end(child);
  return { name: 'Portkey', url: `http://127.0.0.1:${port}`, pid: pidOf(child), headers, stop };
}

async function listening(name: string, child: ChildProcess, port: number): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}`);
    const isUp = await new Promise<boolean>((answered) => {
      const socket = connect(port, '127.0.0.1', () => answered(true)).on('error', () => answered(false));
      socket.unref().on('connect', () => socket.destroy());
    });
    if (isUp) return;
    await new Promise((done) => setTimeout(done, 50));
  }
  throw new Error(`${name} does not listen`);
}

function pidOf({ pid }: ChildProcess): number {
  if (pid === undefined) throw new Error('the child did not start');
  return pid;
}

const end = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null) return;
  const ended = new Promise((done) => child.once('exit', done));
  child.kill('SIGTERM');
  await ended;
};

/** Of the package, what is used of it: its own types are there only once it is installed. */
type HttpProxy = { createProxyServer(options: object): { web(request: object, response: object): void } };

/** What this file does when it is started as a process. */
async function playHttpProxy(target: string): Promise<void> {
  const where = createRequire(import.meta.url).resolve(HTTP_PROXY);
  const { createProxyServer } = (await import(pathToFileURL(where).href)) as HttpProxy;
  const proxy = createProxyServer({ target, agent: new Agent({ keepAlive: true }) });
  const server = createServer((request, response) => proxy.web(request, response));
  server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await playHttpProxy(process.argv[2] ?? '');
