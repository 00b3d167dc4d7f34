import * as assert from 'uvu/assert';
import { residentBytes } from '../resident.ts';
import { eventually, type Service } from '../serve.ts';
import { type Relay, startRelay } from '../tcp-relay.ts';
import { compare, type Figures, ledger, settled, storedTurns } from './kept.ts';
import { type Call, type Load, startRate } from './load.ts';
import { faultStand, type StandOptions } from './stand.ts';

const MIB = 1_048_576;
const SAMPLE_MS = 1_000;

export type OutageFigures = Figures & { seconds: number; grownMib: number; drainedMs: number };
export type OutageScale = { warmMs: number; awayMs: number; afterMs: number; perSecond: number };

/** With a server only: the embedded database ends with its service. `whileAway` is called in the middle of the outage. */
export async function databaseAway(
  { cluster, ...options }: StandOptions,
  { warmMs, awayMs, afterMs, perSecond }: OutageScale,
  whileAway: (service: Service) => Promise<void> = async () => {},
): Promise<OutageFigures> {
  const relay: Relay = await startRelay(cluster);
  const stand = await faultStand({ ...options, cluster, through: relay.through });
  let service: Service | null = null;
  let load: Load | null = null;
  try {
    service = await stand.start();
    load = startRate(service, 'stream', perSecond, 0);
    await pause(warmMs);
    const pids = Object.values(service.processes());
    const before = residentBytes(...pids);
    await relay.cut();
    let most = 0;
    const end = Date.now() + awayMs;
    const probe = pause(awayMs / 2).then(() => service && whileAway(service));
    while (Date.now() < end) {
      await pause(Math.min(SAMPLE_MS, end - Date.now()));
      most = Math.max(most, residentBytes(...pids));
    }
    await probe;
    await relay.mend();
    const mended = Date.now();
    await pause(afterMs);
    await load.stop();
    const { calls } = load;
    assert.is(calls.filter(({ endedAt }) => endedAt === null).length, 0, 'no client noticed');
    const all: Call[] = [...calls, await settled(service, 0)];
    const drainedMs = Date.now() - mended;
    const { missing, ...figures } = compare(all, await storedTurns(service));
    assert.is(missing.length, 0, 'nothing is lost');
    assert.is(figures.captured, all.length);
    await assertLedger(service, { captured: all.length });
    return { ...figures, seconds: awayMs / 1000, grownMib: Math.round((most - before) / MIB), drainedMs };
  } finally {
    await load?.stop();
    if (service) assert.is(await service.stop(), 0);
    await stand.close();
    await relay.cut();
  }
}

/** Waits until the ledger has that many requests, and checks that it has exactly the expected outcomes. */
export async function assertLedger(service: Service, expected: Record<string, number>): Promise<void> {
  const requests = Object.values(expected).reduce((sum, count) => sum + count, 0);
  const found = await eventually('every request to be booked', async () => {
    const now = await ledger(service).catch(() => null);
    return now && now.requests >= requests && now;
  });
  const some = Object.entries(found.outcomes).filter(([name, count]) => count > 0 || name in expected);
  assert.equal(Object.fromEntries(some), expected);
  assert.is(found.requests, requests);
}

export const pause = (ms: number) => new Promise<void>((done) => setTimeout(done, ms));
