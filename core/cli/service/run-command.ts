/** Runs a command of the service manager and returns what it printed; nothing that it prints is taken for its success but its status. */
import { execFile } from 'node:child_process';
import type { Environment } from '../../config/environment.ts';

export type Command = readonly [program: string, ...args: string[]];
/** `status` null: it cannot be run, or was ended. */
export type CommandResult = { status: number | null; out: string; err: string };

const COMMAND_MS = 11 * 60_000; // a start waits until the service is ready

export const runCommand = ([program, ...args]: Command, env: Environment): Promise<CommandResult> =>
  new Promise((done) => {
    const child = execFile(program, args, { env, timeout: COMMAND_MS, encoding: 'utf8' }, (error, out, err) => {
      const reason = error && child.exitCode === null ? ((error as NodeJS.ErrnoException).code ?? 'it was ended') : '';
      done({ status: child.exitCode, out, err: err.trim() || String(reason) });
    });
  });

/** As it is typed in a shell. */
export const shown = (command: Command): string =>
  command.map((word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`)).join(' ');
