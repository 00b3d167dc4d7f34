/** Runs the real `svc serve ingest`, the ingest API alone, as a child process on free ports. */
import { spawn } from 'node:child_process';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Service } from './serve.ts';

export type IngestService = Pick<Service, 'ingest' | 'folder' | 'pid' | 'log' | 'banner' | 'stop' | 'kill'>;

const root = resolve(import.meta.dirname, '../..');

/** As `startService` starts the whole of it. @throws {Error} with its exit status and all it said, when it ends instead */
export async function startIngest(folder: string, env: Record<string, string> = {}): Promise<IngestService> {
  const loader = pathToFileURL(join(root, 'node_modules/tsx/dist/loader.mjs')).href;
  const child = spawn(process.execPath, ['--import', loader, join(root, 'core/cli/main.ts'), 'serve', 'ingest'], {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: folder, NO_COLOR: '1', SVC_INGEST_LISTEN: ':0', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let log = '';
  child.stderr.on('data', (chunk: Buffer) => {
    log += chunk.toString();
  });
  const exited = new Promise<number | null>((done) => child.once('exit', (code) => done(code)));
  const ingest = await new Promise<string>((ready, fail) => {
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString();
      const address = /ingest API\s+(http:\/\/\S+)\n\s+data .*\n/.exec(out)?.[1];
      if (address) ready(address);
    });
    void exited.then((code) => fail(new Error(`svc serve ingest ended with ${code}:\n${out}\n${log}`)));
  });
  const ended = (signal: 'SIGTERM' | 'SIGKILL') => {
    child.kill(signal);
    return exited;
  };
  return {
    ingest,
    folder,
    pid: child.pid ?? 0,
    log: () => log,
    banner: out,
    stop: () => ended('SIGTERM'),
    kill: async () => void (await ended('SIGKILL')),
  };
}
