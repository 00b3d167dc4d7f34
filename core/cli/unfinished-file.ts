/** The file that a command writes until it is whole and gets its name. */
import { readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/**
 * Its path, beside the one it will have: `record.svc.4711.part`, of this process alone, since another may write to the same one meanwhile.
 * What a process left that is no more is removed, and so is what is there under this name.
 */
export async function unfinishedFile(path: string): Promise<string> {
  const [folder, name] = [dirname(path), basename(path)];
  for (const other of await readdir(folder).catch(() => []))
    if (other.startsWith(name) && isLeft(other.slice(name.length))) await rm(join(folder, other), { force: true });
  const own = `${path}.${process.pid}.part`;
  await rm(own, { force: true }); // of an earlier process with the same number
  return own;
}

function isLeft(ending: string): boolean {
  const [, pid] = /^\.(\d{1,9})\.part$/.exec(ending) ?? [];
  return pid !== undefined && !isRunning(Number(pid));
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
