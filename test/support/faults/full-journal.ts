/** The journal reaches its cap while the database is away: calls pass and are counted, and when it is back capture goes on. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { eventually, type Service } from '../serve.ts';
import { startRelay } from '../tcp-relay.ts';
import { compare, type Figures, keptAgain, refusals, settled, storedTurns } from './kept.ts';
import { type Call, startClients } from './load.ts';
import { assertLedger, pause } from './outage.ts';
import { faultStand, type StandOptions } from './stand.ts';

const BOOKS_BYTES = 1_048_576; // the records of calls that are not stored may go beyond the cap

export type FullFigures = Figures & { refused: number };

/** @param times how often it fills up and is emptied again */
export async function journalFull(
  { cluster, ...options }: StandOptions,
  { maxBytes, times, fullMs }: { maxBytes: number; times: number; fullMs: number },
): Promise<FullFigures> {
  const relay = await startRelay(cluster);
  const env = { SVC_JOURNAL_MAX_BYTES: String(maxBytes) };
  const stand = await faultStand({ ...options, cluster, through: relay.through, env });
  let service: Service | null = null;
  try {
    service = await stand.start();
    const running = service;
    const calls: Call[] = [];
    let refused = 0;
    for (let time = 0; time < times; time++) {
      await relay.cut();
      const load = startClients(service, ['large', 'small', 'stream'], time);
      await eventually('the journal to be full', async () => (await refusals(running)) > refused, 120_000);
      await pause(fullMs);
      await load.stop();
      assert.ok(journalBytes(stand.folder) <= maxBytes + BOOKS_BYTES, 'the cap holds');
      await relay.mend();
      calls.push(...load.calls);
      await keptAgain(service, calls, 500 + time);
      refused = await refusals(service);
      calls.push(await settled(service, 1_000 + time)); // this call is stored, so capture goes on
      assert.is(await refusals(service), refused, 'nothing is refused any more');
    }
    assert.is(calls.filter(({ endedAt }) => endedAt === null).length, 0, 'no client noticed');
    const { missing: _, ...figures } = compare(calls, await storedTurns(service));
    assert.is(figures.counted, refused, 'what is not stored is counted');
    assert.ok(refused > 0 && figures.captured > times);
    await assertLedger(service, {
      captured: figures.captured,
      ...(figures.partial > 0 ? { partial: figures.partial } : {}),
      journal_full: refused,
    });
    return { ...figures, refused };
  } finally {
    if (service) assert.is(await service.stop(), 0);
    await stand.close();
    await relay.cut();
  }
}

/** The bytes of the segments of all runs. */
export const journalBytes = (folder: string): number =>
  readdirSync(join(folder, '.svc', 'journal'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.seg'))
    .reduce(
      (sum, path) => sum + (statSync(join(folder, '.svc', 'journal', path), { throwIfNoEntry: false })?.size ?? 0),
      0,
    );
