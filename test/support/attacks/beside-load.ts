/** Attacks on a running service, one after the other, beside calls that have to be stored: what other callers notice of each. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as assert from 'uvu/assert';
import { cassetteFolder } from '../cassette-folder.ts';
import { compare, type Figures, settled, storedTurns } from '../faults/kept.ts';
import { type Load, startRate } from '../faults/load.ts';
import { pause } from '../faults/outage.ts';
import { faultStand, type StandOptions } from '../faults/stand.ts';
import { eventually, type Service } from '../serve.ts';
import { FROM_A_CASSETTE, HELPERS } from './cassette.ts';
import { FROM_A_CLIENT } from './client.ts';
import { type Observed, openProbe } from './probe.ts';

export type AttackScale = {
  /** Of each attack. */
  eachMs: number;
  /** The timeout for a hostile response. */
  requestMs: number;
  /** Calls that pass beside the attack. */
  perSecond: number;
  /** Only those whose names have one of these in them; default: all. */
  only?: readonly string[];
};

export type AttackFigures = Figures & { idleMib: number; worstStallMs: number; peakMib: number };

const NAME = 'hostile';
const SETTLE_MS = 1_000; // between two attacks, so that the effects of one are not counted for the next

/**
 * @param report what was observed of each attack, as soon as it is over
 * @throws what was lost or doubled of the calls beside it
 */
export async function attacksBesideLoad(
  options: StandOptions,
  { eachMs, requestMs, perSecond, only = [''] }: AttackScale,
  report: (attack: string, observed: Observed) => void = () => {},
): Promise<AttackFigures> {
  const stand = await faultStand(options);
  const isSelected = (name: string) => only.some((word) => name.includes(word));
  const fromCassette = Object.entries(FROM_A_CASSETTE).filter(([name]) => isSelected(name));
  const fromClient = Object.entries(FROM_A_CLIENT).filter(([name]) => isSelected(name));
  let service: Service | null = null;
  let load: Load | null = null;
  try {
    await installHostile(stand.folder, fromCassette);
    service = await stand.start({
      SVC_LOG_LEVEL: 'error',
      SVC_CASSETTES_BUILT_IN: 'true',
      SVC_CASSETTE_SKILLS_LLM_BASE_URL: `${stand.provider}/v1`,
      SVC_CASSETTE_SKILLS_LLM_API_KEY: 'none',
    });
    const running = service;
    await eventually('the hostile cassette to be admitted', () => answers(running));
    load = startRate(service, 'small', perSecond, 0);
    const probe = openProbe(service, `${service.api}/ping`);
    await pause(SETTLE_MS);
    const { peakMib: idleMib } = await probe.take();
    let worst: Observed = { stallMs: 0, failures: 0, peakMib: 0 };
    const attacked = async (name: string, attack: () => Promise<void>) => {
      const until = Date.now() + eachMs;
      do await attack();
      while (Date.now() < until);
      await pause(SETTLE_MS);
      const observed = await probe.take();
      report(name, observed);
      assert.is(observed.failures, 0, `${name}: every other caller was answered`);
      worst = {
        stallMs: Math.max(worst.stallMs, observed.stallMs),
        failures: 0,
        peakMib: Math.max(worst.peakMib, observed.peakMib),
      };
    };
    for (const [index, [name]] of fromCassette.entries()) {
      await eventually('the cassette to be back', () => answers(running), 120_000);
      await attacked(name, () => provoke(running, index, requestMs));
    }
    for (const [name, attack] of fromClient) await attacked(name, () => attack(running));
    await probe.stop();
    await load.stop();
    const calls = load.calls;
    assert.is(calls.filter(({ endedAt }) => endedAt === null).length, 0, 'no client noticed');
    const all = [...calls, await settled(service, 1)];
    const stored = await storedTurns(service);
    const { missing, ...figures } = compare(all, new Map(all.map(({ name }) => [name, stored.get(name) ?? []])));
    assert.is(missing.length, 0, 'nothing is lost');
    return { ...figures, idleMib, worstStallMs: worst.stallMs, peakMib: worst.peakMib };
  } finally {
    await load?.stop();
    if (service) assert.is(await service.stop(), 0);
    await stand.close();
  }
}

/** One cassette that knows all of the attacks, by number. */
async function installHostile(folder: string, attacks: readonly (readonly [string, string])[]): Promise<void> {
  const cases = attacks.map(([, does], index) => `if (path === '/api/${NAME}/${index}') { ${does} return json({}); }`);
  const manifest = { bindings: { core: true, db: true } };
  await cassetteFolder({ name: NAME, manifest, top: HELPERS, before: cases.join('\n') }, join(folder, NAME));
  await writeFile(
    join(folder, 'cassette.manifest.json'),
    JSON.stringify({ cassettes: [{ name: NAME, source: `./${NAME}`, grants: { bindings: ['core', 'db'] } }] }),
  );
}

const answers = async ({ api }: Service): Promise<boolean> => {
  const response = await fetch(`${api}/v1/cassettes/${NAME}/hello`);
  await response.arrayBuffer();
  return response.ok;
};

async function provoke({ api }: Service, index: number, requestMs: number): Promise<void> {
  try {
    const response = await fetch(`${api}/v1/cassettes/${NAME}/${index}`, { signal: AbortSignal.timeout(requestMs) });
    for await (const _ of response.body ?? []) await pause(50); // a slow reader
  } catch {} // any response, and any end of it, is fine
}
