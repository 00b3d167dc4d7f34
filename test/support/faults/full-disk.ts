/** A full disk, with journal and embedded database on it: calls pass, what is not stored is counted, and all goes on when there is room. */
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { eventually, type Service } from '../serve.ts';
import { compare, type Figures, keptAgain, ledger, refusals, settled, storedTurns } from './kept.ts';
import { answerOf, ask, type Call, type Load, startClients, startRate } from './load.ts';
import { assertLedger, pause } from './outage.ts';
import { type SmallDisk, smallDisk } from './own-mounts.ts';
import { faultStand, type StandOptions } from './stand.ts';

const SAMPLES = 40;

export type DiskFigures = Figures & { refused: number };

/** Must run in mounts of its own. @param perSecond calls of a stream each, besides clients with large bodies before and after */
export async function diskFull(
  options: StandOptions,
  { diskBytes, times, fullMs, perSecond }: { diskBytes: number; times: number; fullMs: number; perSecond: number },
): Promise<DiskFigures> {
  const disks: SmallDisk[] = [];
  const prepare = async (folder: string) => {
    const disk = smallDisk(join(folder, '.svc'), diskBytes);
    disks.push(disk);
    return disk.unmount;
  };
  const stand = await faultStand({ ...options, prepare });
  const [disk] = disks;
  assert.ok(disk);
  let service: Service | null = null;
  let load: Load | null = null;
  try {
    service = await stand.start();
    const running = service;
    const calls: Call[] = [];
    let refused = 0;
    for (let time = 0; time < times; time++) {
      calls.push(...(await busyMoment(service, 3 * time)), await settled(service, 1_000 + 2 * time));
      load = startRate(service, 'stream', perSecond, 3 * time + 1);
      await pause(500); // some calls are under way
      disk.fill();
      await eventually('the disk to be full', async () => (await refusals(running)) > refused, 60_000);
      await pause(fullMs);
      disk.free();
      await pause(fullMs / 2); // while calls go on
      await load.stop();
      calls.push(...load.calls);
      await keptAgain(running, calls, 3 * time + 2);
      calls.push(...(await busyMoment(service, 3 * time + 2)), await settled(service, 1_001 + 2 * time));
      refused = await refusals(service);
    }
    assert.is(calls.filter(({ endedAt }) => endedAt === null).length, 0, 'no client noticed');
    await sameAsDirect(calls, stand.provider);
    const { missing: _, ...figures } = compare(calls, await storedTurns(service));
    assert.is(figures.counted, refused, 'what is not stored is counted');
    assert.ok(refused > 0 && figures.captured > times);
    const outcomes = { captured: figures.captured, partial: figures.partial, journal_full: refused };
    await assertLedger(service, Object.fromEntries(Object.entries(outcomes).filter(([, count]) => count > 0)));

    await service.kill(); // and all of it is on the disk
    service = await stand.start();
    calls.push(await settled(service, 9_999));
    assert.is((await ledger(service)).requests, calls.length);
    assert.is(compare(calls, await storedTurns(service)).counted, refused);
    return { ...figures, refused };
  } finally {
    await load?.stop();
    disk.free();
    if (service) assert.is(await service.stop(), 0);
    await stand.close();
  }
}

async function busyMoment(service: Service, run: number): Promise<Call[]> {
  const load = startClients(service, ['large', 'stream'], run);
  await pause(400);
  await load.stop();
  return load.calls;
}

/** Checks that clients received through the proxy what the provider sends them directly. */
async function sameAsDirect(calls: readonly Call[], provider: string): Promise<void> {
  const step = Math.ceil(calls.length / SAMPLES);
  for (const call of calls.filter((_, n) => n % step === 0)) {
    const direct = { ...call, heard: [] };
    await ask(provider, direct);
    assert.ok(answerOf(direct).equals(answerOf(call)), `the client of "${call.name}" heard what the provider said`);
  }
}
