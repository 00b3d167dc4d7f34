/** `svc service uninstall`: stops the service and removes its file. What it has recorded stays. */
import { existsSync, rmSync } from 'node:fs';
import type { Io } from '../io.ts';
import { type Machine, managerOf } from './manager.ts';
import { shown } from './run-command.ts';
import { runSteps } from './steps.ts';

type UninstallOptions = { dryRun: boolean; json: boolean };

/**
 * @returns the exit status: 1 where the service may still run, so that its file stays, or where the service manager has not read that the
 * file is gone @throws {OperatorError} there is no service manager
 */
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
  const isStopped = stopped.failed === null;
  if (isStopped) rmSync(file, { force: true });
  const forgotten = isStopped ? await runSteps(after, io) : { ran: [], failed: stopped.failed };
  const commands = [...stopped.ran, ...forgotten.ran];
  const removed = isThere && isStopped;
  if (json) io.out(`${JSON.stringify({ manager: manager.name, file, removed, commands }, null, 2)}\n`);
  else if (!isStopped) io.err(`The service may still run, so its file stays: ${file}\n`);
  else if (!isThere) io.out(NONE);
  else io.out(`${commands.map((line) => `Ran ${line}\n`).join('')}Removed ${file}; what it has recorded stays\n`);
  return forgotten.failed === null ? 0 : 1;
}

const NONE = 'No service is installed\n';
