/** What distinguishes a process from one that had, or will have, the same pid: by it a file can name who wrote it, and others see whether they live. */
import { readFileSync, readlinkSync } from 'node:fs';

export type ProcessMark = {
  pid: number;
  /** In ticks since the machine started; '' where there is no /proc. */
  started: string;
  /** Changes with a restart of the machine, which ends all processes, and of a container, which ends its own. */
  boot: string;
};

export const markOf = (pid: number): ProcessMark => ({ pid, started: startOf(pid), boot: bootId() });

export function isAlive({ pid, started, boot }: ProcessMark): boolean {
  if (boot !== bootId()) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false; // EPERM: another user's, but alive
  }
  return started === startOf(pid);
}

function startOf(pid: number): string {
  const stat = readOrEmpty(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''; // field 22; the command before it may hold spaces
}

const bootId = () =>
  readOrEmpty(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()) +
  readOrEmpty(() => readlinkSync('/proc/self/ns/pid'));

function readOrEmpty(text: () => string): string {
  try {
    return text();
  } catch {
    return '';
  }
}
