/** Runs the real `svc serve proxy`, the capture proxy alone, as a child process on free ports. */
import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Service } from './serve.ts';

export type ProxyService = Pick<Service, 'proxy' | 'internal' | 'folder' | 'pid' | 'log' | 'banner' | 'stop' | 'kill'>;

const root = resolve(import.meta.dirname, '../..');
const SVC = [
  ...['--import', pathToFileURL(join(root, 'node_modules/tsx/dist/loader.mjs')).href],
  join(root, 'core/cli/main.ts'),
];

/**
 * As `startService` starts the whole of it.
 * @param program what Node runs instead: `svc` as it was built
 * @throws {Error} with its exit status and all it said, when it ends instead
 */
export async function startProxyAlone(
  folder: string,
  env: Record<string, string> = {},
  program: readonly string[] = SVC,
): Promise<ProxyService> {
  const child = spawn(process.execPath, [...program, 'serve', 'proxy'], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, NO_COLOR: '1', SVC_PROXY_LISTEN: ':0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let log = '';
  child.stderr.on('data', (chunk: Buffer) => {
    log += chunk.toString();
  });
  const exited = new Promise<number | null>((done) => child.once('exit', (code) => done(code)));
  await new Promise<void>((ready, fail) => {
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString();
      if (/OLLAMA_HOST=.*\n/.test(out)) ready();
    });
    void exited.then((code) => fail(new Error(`svc serve proxy ended with ${code}:\n${out}\n${log}`)));
  });
  const address = (name: string) => new RegExp(`${name}\\s+(http://\\S+)`).exec(out)?.[1] ?? '';
  const ended = (signal: 'SIGTERM' | 'SIGKILL') => {
    child.kill(signal);
    return exited;
  };
  return {
    proxy: address('capture proxy'),
    internal: env.SVC_INTERNAL_LISTEN ? address('internal') : null,
    folder,
    pid: child.pid ?? 0,
    log: () => log,
    banner: out,
    stop: () => ended('SIGTERM'),
    kill: async () => void (await ended('SIGKILL')),
  };
}
