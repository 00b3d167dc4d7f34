/**
 * `npm run soak`: does nothing get lost when things go wrong for long? The scenarios that `npm test` runs small, at full length, on both
 * databases where SVC_TEST_DSN names a server. `npm run soak -- kills` for one part. Prints what was done; status 1 when a rule is broken.
 * SVC_SOAK_IDLE_MINUTES: how long `idle` takes; default: an hour. SVC_SOAK_SPLIT_MINUTES: how long `split` does; default: 15.
 */
import { join } from 'node:path';
import { attacksBesideLoad } from '../support/attacks/beside-load.ts';
import { buildService } from '../support/built-service.ts';
import { diskFull } from '../support/faults/full-disk.ts';
import { journalFull } from '../support/faults/full-journal.ts';
import { WRITTEN_MS } from '../support/faults/kept.ts';
import { killsUnderLoad } from '../support/faults/kills.ts';
import { openCallBesideTraffic } from '../support/faults/long-stream.ts';
import { databaseAway } from '../support/faults/outage.ts';
import { inOwnMounts } from '../support/faults/own-mounts.ts';
import { poisonAmongOthers } from '../support/faults/poison-turn.ts';
import { type SplitSample, splitSoak } from '../support/faults/split-soak.ts';
import { lightDay } from '../support/light-day.ts';
import { heldBy, type MemorySample } from '../support/process-memory.ts';
import { emptyFolder, removeFolder } from '../support/serve.ts';

const MIB = 1_048_576;
const GROWTH_MIB = 50; // of a process whose database is away
const ATTACKED = { stallMs: 250, grownMib: 500 }; // at most: while proxy and APIs share a loop
const IDLE_MS = 60_000 * Number(process.env.SVC_SOAK_IDLE_MINUTES ?? 60);
const SPLIT_MINUTES = Number(process.env.SVC_SOAK_SPLIT_MINUTES ?? 15);
const IDLE_CALL_MS = 12_000;
const IDLE_GROWTH_MIB = 32; // of a process, from the second quarter to the last: what is flat wavers by half of it
const OUTAGE = { warmMs: 20_000, awayMs: 300_000, afterMs: 5_000, perSecond: 50 };

type Where = { cluster: string; program: string };
type Part = { databases: readonly ('embedded' | 'server')[]; run(where: Where): Promise<Record<string, number>> };

const both = ['embedded', 'server'] as const;

const parts: Record<string, Part> = {
  attacks: {
    databases: both,
    run: async (where) => {
      const figures = await attacksBesideLoad(
        where,
        { eachMs: 10_000, requestMs: 5_000, perSecond: 50 },
        (attack, observed) => console.log(`      ${attack.padEnd(56)} ${written(observed)}`),
      );
      const { worstStallMs, peakMib, idleMib } = figures;
      if (worstStallMs > ATTACKED.stallMs || peakMib > idleMib + ATTACKED.grownMib)
        throw new Error(`Others waited too long, or it took too much memory: ${written(figures)}`);
      return figures;
    },
  },
  kills: {
    databases: both,
    run: (where) =>
      killsUnderLoad(where, {
        kills: where.cluster === '' ? 100 : 50,
        aliveMs: [30, 2_500],
        writtenMs: WRITTEN_MS.bar,
      }),
  },
  outage: {
    databases: ['server'],
    run: async (where) => {
      const figures = await databaseAway(where, OUTAGE);
      if (figures.grownMib > GROWTH_MIB) throw new Error(`it grew by ${figures.grownMib} MiB: ${written(figures)}`);
      return figures;
    },
  },
  disk: {
    databases: both,
    run: (where) => diskFull(where, { diskBytes: 160 * MIB, times: 4, fullMs: 20_000, perSecond: 50 }),
  },
  journal: {
    databases: ['server'],
    run: (where) => journalFull(where, { maxBytes: 32 * MIB, times: 5, fullMs: 5_000 }),
  },
  poison: { databases: both, run: (where) => poisonAmongOthers(where, { calls: 1_000, poison: 20 }) },
  idle: {
    databases: ['embedded'], // what it holds is the service's own memory
    run: async (where) => {
      const calls = Math.ceil(IDLE_MS / IDLE_CALL_MS);
      const growths = await lightDay(where, { calls, everyMs: IDLE_CALL_MS }, printEach(IDLE_MS / 12));
      const grown = growths.filter(({ fromMib, toMib }) => toMib > fromMib + IDLE_GROWTH_MIB);
      const named = growths.map(({ name, fromMib, toMib }) => `${name}: ${fromMib} MiB became ${toMib} MiB`);
      console.log(`      ${named.join('\n      ')}`);
      if (growths.length === 0) throw new Error('no process was there for long enough');
      if (grown.length > 0) throw new Error(`it grew: ${grown.map(({ name }) => name).join(', ')}`);
      return { calls, processes: growths.length };
    },
  },
  split: {
    databases: ['server'],
    run: (where) => splitSoak({ ...where, minutes: SPLIT_MINUTES }, printSplit),
  },
  stream: {
    databases: both,
    run: (where) => openCallBesideTraffic(where, { maxBytes: 64 * MIB, passBytes: 500 * MIB }),
  },
};

