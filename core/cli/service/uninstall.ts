/** `svc service uninstall`: stops the service and removes its file. What it has recorded stays. */
import { existsSync, rmSync } from 'node:fs';
import type { Io } from '../io.ts';
import { type Machine, managerOf } from './manager.ts';
import { shown } from './run-command.ts';
import { runSteps } from './steps.ts';

type UninstallOptions = { dryRun: boolean; json: boolean };

/** @returns the exit status @throws {OperatorError} there is no service manager */
export async function uninstallService(
  { dryRun, json }: UninstallOptions,
  io: Io,
  machine: Pick<Machine, 'platform' | 'uid'> = {},
): Promise<0 | 1> {
  const manager = managerOf({ ...io, ...machine });
  const { file } = manager;
  const isThere = existsSync(file);
  const before = isThere ? manager.uninstall : [];
  const after = isThere ? manager.forget : [];
  if (dryRun) {
    const commands = [...before, ...after].map(({ command }) => shown(command));
    if (json) io.out(`${JSON.stringify({ manager: manager.name, file, installed: isThere, commands }, null, 2)}\n`);
    else io.out(isThere ? `# ${file} would be removed\n${commands.map((line) => `# ${line}\n`).join('')}` : NONE);
    return 0;
  }
  const stopped = await runSteps(before, io);
  rmSync(file, { force: true });
  const forgotten = await runSteps(after, io);
  const commands = [...stopped.ran, ...forgotten.ran];
  if (json) io.out(`${JSON.stringify({ manager: manager.name, file, removed: isThere, commands }, null, 2)}\n`);
  else if (!isThere) io.out(NONE);
  else io.out(`${commands.map((line) => `Ran ${line}\n`).join('')}Removed ${file}; what it has recorded stays\n`);
  return forgotten.failed === null ? 0 : 1;
}

const NONE = 'No service is installed\n';
