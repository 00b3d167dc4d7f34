/** The memory of processes, as the kernel counts it. */
import { readFileSync } from 'node:fs';

/** Resident bytes of these processes together; one that has ended holds none. */
export const residentBytes = (...pids: number[]): number => pids.reduce((sum, pid) => sum + residentOf(pid), 0);

function residentOf(pid: number): number {
  try {
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}
