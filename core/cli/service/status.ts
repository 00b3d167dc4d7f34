/** `svc service status`: whether the service is installed and runs, as its service manager has it. */
import { existsSync } from 'node:fs';
import type { Io } from '../io.ts';
import { plain } from '../units.ts';
import { type Machine, managerOf } from './manager.ts';
import { runCommand } from './run-command.ts';

/** @returns the exit status: 0 while it runs @throws {OperatorError} there is no service manager */
export async function printServiceStatus(
  { json }: { json: boolean },
  io: Io,
  machine: Pick<Machine, 'platform' | 'uid'> = {},
): Promise<0 | 1> {
  const manager = managerOf({ ...io, ...machine });
  const { file, name } = manager;
  const installed = existsSync(file);
  const result = installed ? await runCommand(manager.state, io.env) : null;
  const { running, pid, state } =
    result?.status === 0
      ? manager.stateOf(result.out)
      : {
          running: false,
          pid: null,
          state: installed ? `not known: ${plain(result?.err.split('\n')[0] ?? '')}` : 'not installed',
        };
  if (json) io.out(`${JSON.stringify({ manager: name, file, installed, running, pid, state }, null, 2)}\n`);
  else if (!installed) io.out("No service is installed; 'svc service install' does that\n");
  else io.out(`${running ? `Runs as process ${pid}` : 'Does not run'} (${name}, ${plain(state)})\n${file}\n`);
  return running ? 0 : 1;
}