const requested = process.argv.slice(2);
const unknown = requested.filter((name) => !(name in parts));
if (unknown.length > 0) throw new Error(`Cannot soak ${unknown.join(', ')}: there is ${Object.keys(parts).join(', ')}`);
const chosen = Object.keys(parts).filter((name) => requested.length === 0 || requested.includes(name));
const elsewhere = chosen.includes('disk') ? inOwnMounts() : null;
if (typeof elsewhere === 'number') process.exitCode = elsewhere;
else await soak(elsewhere);

/** @param noDisk why no file system of one's own can be had */
async function soak(noDisk: string | null): Promise<void> {
  const folder = await emptyFolder();
  const cluster = process.env.SVC_TEST_DSN ?? '';
  let broken = 0;
  try {
    const program = await buildService(join(folder, 'package'));
    for (const name of chosen)
      for (const database of parts[name]?.databases ?? []) {
        const why = database === 'server' && cluster === '' ? 'SVC_TEST_DSN is not set' : name === 'disk' && noDisk;
        if (why) console.log(`skip: ${name} (${database}): ${why}`);
        else if (!(await holds(name, database, { program, cluster: database === 'server' ? cluster : '' }))) broken++;
      }
  } finally {
    await removeFolder(folder);
  }
  if (broken > 0) process.exitCode = 1;
}

async function holds(name: string, database: string, where: Where): Promise<boolean> {
  const began = performance.now();
  const result = await parts[name]?.run(where).then(
    (figures) => ({ kept: true, text: written(figures) }),
    (error: Error) => ({ kept: false, text: error.message }),
  );
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  console.log(
    `${result?.kept ? ' ok ' : 'FAIL'} ${seconds.padStart(5)} s  ${`${name} (${database})`.padEnd(18)}  ${result?.text}`,
  );
  return result?.kept ?? false;
}

/** Prints the memory of each process now and then. */
function printEach(everyMs: number): (sample: MemorySample) => void {
  let printed = 0;
  return (sample) => {
    if (sample.ms < printed * everyMs) return;
    printed++;
    const names = [...new Set(sample.processes.map(({ name }) => name))];
    const held = names.map((name) => `${name} ${heldBy(name, sample)[0]} MiB`);
    console.log(`${(sample.ms / 60_000).toFixed(1).padStart(8)} min  ${held.join(', ')}`);
  };
}

function printSplit({ ms, begun, stored, mib, deriveLag, journalLag, fault }: SplitSample): void {
  const memory = Object.entries(mib).map(([role, held]) => `${role} ${held}`);
  const lag = `lag ${deriveLag.toFixed(1)} s derive, ${journalLag.toFixed(1)} s journal`;
  console.log(
    `${(ms / 60_000).toFixed(1).padStart(8)} min  ${begun} begun, ${stored} stored  ${lag}  MiB: ${memory.join(', ')}  (${fault})`,
  );
}

/** Each figure behind its name. */
function written(figures: Record<string, number>): string {
  return Object.entries(figures)
    .map(([name, value]) => `${name} ${value.toLocaleString('en')}`)
    .join(', ');
}
