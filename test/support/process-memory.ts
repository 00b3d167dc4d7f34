/** What each process of a service holds in memory, over time: everything that the started process has started, by what its command line says. */
import { readdirSync, readFileSync } from 'node:fs';

export type ProcessMemory = { pid: number; name: string; mib: number };

/** One look at all of them. `ms` since the first. */
export type MemorySample = { ms: number; processes: readonly ProcessMemory[] };

/** A process's memory in the second quarter of the time and in the last: the medians. */
export type Growth = { name: string; fromMib: number; toMib: number };

const KIB_PER_MIB = 1024;
const NAME_CHARACTERS = 60;

/** The process and its descendants; those that have ended meanwhile are left out. */
export const memoryOf = (pid: number): ProcessMemory[] =>
  processesOf(pid)
    .map((one) => ({ pid: one, name: nameOf(textOf(`/proc/${one}/cmdline`)), mib: mibOf(one) }))
    .filter(({ mib }) => mib > 0);

/** The ids of the process and its descendants. */
export function processesOf(pid: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc'))
    if (/^\d+$/.test(name)) {
      const [, parent = ''] = /^\S \s*(\d+) /.exec(textOf(`/proc/${name}/stat`).replace(/^.*\) /s, '')) ?? [];
      parents.set(Number(name), Number(parent));
    }
  const pids = [pid];
  for (const one of pids) for (const [child, parent] of parents) if (parent === one) pids.push(child);
  return pids;
}

/** In MiB, of all of them together: when the watch began, the most since then, and at this moment. */
export type MemoryWatch = { idle: number; peak(): number; now(): number; stop(): void };

/** Looks twice a second. */
export function watchMemory(pid: number): MemoryWatch {
  const now = () => memoryOf(pid).reduce((sum, { mib }) => sum + mib, 0);
  const idle = now();
  let peak = idle;
  const looking = setInterval(() => {
    peak = Math.max(peak, now());
  }, 500);
  return { idle, peak: () => peak, now, stop: () => clearInterval(looking) };
}

/**
 * Each process that was there in both quarters. Processes of one name count together, so one that is started again goes on; what ends when it
 * is not needed counts where it was there.
 */
export function growthOf(samples: readonly MemorySample[]): Growth[] {
  const [second, last] = [quarter(samples, 1), quarter(samples, 3)];
  const names = new Set(samples.flatMap(({ processes }) => processes.map(({ name }) => name)));
  return [...names].flatMap((name) => {
    const [fromMib, toMib] = [second, last].map((some) => median(some.flatMap((sample) => heldBy(name, sample))));
    return fromMib === undefined || toMib === undefined ? [] : [{ name, fromMib, toMib }];
  });
}

/** The sum of those with that name; none: no such process was there. */
export function heldBy(name: string, { processes }: MemorySample): number[] {
  const own = processes.filter((process) => process.name === name);
  return own.length === 0 ? [] : [own.reduce((sum, { mib }) => sum + mib, 0)];
}

function quarter(samples: readonly MemorySample[], index: number): MemorySample[] {
  const ms = samples.at(-1)?.ms ?? 0;
  return samples.filter((sample) => Math.min(3, Math.floor((4 * sample.ms) / ms)) === index);
}

function median(values: readonly number[]): number | undefined {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
}

/** Its title, or the script and its arguments up to the first path: without Node, V8's flags, and what starts and confines it. */
function nameOf(commandLine: string): string {
  const words = commandLine.split('\0').filter((word) => word !== '');
  const at = words.findIndex((word) => /^\/.*\.m?[jt]s$/.test(word) && !word.includes('/tsx/'));
  if (at < 0) return words.join(' ').slice(0, NAME_CHARACTERS);
  const script = words[at]?.split('/').slice(-2).join('/') ?? '';
  const args = words.slice(at + 1);
  const path = args.findIndex((word) => word.includes('/'));
  return [script, ...args.slice(0, path < 0 ? args.length : path)].join(' ');
}

/** Its share of what it has in memory (PSS); where the kernel does not say, all of it (RSS). 0: it has ended. */
function mibOf(pid: number): number {
  const [, kib = '0'] =
    /^Pss:\s+(\d+) kB$/m.exec(textOf(`/proc/${pid}/smaps_rollup`)) ??
    /^VmRSS:\s+(\d+) kB$/m.exec(textOf(`/proc/${pid}/status`)) ??
    [];
  return Math.round(Number(kib) / KIB_PER_MIB);
}

/** Empty where there is no such process, or it may not be looked at. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
