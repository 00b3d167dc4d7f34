/** Whether a command is there to be started, before a service is started for it. */
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import type { Environment } from '../../config/environment.ts';

/** no-permission: this user may not execute the file, and there is no other one of that name. */
export type CommandState = 'found' | 'missing' | 'no-permission';

/** Looks for it as a shell does. Found as well where the system finds commands in ways of its own. */
export function commandState(command: string, env: Environment, cwd: string): CommandState {
  if (process.platform === 'win32') return 'found';
  const paths = command.includes('/')
    ? [resolve(cwd, command)]
    : (env.PATH ?? '').split(delimiter).map((folder) => join(resolve(cwd, folder), command));
  const states = new Set(paths.map(fileState));
  return (['found', 'no-permission'] as const).find((state) => states.has(state)) ?? 'missing';
}

/** Whether it can be started. */
export const isCommand = (command: string, env: Environment, cwd: string): boolean =>
  commandState(command, env, cwd) === 'found';

function fileState(path: string): CommandState {
  try {
    if (!statSync(path).isFile()) return 'missing';
  } catch {
    return 'missing';
  }
  try {
    accessSync(path, constants.X_OK);
    return 'found';
  } catch {
    return 'no-permission';
  }
}
