/** A split service for long, at a fixed rate, with a random fault now and then: ledger, memory and lag over time, and the comparison at its end. */
import { randomInt } from 'node:crypto';
import * as assert from 'uvu/assert';
import { consumed, newTopic, type OwnBroker, startBroker } from '../kafka.ts';
import { read } from '../serve.ts';
import { assertReady, type FaultyDatabase, faultyDatabase } from './database-faults.ts';
import { type Fleet, type FleetRole, INTERNAL_TOKEN } from './fleet.ts';
import { type SplitFigures, type SplitStand, splitUnderLoad } from './split.ts';

export type SplitSample = {
  ms: number;
  /** Calls and turns that were begun, and what the database has. */
  begun: number;
  stored: number;
  /** MiB of all processes of a role together. */
  mib: Readonly<Record<FleetRole, number>>;
  /** Seconds that the longest waiting session, and the oldest call in a journal, have waited. */
  deriveLag: number;
  journalLag: number;
  /** The fault that came last. */
  fault: string;
};

const SIZES = { proxy: 2, ingest: 2, derive: 2, api: 1 };
const RATE = { callsPerSecond: 5, turnsPerSecond: 5 };
const MIB = 1_048_576;
const BETWEEN_MS: readonly [number, number] = [4_000, 12_000];
const AWAY_MS: readonly [number, number] = [500, 4_000];
/** Longer than a request to it may take. */
const BROKER_AWAY_MS: readonly [number, number] = [2_000, 20_000];
const pause = (ms: number) => new Promise<void>((done) => setTimeout(done, ms));

type Options = { cluster: string; program?: string | undefined; minutes: number };

export async function splitSoak(
  { cluster, program, minutes }: Options,
  show: (sample: SplitSample) => void,
): Promise<SplitFigures & { faults: number; published: number }> {
  let database: FaultyDatabase | undefined;
  let faults = 0;
  const broker = await startBroker();
  const topic = newTopic();
  const env = { SVC_PUBLISHER_STREAM_BROKERS: broker.brokers.join(','), SVC_PUBLISHER_STREAM_TOPIC: topic };
  const through = async (dsn: string) => {
    database = await faultyDatabase(dsn);
    return database;
  };
  const disturb = async (stand: SplitStand) => {
    assert.ok(database);
    const began = performance.now();
    const end = began + minutes * 60_000;
    let fault = 'none yet';
    while (performance.now() < end) {
      await pause(Math.min(randomInt(...BETWEEN_MS), end - performance.now()));
      show({ ms: performance.now() - began, fault, ...(await sampled(stand)) });
      fault = await randomFault(stand, database, broker);
      faults++;
    }
    await assertReady(stand.fleet);
    show({ ms: performance.now() - began, fault, ...(await sampled(stand)) });
  };
  try {
    const figures = await splitUnderLoad({ cluster, program, env, sizes: SIZES, ...RATE, through }, disturb);
    const published = (await consumed(broker.brokers, topic)).length;
    assert.ok(published > 0, 'nodes were published between the faults');
    return { ...figures, faults, published };
  } finally {
    broker.stop();
  }
}

/** One of them, to its end. @returns its name */
async function randomFault(
  { fleet, killed }: SplitStand,
  database: FaultyDatabase,
  broker: OwnBroker,
): Promise<string> {
  const { relay, terminate, fill } = database;
  const of = (name: string, work: () => Promise<unknown>) => ({ name, work });
  const faults = [
    ...fleet.members.map((member) => of(`${member.name} killed`, () => killed(member))),
    of('sessions ended', terminate),
    of('sessions ended', terminate),
    of('connections reset', async () => relay.reset()),
    of('connections reset', async () => relay.reset()),
    of('database away', async () => {
      await relay.cut();
      await pause(randomInt(...AWAY_MS));
      await relay.mend();
    }),
    of('no connection left', async () => {
      await fill(true);
      await pause(randomInt(...AWAY_MS));
      await fill(false);
    }),
    of('broker gone', async () => {
      broker.hang();
      await pause(randomInt(...BROKER_AWAY_MS));
      broker.resume();
    }),
  ];
  const chosen = faults[randomInt(faults.length)];
  assert.ok(chosen);
  await chosen.work();
  return chosen.name;
}

type Status = { derive: { lag_seconds: number }; counts: { raw_turns: number } };

async function sampled({ fleet, begun }: SplitStand): Promise<Omit<SplitSample, 'ms' | 'fault'>> {
  const api = fleet.of('api').find(({ service }) => service)?.service?.api ?? '';
  const status = await read<Status>(`${api}/v1/admin/status`).catch(() => null); // NaN is shown while it cannot be read
  const mib = (role: FleetRole) =>
    Math.round(fleet.of(role).reduce((sum, member) => sum + fleet.residentBytes(member), 0) / MIB);
  return {
    begun: begun(),
    stored: status?.counts.raw_turns ?? Number.NaN,
    mib: { proxy: mib('proxy'), ingest: mib('ingest'), derive: mib('derive'), api: mib('api') },
    deriveLag: status?.derive.lag_seconds ?? Number.NaN,
    journalLag: await journalLag(fleet),
  };
}

async function journalLag(fleet: Fleet): Promise<number> {
  const headers = { authorization: `Bearer ${INTERNAL_TOKEN}` };
  const each = fleet.of('proxy').map(async ({ service }) => {
    const text = await fetch(`${service?.internal}/metrics`, { headers }).then(
      (response) => response.text(),
      () => '',
    );
    return Number(/^svc_journal_oldest_seconds (\S+)$/m.exec(text)?.[1] ?? 0);
  });
  return Math.max(...(await Promise.all(each)));
}
