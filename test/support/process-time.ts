/** How long a process has computed, and everything that it has started. */
import { readFileSync } from 'node:fs';
import { processesOf } from './process-memory.ts';

const TICKS_PER_SECOND = 100; // proc(5): of the kernels that are in use

/** Seconds of a processor, of those that run at this moment. */
export const processorSeconds = (pid: number): number =>
  processesOf(pid).reduce((sum, one) => sum + ticksOf(one), 0) / TICKS_PER_SECOND;

/** 0: it has ended. */
function ticksOf(pid: number): number {
  try {
    const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ');
    const [user = 0, system = 0] = fields.split(' ').slice(11, 13).map(Number);
    return user + system;
  } catch {
    return 0;
  }
}
