/** `svc start` as a person types it: the built program, with a home of its own and harnesses on the PATH. */
import { spawn } from 'node:child_process';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

export type HarnessStand = { program: string; home: string; cwd: string; bin: string; env: Record<string, string> };

const HARNESS = resolve(import.meta.dirname, 'scripted-harness.mjs');

/** Folders for home, work and commands in `folder`, and a command for the scripted harness under each of these names. */
export async function harnessStand(
  folder: string,
  program: string,
  names: readonly string[],
  env: Record<string, string>,
): Promise<HarnessStand> {
  const [home, cwd, bin] = ['home', 'work', 'bin'].map((name) => join(folder, name)) as [string, string, string];
  for (const made of [home, cwd, bin]) await mkdir(made, { recursive: true });
  for (const name of names) {
    await writeFile(join(bin, name), `#!/bin/sh\nexec '${process.execPath}' '${HARNESS}' "$@"\n`);
    await chmod(join(bin, name), 0o755);
  }
  return { program, home, cwd, bin, env };
}

export type Running = {
  pid: number;
  out(): string;
  err(): string;
  type(keys: string): void;
  ended: Promise<{ status: number | null; signal: string | null; out: string; err: string }>;
};

/** @param terminal runs it on a terminal of its own, where stderr is stdout as well */
export function svcAt(
  { program, home, cwd, bin, env }: HarnessStand,
  args: readonly string[],
  more: Record<string, string> = {},
  { terminal = false } = {},
): Running {
  const line = [process.execPath, program, ...args];
  const [command = '', ...rest] = terminal
    ? ['script', '-qfec', line.map((word) => `'${word}'`).join(' '), '/dev/null']
    : line;
  const child = spawn(command, rest, {
    cwd,
    env: {
      PATH: `${bin}:${process.env.PATH}`,
      HOME: home,
      NO_COLOR: '1',
      SVC_CASSETTES_BUILT_IN: 'false',
      ...env,
      ...more,
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  if (!terminal) child.stdin.end(); // some harnesses read it to its end
  let out = '';
  let err = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text;
  });
  return {
    pid: child.pid ?? 0,
    out: () => out,
    err: () => err,
    type: (keys) => child.stdin.write(keys),
    ended: new Promise((ended) => child.once('close', (status, signal) => ended({ status, signal, out, err }))),
  };
}
