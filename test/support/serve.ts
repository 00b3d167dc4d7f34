/** Runs the real `svc serve` as a child process in a folder of its own, on free ports. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { citusEnvironment } from './citus-cluster.ts';

export type Service = {
  proxy: string;
  api: string;
  ingest: string;
  /** null: none was requested. */
  internal: string | null;
  folder: string;
  /** Of the parent, which keeps the other two running. */
  pid: number;
  /** Of the processes that run now. */
  processes(): { proxy: number; service: number };
  log(): string; // stderr so far
  banner: string;
  /** stdout so far, what came after the banner included. */
  printed(): string;
  /** SIGTERM, and its exit status. */
  stop(): Promise<number | null>;
  /** SIGKILL. */
  kill(): Promise<void>;
};

export const emptyFolder = () => mkdtemp(join(tmpdir(), 'svc-serve-'));
export const removeFolder = (folder: string) => rm(folder, { recursive: true, force: true });

const START_MS = 180_000; // it takes seconds, but a busy machine may be slow

const root = resolve(import.meta.dirname, '../..');
/** Of the test's own process, for the embedded database of the service too, in all of its processes. (run.ts) */
export const QUICK_START = process.execArgv.filter((flag) => flag === '--liftoff-only');

/** `svc`, from the sources; a run of all tests has it built once, which starts in a third of the time. (run.ts) */
export const SVC = process.env.SVC_TEST_PROGRAM
  ? [process.env.SVC_TEST_PROGRAM]
  : ['--import', pathToFileURL(join(root, 'node_modules/tsx/dist/loader.mjs')).href, join(root, 'core/cli/main.ts')];

type Ended = Pick<Service, 'folder' | 'pid' | 'processes' | 'log' | 'banner' | 'printed' | 'stop' | 'kill'>;
type Started = Ended & { address(listener: string): string };
type Role = {
  args: readonly string[];
  env: Record<string, string>;
  program: readonly string[];
  /** What it prints last when everything listens. */
  last: RegExp;
};

/**
 * Starts from the sources; `env` holds `SVC_*` variables. Nothing of the caller's environment but PATH is passed on.
 * @param program what Node runs instead: `svc` as it was built
 * @throws {Error} with its exit status and all its output, when it ends instead
 */
export async function startService(
  folder: string,
  env: Record<string, string> = {},
  program: readonly string[] = SVC,
): Promise<Service> {
  const listen = { SVC_PROXY_LISTEN: ':0', SVC_API_LISTEN: ':0', SVC_INGEST_LISTEN: ':0' };
  const { address, ...ended } = await started(folder, {
    args: [],
    env: { ...listen, SVC_CASSETTES_BUILT_IN: 'false', ...env }, // what comes with the service has tests of its own
    program,
    last: /\/v1\/sessions\n/,
  });
  return {
    proxy: address('capture proxy'),
    api: address('read API'),
    ingest: address('ingest API'),
    internal: env.SVC_INTERNAL_LISTEN ? address('internal') : null,
    ...ended,
  };
}

export type IngestService = Pick<Service, 'ingest'> & Ended;

/** `svc serve ingest`, the ingest API alone. */
export async function startIngest(folder: string, env: Record<string, string> = {}): Promise<IngestService> {
  const { address, ...ended } = await started(folder, {
    args: ['ingest'],
    env: { SVC_INGEST_LISTEN: ':0', ...env },
    program: SVC,
    last: /ingest API\s+http:\/\/\S+\n\s+data .*\n/,
  });
  return { ingest: address('ingest API'), ...ended };
}

/** What a role by itself has; the addresses of what it does not run are ''. */
export type RoleService = Pick<Service, 'api' | 'ingest' | 'internal'> & Ended;

/** `svc serve api`, `ingest` or `derive`. */
export async function startRole(
  role: 'api' | 'ingest' | 'derive',
  folder: string,
  env: Record<string, string> = {},
  program: readonly string[] = SVC,
): Promise<RoleService> {
  const listen = { SVC_API_LISTEN: ':0', SVC_INGEST_LISTEN: ':0' };
  const { address, ...ended } = await started(folder, {
    args: [role],
    env: { ...listen, SVC_CASSETTES_BUILT_IN: 'false', ...env },
    program,
    last: /\n\s+data .*\n/,
  });
  return {
    api: role === 'api' ? address('read API') : '',
    ingest: role === 'ingest' ? address('ingest API') : '',
    internal: env.SVC_INTERNAL_LISTEN ? address('internal') : null,
    ...ended,
  };
}

