/** `svc service logs`: the last lines of the service's log, and those that come, by the program that keeps them. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { OperatorError } from '../../errors.ts';
import type { Io } from '../io.ts';
import { plain } from '../units.ts';
import { type Machine, managerOf } from './manager.ts';

/** @returns the exit status of that program @throws {OperatorError} there is none, or `lines` is no number */
export async function printServiceLogs(
  { follow, lines }: { follow: boolean; lines: string },
  io: Io,
  machine: Pick<Machine, 'platform' | 'uid'> = {},
): Promise<number> {
  if (!/^\d{1,6}$/.test(lines)) throw new OperatorError(`Cannot print '${lines}' lines: it must be a whole number`, 2);
  const [program, ...args] = managerOf({ ...io, ...machine }).logs(Number(lines), follow);
  const child = spawn(program, args, { env: io.env, stdio: ['ignore', 'pipe', 'pipe'] });
  createInterface(child.stdout).on('line', (line) => io.out(`${plain(line)}\n`));
  createInterface(child.stderr).on('line', (line) => io.err(`${plain(line)}\n`));
  return new Promise((ended, fail) => {
    child.once('error', (error: NodeJS.ErrnoException) =>
      fail(new OperatorError(`Cannot read the log: ${program} cannot be started (${error.code})`, 1, { cause: error })),
    );
    child.once('close', (code) => ended(code ?? 0)); // Ctrl-C ends what follows, as asked
  });
}
