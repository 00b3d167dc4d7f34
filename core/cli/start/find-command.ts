/** Whether a command is there to be started, before a service is started for it. */
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import type { Environment } from '../../config/environment.ts';

/** True as well where the system finds commands in ways of its own. */
export function isCommand(command: string, env: Environment, cwd: string): boolean {
  if (process.platform === 'win32') return true;
  if (command.includes('/')) return isProgram(resolve(cwd, command));
  return (env.PATH ?? '').split(delimiter).some((folder) => isProgram(join(resolve(cwd, folder), command)));
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
