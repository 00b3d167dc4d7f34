/**
 * The register of running harnesses, a folder with a file for each `svc start`: while it holds one of a living process, the shared service goes on.
 * The service removes the folder before it ends, which the system refuses while a file is in it: so nobody registers with a service that ends.
 */
import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive, markOf, type ProcessMark } from '../../db/client/process-mark.ts';

const folderIn = (svcFolder: string) => join(svcFolder, 'harnesses');

/** For the service that has the folder locked: from now on harnesses can be registered. */
export const openRegister = (svcFolder: string): void => {
  mkdirSync(folderIn(svcFolder), { recursive: true, mode: 0o700 });
};

/** Registers this process. @returns removes it again; null: the register is closed, for no service runs or it ends */
export function register(svcFolder: string): (() => void) | null {
  const name = `${process.pid}-${randomUUID()}`;
  const path = join(folderIn(svcFolder), name);
  const passing = join(svcFolder, `harness.${name}.new`);
  try {
    writeFileSync(passing, JSON.stringify(markOf(process.pid)), { mode: 0o600 });
    renameSync(passing, path); // a reader sees all of it
    return () => rmSync(path, { force: true });
  } catch (error) {
    rmSync(passing, { force: true });
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** How many living processes are registered; those that are gone are removed. */
export function registered(svcFolder: string): number {
  let living = 0;
  for (const name of namesIn(folderIn(svcFolder))) {
    const path = join(folderIn(svcFolder), name);
    if (isAliveIn(path)) living += 1;
    else rmSync(path, { force: true });
  }
  return living;
}

/** False: a harness is registered, and the service goes on. */
export function closeRegister(svcFolder: string): boolean {
  try {
    rmdirSync(folderIn(svcFolder));
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT';
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // closed
  }
}

/** Whether the process that wrote its mark there lives. */
export function isAliveIn(path: string): boolean {
  try {
    return isAlive(JSON.parse(readFileSync(path, 'utf8')) as ProcessMark);
  } catch {
    return false; // removed meanwhile, or cut by a power loss
  }
}