export type ProxyService = Pick<Service, 'proxy' | 'internal'> & Ended;

/** `svc serve proxy`, the capture proxy alone. */
export async function startProxyAlone(
  folder: string,
  env: Record<string, string> = {},
  program: readonly string[] = SVC,
): Promise<ProxyService> {
  const { address, ...ended } = await started(folder, {
    args: ['proxy'],
    env: { SVC_PROXY_LISTEN: ':0', ...env },
    program,
    last: /OLLAMA_HOST=.*\n/,
  });
  const internal = env.SVC_INTERNAL_LISTEN ? address('internal') : null;
  if (internal) await eventually('the internal listener', () => fetch(internal).catch(() => null)); // of the other process
  return { proxy: address('capture proxy'), internal, ...ended };
}

async function started(folder: string, { args, env, program, last }: Role): Promise<Started> {
  const name = ['svc serve', ...args].join(' ');
  const child = spawn(process.execPath, [...QUICK_START, ...program, 'serve', ...args], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      NO_COLOR: '1',
      ...citusEnvironment(env.SVC_STORAGE_POSTGRES_DSN),
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
    const late = setTimeout(() => {
      child.kill('SIGKILL'); // else the test's process would wait for its end
      fail(new Error(`${name} did not start within ${START_MS / 1000} s:\n${out}\n${log}`));
    }, START_MS).unref();
    child.stdout.on('data', (chunk: Buffer) => {
      out += chunk.toString();
      if (!last.test(out)) return;
      clearTimeout(late);
      ready();
    });
    void exited.then((code) => fail(new Error(`${name} ended with ${code}:\n${out}\n${log}`)));
  });
  return {
    address: (listener) => {
      const found = new RegExp(`${listener}\\s+(http://\\S+)`).exec(out)?.[1];
      if (!found) throw new Error(`${name} printed no address of the ${listener}:\n${out}`);
      return found;
    },
    folder,
    pid: pidOf(child),
    processes: () => processesIn(folder),
    log: () => log,
    banner: out,
    printed: () => out,
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

/** Runs the real `svc` with these arguments in the folder, to its end, without a terminal. */
export const svc = (
  folder: string,
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<{ status: number; out: string; err: string }> =>
  new Promise((ended) => {
    const child = execFile(
      process.execPath,
      [...QUICK_START, ...SVC, ...args],
      {
        cwd: folder,
        env: {
          PATH: process.env.PATH,
          HOME: folder,
          NO_COLOR: '1',
          SVC_CASSETTES_BUILT_IN: 'false',
          ...citusEnvironment(env.SVC_STORAGE_POSTGRES_DSN),
          ...env,
        },
        timeout: START_MS,
      },
      (_error, out, err) => ended({ status: child.exitCode ?? -1, out, err }),
    );
    child.stdin?.end();
  });

/** As the parent publishes them for the commands beside it. */
function processesIn(folder: string): { proxy: number; service: number } {
  const { processes } = JSON.parse(readFileSync(join(folder, '.svc', 'service.json'), 'utf8')) as {
    processes: { name: 'proxy' | 'service'; pid?: number }[];
  };
  const pidOf = (which: string) => processes.find(({ name }) => name === which)?.pid ?? 0;
  return { proxy: pidOf('proxy'), service: pidOf('service') };
}

function pidOf(child: ChildProcess): number {
  if (child.pid === undefined) throw new Error('the child did not start');
  return child.pid;
}

/** Calls `probe` again until it returns something, within a generous deadline. */
export async function eventually<T>(
  what: string,
  probe: () => Promise<T | null | undefined | false>,
  deadlineMs = 120_000,
): Promise<T> {
  const end = Date.now() + deadlineMs;
  for (;;) {
    const answer = await probe();
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
