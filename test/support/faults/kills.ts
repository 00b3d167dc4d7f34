/** kill -9 at random moments under load: what was written in time is stored whole and once, everything else is partial or counted. */
import { randomInt } from 'node:crypto';
import * as assert from 'uvu/assert';
import type { Service } from '../serve.ts';
import { compare, type Figures, ledger, settled, storedTurns, WRITTEN_MS } from './kept.ts';
import { type Call, type Kind, startClients } from './load.ts';
import { faultStand, type StandOptions } from './stand.ts';

const CLIENTS: readonly Kind[] = ['stream', 'stream', 'small', 'small', 'large', 'socket'];

export type KillFigures = Figures & { kills: number; untraced: number };

/** @param aliveMs the minimum and the limit of the time that each run lives, from when it listens
 *  @param writtenMs what happened that long before a kill is in the ledger */
export async function killsUnderLoad(
  options: StandOptions,
  {
    kills,
    aliveMs,
    writtenMs = WRITTEN_MS.test,
  }: { kills: number; aliveMs: readonly [number, number]; writtenMs?: number },
): Promise<KillFigures> {
  const stand = await faultStand(options);
  const calls: Call[] = [];
  const killedAt: number[] = [];
  let sockets = 0;
  let last: Service | null = null;
  try {
    for (let run = 0; run < kills; run++) {
      const service = await stand.start();
      const load = startClients(service, CLIENTS, run);
      await new Promise((done) => setTimeout(done, randomInt(...aliveMs)));
      killedAt[run] = Date.now();
      await service.kill();
      await load.stop();
      calls.push(...load.calls);
      sockets += load.sockets();
    }
    last = await stand.start();
    calls.push(await settled(last, kills));
    const stored = await storedTurns(last);
    const killOf = ({ run }: Call) => killedAt[run] ?? Number.POSITIVE_INFINITY;
    const { missing, ...figures } = compare(calls, stored, killOf, writtenMs);

    const { requests, outcomes } = await ledger(last);
    const { captured = 0, partial = 0, crashed = 0, not_a_turn = 0 } = outcomes;
    assert.is(captured, figures.captured, 'the ledger knows each captured turn');
    assert.is(partial, figures.partial, 'and each partial one');
    assert.is(requests, captured + partial + crashed + not_a_turn, 'and nothing went wrong in any other way');
    assert.ok(not_a_turn <= sockets, `${not_a_turn} sockets are counted, ${sockets} were asked for`);
    const counted = captured + partial + crashed;
    const untraced = calls.length - counted;
    const arrivals = stand.arrivals();
    // A call that came in at the very moment of a kill may have left no trace; one that had reached the upstream has left one.
    const early = missing
      .map((call) => ({ call, ms: killOf(call) - (arrivals.get(call.name) ?? Number.POSITIVE_INFINITY) }))
      .filter(({ ms }) => ms > writtenMs);
    const descriptions = early.map(({ call, ms }) => `"${call.name}" (${call.kind}) ${ms} ms`).join(', ');
    assert.ok(untraced >= 0, `${counted} calls are counted, ${calls.length} were made`);
    assert.ok(
      untraced <= missing.length - early.length,
      `${untraced} of ${missing.length} calls left no trace, and these had come upstream so long before the kill: ${descriptions}`,
    );
    return { ...figures, counted: crashed, kills, untraced };
  } finally {
    if (last) assert.is(await last.stop(), 0);
    await stand.close();
  }
}
