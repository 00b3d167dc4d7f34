/** How does a real client run? As its own program in a home of its own, headless, with nowhere to go but this machine, and not for long. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const LIMIT_MS = 120_000; // a healthy run takes seconds

/** Each starts the program that was compiled for this platform, which comes as a package too. */
const STARTS = {
  claude: '@anthropic-ai/claude-code/cli-wrapper.cjs', // its `bin` is put in place by an install script, and none is run
  codex: '@openai/codex/bin/codex.js',
  gemini: '@google/gemini-cli/bundle/gemini.js',
  pi: '@mariozechner/pi-coding-agent/dist/cli.js',
};

/** No script of Node's: the compiled program itself, which an install script would have put in the place of its `bin`. */
const PROGRAMS = { opencode: `opencode-${process.platform}-${process.arch}/bin/opencode` };

export type Ran = { status: number | null; out: string; err: string };

type ClientName = keyof typeof STARTS | keyof typeof PROGRAMS;

/** The program of an installed client, and its first arguments. */
export function commandOf(name: ClientName): [program: string, ...first: string[]] {
  const at = (path: string) => join(import.meta.dirname, 'node_modules', path);
  return name in PROGRAMS
    ? [at(PROGRAMS[name as keyof typeof PROGRAMS])]
    : [process.execPath, at(STARTS[name as keyof typeof STARTS])];
}

/**
 * Runs an installed client to its end.
 * @param way where its requests to anywhere but this machine go: a proxy, as such clients see it
 */
export async function runClient(
  name: ClientName,
  args: readonly string[],
  { home, way, env }: { home: string; way: string; env: Record<string, string> },
): Promise<Ran> {
  const [program, ...first] = commandOf(name);
  const child = spawn(program, [...first, ...args], {
    cwd: home,
    env: {
      PATH: process.env.PATH,
      HOME: home,
      LANG: 'C.UTF-8',
      HTTP_PROXY: way,
      HTTPS_PROXY: way,
      ALL_PROXY: way,
      NO_PROXY: '127.0.0.1,localhost',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true, // a group of its own: what it started ends with it
  });
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  const alarm = setTimeout(() => endGroup(child.pid), LIMIT_MS);
  try {
    const status = await new Promise<number | null>((ended, failed) => {
      child.once('error', failed);
      child.once('close', ended);
      child.once('exit', () => endGroup(child.pid));
    });
    return { status, out, err };
  } finally {
    clearTimeout(alarm);
  }
}

/** A home for the time of `use`. */
export async function withHome<T>(use: (home: string) => Promise<T>): Promise<T> {
  const home = await mkdtemp(join(tmpdir(), 'svc-client-'));
  try {
    return await use(home);
  } finally {
    await rm(home, { recursive: true, force: true, maxRetries: 5 });
  }
}

function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // nobody of the group is left
  }
}
