/** kill -9 of one process of a service under load, again and again, while the others go on. */
import { randomInt } from 'node:crypto';
import { Agent } from 'node:http';
import * as assert from 'uvu/assert';
import { eventually, type Service } from '../serve.ts';
import { compare, type Figures, ledger, settled, storedTurns, WRITTEN_MS } from './kept.ts';
import { ask, type Call, type Kind, type Load, newCall, startClients } from './load.ts';
import { faultStand, type StandOptions } from './stand.ts';

const CLIENTS: readonly Kind[] = ['stream', 'stream', 'small', 'small', 'large', 'socket'];
const NEXT_PROXY_MS = 500 * 4; // the bar, and what a test on a busy machine allows

type Kills = { kills: number; aliveMs: readonly [number, number] };

const pause = (ms: number) => new Promise<void>((done) => setTimeout(done, ms));

/** Kills a process. @returns when it is replaced, and whoever replaces it serves */
async function replaced(service: Service, name: 'proxy' | 'service'): Promise<void> {
  const before = service.processes()[name];
  process.kill(before, 'SIGKILL');
  await eventually(`another ${name}`, async () => ![0, before].includes(service.processes()[name]));
  await eventually('it to serve', async () => (await fetch(`${service.api}/ping`).catch(() => null))?.ok);
}

/** The service behind the proxy is killed: no client sees anything, and every call is captured, once. */
export async function serviceKills(
  options: StandOptions,
  { kills, aliveMs }: Kills,
): Promise<Figures & { kills: number }> {
  const stand = await faultStand(options);
  let service: Service | null = null;
  let load: Load | null = null;
  try {
    service = await stand.start();
    load = startClients(service, CLIENTS, 0);
    for (let n = 0; n < kills; n++) {
      await pause(randomInt(...aliveMs));
      await replaced(service, 'service');
    }
    await load.stop();
    const { calls } = load;
    assert.equal(
      calls.filter(({ endedAt }) => endedAt === null).map(({ name }) => name),
      [],
      'no client noticed',
    );
    calls.push(await settled(service, 0));
    const { missing, ...figures } = compare(calls, await storedTurns(service));
    assert.is(figures.captured, calls.length, 'each call is captured');
    const { api } = service;
    const expected = calls.length + load.sockets();
    const { requests, outcomes } = await eventually('every request to be booked', async () => {
      const now = await ledger({ api });
      return now.requests >= expected && now; // a socket is booked once both of its ends are closed
    });
    assert.is(outcomes.captured, calls.length, 'the ledger has each once');
    assert.is(requests, expected);
    return { ...figures, kills };
  } finally {
    await load?.stop();
    if (service) assert.is(await service.stop(), 0);
    await stand.close();
  }
}

/** The proxy is killed: the calls under way break off, the next ones wait for the next proxy, and the ledger is exact. */
export async function proxyKills(
  options: StandOptions,
  { kills, aliveMs }: Kills,
): Promise<Figures & { kills: number; untraced: number; slowestMs: number }> {
  const stand = await faultStand(options);
  const calls: Call[] = [];
  const killedAt: number[] = [];
  let service: Service | null = null;
  let sockets = 0;
  let slowestMs = 0;
  try {
    service = await stand.start();
    for (let run = 0; run < kills; run++) {
      const load = startClients(service, CLIENTS, run);
      await pause(randomInt(...aliveMs));
      killedAt[run] = Date.now();
      process.kill(service.processes().proxy, 'SIGKILL');
      await load.stop();
      calls.push(...load.calls);
      sockets += load.sockets();
      const first = newCall(`first after kill ${run}`, 'small', run + 1);
      const from = performance.now();
      await ask(`${service.proxy}/anthropic`, first, new Agent()); // a new connection: it waits, and is not refused
      slowestMs = Math.max(slowestMs, performance.now() - from);
      calls.push(first);
    }
    assert.ok(slowestMs < NEXT_PROXY_MS, `a new connection waited ${Math.round(slowestMs)} ms for the next proxy`);
    calls.push(await settled(service, kills));
    const killOf = ({ run }: Call) => killedAt[run] ?? Number.POSITIVE_INFINITY;
    const { missing, ...figures } = compare(calls, await storedTurns(service), killOf);
    const { requests, outcomes } = await ledger(service);
    const { captured = 0, partial = 0, crashed = 0, not_a_turn = 0 } = outcomes;
    assert.is(captured, figures.captured, 'the ledger knows each captured turn');
    assert.is(partial, figures.partial, 'and each partial one');
    assert.is(requests, captured + partial + crashed + not_a_turn, 'and nothing went wrong in any other way');
    assert.ok(not_a_turn <= sockets, `${not_a_turn} sockets are counted, ${sockets} were opened`);
    const untraced = calls.length - captured - partial - crashed;
    const arrivals = stand.arrivals();
    const early = missing.filter((call) => {
      const arrived = arrivals.get(call.name) ?? Number.POSITIVE_INFINITY;
      return killOf(call) - arrived > WRITTEN_MS.test;
    });
    assert.ok(
      untraced >= 0 && untraced <= missing.length - early.length,
      `${untraced} of ${missing.length} left no trace`,
    );
    return { ...figures, counted: crashed, kills, untraced, slowestMs: Math.round(slowestMs) };
  } finally {
    if (service) assert.is(await service.stop(), 0);
    await stand.close();
  }
}
