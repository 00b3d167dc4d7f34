/** What distinguishes a process from one that had, or will have, the same pid: by it a file can name who wrote it, and others see whether they live. */
import { readFileSync, readlinkSync } from 'node:fs';

export type ProcessMark = {
  pid: number;
  /** In ticks since the machine started; '' where there is no /proc. */
  started: string;
  /** Changes with a restart of the machine, which ends all processes, and of a container, which ends its own. */
  boot: string;
};

export const markOf = (pid: number): ProcessMark => ({ pid, started: statOf(pid).started, boot: bootId() });

export function isAlive({ pid, started, boot }: ProcessMark): boolean {
  if (boot !== bootId()) return false;
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPERM') return false; // EPERM: another user's, but alive
  }
  const stat = statOf(pid);
  return started === stat.started && !isZombie(stat);
}

/** Killed, with all its threads, while its parent has not looked at its end, as in a container whose first process never does. */
const isZombie = ({ state, threads }: Stat): boolean => state === 'Z' && threads <= 1;

type Stat = { state: string; threads: number; started: string };

/** Fields 3, 20 and 22 of it (proc_pid_stat(5)); empty where there is no /proc. */
function statOf(pid: number): Stat {
  const stat = readOrEmpty(() => readFileSync(`/proc/${pid}/stat`, 'utf8'));
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' '); // the command before it may hold spaces
  return { state: fields[0] ?? '', threads: Number(fields[17] ?? 0), started: fields[19] ?? '' };
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
