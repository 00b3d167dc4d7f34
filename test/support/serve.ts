/** Runs the real `svc serve` as a child process in a folder of its own, on free ports. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

export type Service = {
  proxy: string;
  api: string;
  ingest: string;
  /** null: none was asked for. */
  internal: string | null;
  folder: string;
  pid: number;
  log(): string; // stderr so far
  banner: string;
  /** SIGTERM, and its exit status. */
  stop(): Promise<number | null>;
  /** SIGKILL. */
  kill(): Promise<void>;
};

export const emptyFolder = () => mkdtemp(join(tmpdir(), 'svc-serve-'));
export const removeFolder = (folder: string) => rm(folder, { recursive: true, force: true });

const root = resolve(import.meta.dirname, '../..');
const SVC = [
  ...['--import', pathToFileURL(join(root, 'node_modules/tsx/dist/loader.mjs')).href],
  join(root, 'core/cli/main.ts'),
];

/**
 * Starts from the sources; `env` holds `SVC_*` variables. Nothing of the caller's environment but PATH is passed on.
 * @param program what Node runs instead: `svc` as it was built
 */
export async function startService(
  folder: string,
  env: Record<string, string> = {},
  program: readonly string[] = SVC,
): Promise<Service> {
  const child = spawn(process.execPath, [...program, 'serve'], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      NO_COLOR: '1',
      SVC_PROXY_LISTEN: ':0',
      SVC_API_LISTEN: ':0',
      SVC_INGEST_LISTEN: ':0',
      SVC_CASSETTES_BUILT_IN: 'false', // what comes with the service has tests of its own
      ...env,
    },
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
      if (out.includes('/v1/sessions\n')) ready();
    });
    void exited.then((code) => fail(new Error(`svc serve ended with ${code}:\n${out}\n${log}`)));
    setTimeout(() => fail(new Error(`svc serve did not start within 60 s:\n${out}\n${log}`)), 60_000).unref();
  });
  const address = (name: string) => {
    const found = new RegExp(`${name}\\s+(http://\\S+)`).exec(out)?.[1];
    if (!found) throw new Error(`svc serve printed no address of the ${name}:\n${out}`);
    return found;
  };
  return {
    proxy: address('capture proxy'),
    api: address('read API'),
    ingest: address('ingest API'),
    internal: env.SVC_INTERNAL_LISTEN ? address('internal') : null,
    folder,
    pid: pidOf(child),
    log: () => log,
    banner: out,
    stop: async () => {
      child.kill('SIGTERM');
      return exited;
    },
    kill: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/** Runs the real `svc` with these arguments in the folder, to its end. Nobody sits at its terminal. */
export const svc = (
  folder: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<{ status: number; out: string; err: string }> =>
  new Promise((ended) => {
    const child = execFile(
      process.execPath,
      [...SVC, ...args],
      {
        cwd: folder,
        env: { PATH: process.env.PATH, HOME: folder, NO_COLOR: '1', SVC_CASSETTES_BUILT_IN: 'false', ...env },
        timeout: 60_000,
      },
      (_error, out, err) => ended({ status: child.exitCode ?? -1, out, err }),
    );
    child.stdin?.end();
  });

function pidOf(child: ChildProcess): number {
  if (child.pid === undefined) throw new Error('the child did not start');
  return child.pid;
}

/** Asks again until `ask` answers something, within a generous deadline. */
export async function eventually<T>(
  what: string,
  ask: () => Promise<T | null | undefined | false>,
  deadlineMs = 30_000,
): Promise<T> {
  const end = Date.now() + deadlineMs;
  for (;;) {
    const answer = await ask();
    if (answer) return answer;
    if (Date.now() > end) throw new Error(`Gave up waiting for ${what}`);
    await new Promise((done) => setTimeout(done, 50));
  }
}

/** GET as JSON; throws for anything but 2xx. */
export async function read<T = Record<string, unknown>>(url: string): Promise<T> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`GET ${url}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}
