/** The harness as a child in the foreground: it has the terminal, gets the signals, and its exit status becomes ours. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import type { Environment } from '../../config/environment.ts';

/** Keys of the terminal, which sends these to the harness as well: ours is to wait for what it does. */
const OF_TERMINAL: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT'];
/** Sent to this process alone. */
const PASSED_ON: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGHUP', 'SIGUSR2'];
const STOP_POLL_MS = 250;

/** As a shell gives them. */
const NOT_STARTED = 126;
const BY_SIGNAL = 128;

/** Why a command cannot be started, by its state, with the exit status that a shell gives it. */
export const COMMAND_FAILURES = {
  missing: { status: 127, failure: 'there is no such command' },
  'no-permission': { status: NOT_STARTED, failure: 'its file is there, and this user may not execute it' },
} as const;

export type Child = { command: string; args: readonly string[]; env: Environment; cwd: string };

/** @returns the exit status for a shell: the child's own, or 128 and the signal that ended it; `failure`: it could not be started */
export async function runChild({ command, args, env, cwd }: Child): Promise<{ status: number; failure?: string }> {
  const listeners = new Map<NodeJS.Signals, () => void>();
  let child: ChildProcess | undefined;
  for (const signal of OF_TERMINAL) listeners.set(signal, () => {});
  for (const signal of PASSED_ON) listeners.set(signal, () => void child?.kill(signal));
  for (const [signal, listener] of listeners) process.on(signal, listener); // before it starts: none is missed
  const stopping = followStops(() => child?.pid);
  try {
    return await new Promise((ended) => {
      child = spawn(command, args, { cwd, env, stdio: 'inherit' });
      child.once('error', (error: NodeJS.ErrnoException) => ended(failed(error)));
      child.once('exit', (code, signal) =>
        ended({ status: code ?? BY_SIGNAL + constants.signals[signal ?? 'SIGKILL'] }),
      );
    });
  } finally {
    stopping.end();
    for (const [signal, listener] of listeners) process.off(signal, listener);
  }
}

function failed({ code }: NodeJS.ErrnoException): { status: number; failure: string } {
  if (code === 'ENOENT') return COMMAND_FAILURES.missing;
  if (code === 'EACCES') return COMMAND_FAILURES['no-permission'];
  return { status: NOT_STARTED, failure: code ?? 'unknown error' };
}

/**
 * A harness that stops itself (Ctrl-Z, which it reads as a key) would leave a shell waiting for us: we stop as well, and when the shell
 * continues us, so does the harness. Only where /proc shows it, and on a terminal.
 */
function followStops(pid: () => number | undefined): { end(): void } {
  if (process.platform !== 'linux' || !process.stdin.isTTY) return { end: () => {} };
  const timer = setInterval(() => {
    const own = pid();
    if (own === undefined || !isStopped(own)) return;
    process.kill(process.pid, 'SIGSTOP'); // from here on after the shell has continued us
    process.kill(own, 'SIGCONT');
  }, STOP_POLL_MS).unref();
  return { end: () => clearInterval(timer) };
}

function isStopped(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T'); // the command before it may hold anything
  } catch {
    return false;
  }
}
