/** A split service under load and faults: the ledger of what its clients and senders received beside what is stored and derived. */
import * as assert from 'uvu/assert';
import { emptyServerDatabase } from '../databases.ts';
import { eventually, read } from '../serve.ts';
import { type Fleet, type FleetRole, type Member, startFleet } from './fleet.ts';
import { compare, ledger, settled, storedTurns, type Turn } from './kept.ts';
import { type Call, type Load, startRate } from './load.ts';
import { type Senders, startSenders } from './senders.ts';

export type SplitScale = {
  sizes: Readonly<Record<FleetRole, number>>;
  /** Calls a second of each kind through each proxy, and turns a second that are sent to the ingest APIs together. */
  callsPerSecond: number;
  turnsPerSecond: number;
};

export type SplitStand = {
  fleet: Fleet;
  dsn: string;
  /** Kills a member under its load, and starts it again. */
  killed(member: Member): Promise<void>;
  /** How many calls and turns were begun so far. */
  begun(): number;
  /** How many of them are turns, which senders sent to the ingest APIs. */
  sent(): number;
};

export type SplitFigures = {
  calls: number;
  captured: number;
  partial: number;
  counted: number;
  untraced: number;
  sent: number;
  resent: number;
  kills: number;
  sessions: number;
};

type Options = SplitScale & {
  cluster: string;
  program?: string | undefined;
  env?: Record<string, string>;
  /** Opens the way by which the roles reach the database, and returns its address. */
  through?: (dsn: string) => Promise<{ dsn: string; close(): Promise<unknown> }>;
};

/** @param disturb runs beside the load; afterwards all is compared @throws what is lost, doubled or derived wrongly */
export async function splitUnderLoad(
  { cluster, program, env, through, ...scale }: Options,
  disturb: (stand: SplitStand) => Promise<void>,
): Promise<SplitFigures> {
  const own = await emptyServerDatabase(cluster);
  const undo: (() => Promise<unknown>)[] = [own.drop];
  try {
    const way = through ? await through(own.dsn) : { dsn: own.dsn, close: async () => {} };
    undo.unshift(way.close);
    const fleet = await startFleet({ dsn: way.dsn, sizes: scale.sizes, program, ...(env && { env }) });
    undo.unshift(fleet.close);
    const load = startSplitLoad(fleet, scale);
    undo.unshift(load.stop);
    await disturb({ fleet, dsn: own.dsn, killed: load.killed, begun: load.begun, sent: load.sent });
    await load.stop();
    const figures = await compared(fleet, load);
    assert.equal(await fleet.stop(), [], 'all end with status 0');
    return figures;
  } finally {
    for (const step of undo) await step();
  }
}

type SplitLoad = {
  calls: Call[];
  killedAt: Map<number, number>; // by run
  senders: Senders;
  kills(): number;
  killed(member: Member): Promise<void>;
  begun(): number;
  sent(): number;
  stop(): Promise<void>;
};

/** Each life of a proxy is a run of its own. */
function startSplitLoad(fleet: Fleet, { callsPerSecond, turnsPerSecond }: SplitScale): SplitLoad {
  const calls: Call[] = [];
  const killedAt = new Map<number, number>();
  const running = new Map<Member, { run: number; load: Load }[]>();
  const senders = startSenders(fleet, turnsPerSecond, 0);
  let runs = 0;
  let kills = 0;
  const begin = (member: Member) => {
    const { service } = member;
    if (!service) return;
    const loads = [
      { run: ++runs, load: startRate(service, 'stream', callsPerSecond, runs) },
      { run: ++runs, load: startRate(service, 'small', callsPerSecond, runs) },
    ];
    running.set(member, loads);
  };
  const end = async (member: Member) => {
    const loads = running.get(member) ?? [];
    running.delete(member);
    for (const { load } of loads) {
      await load.stop();
      calls.push(...load.calls);
    }
  };
  for (const member of fleet.of('proxy')) begin(member);
  const stopAll = async () => {
    await Promise.all([senders.stop(), ...fleet.of('proxy').map(end)]);
  };
  let stopped: Promise<void> | undefined;
  return {
    calls,
    killedAt,
    senders,
    kills: () => kills,
    sent: () => senders.turns.length,
    begun: () =>
      calls.length +
      senders.turns.length +
      [...running.values()].flat().reduce((sum, { load }) => sum + load.calls.length, 0),
    killed: async (member) => {
      kills++;
      for (const { run } of running.get(member) ?? []) killedAt.set(run, Date.now());
      await fleet.kill(member);
      await end(member);
      await fleet.start(member);
      if (member.role === 'proxy') begin(member);
    },
    stop: () => {
      stopped ??= stopAll();
      return stopped;
    },
  };
}

/** Waits until everything is stored and derived, and compares it. */
async function compared(fleet: Fleet, load: SplitLoad): Promise<SplitFigures> {
  const api = fleet.of('api')[0]?.service;
  assert.ok(api);
  const calls = [...load.calls];
  for (const [n, { service }] of fleet.of('proxy').entries())
    if (service) calls.push(await settled({ proxy: service.proxy, api: api.api }, 1_000_000 + n));
  const turns = await storedTurns(api);
  const killOf = ({ run }: Call) => load.killedAt.get(run) ?? Number.POSITIVE_INFINITY;
  const { missing, ...figures } = compare(calls, turns, killOf);
  const sent = load.senders.turns;
  for (const { name, accepted } of sent) {
    assert.ok(accepted, name);
    assert.is(
      turns.get(name)?.length ?? 0,
      1,
      `"${name}" was accepted, and is stored ${turns.get(name)?.length ?? 0} times`,
    );
  }
  const known = new Set([...calls, ...sent].map(({ name }) => name));
  assert.equal(
    [...turns.keys()].filter((name) => name !== '' && !known.has(name)),
    [],
    'nothing else is stored',
  );
  const { captured = 0, partial = 0, crashed = 0 } = (await ledger(api)).outcomes;
  assert.is(captured, figures.captured + sent.length, 'the ledger counts each captured turn once');
  assert.is(partial, figures.partial, 'and each partial one');
  const untraced = calls.length - figures.captured - figures.partial - crashed;
  assert.ok(untraced >= 0 && untraced <= missing.length, `${untraced} of ${missing.length} left no trace`);
  const sessions = await derivedRight(api.api, turns);
  return {
    ...figures,
    ...{ counted: crashed, untraced, sent: sent.length, resent: sent.filter(({ tries }) => tries > 1).length },
    ...{ kills: load.kills(), sessions },
  };
}

type Item = { id: string; raw_turn_count: number; rollup: { kind_counts: Record<string, number> } };

/** What the derive workers have made amid the faults is what they make of the same turns in peace. */
async function derivedRight(api: string, turns: ReadonlyMap<string, readonly Turn[]>): Promise<number> {
  await eventually('all to be derived', async () => {
    const { derive } = await read<{ derive: { queued: number; parked: number } }>(`${api}/v1/admin/status`);
    assert.is(derive.parked, 0, 'no session has failed too often');
    return derive.queued === 0;
  });
  const before = await sessionsOf(api);
  const stored = [...turns.values()].reduce((sum, { length }) => sum + length, 0);
  assert.is(
    before.reduce((sum, { raw_turn_count }) => sum + raw_turn_count, 0),
    stored,
    'each turn is in one session',
  );
  const again = await fetch(`${api}/v1/admin/derive/run`, { method: 'POST' });
  assert.is(again.status, 200, await again.text());
  assert.equal((await sessionsOf(api)).map(rolled), before.map(rolled), 'deriving again changes nothing');
  return before.length;
}

const rolled = ({ id, raw_turn_count, rollup }: Item) => ({ id, raw_turn_count, rollup });

async function sessionsOf(api: string): Promise<Item[]> {
  const found: Item[] = [];
  for (let cursor = ''; ; ) {
    const page = await read<{ items: Item[]; next_cursor?: string }>(
      `${api}/v1/sessions?limit=200${cursor && `&cursor=${cursor}`}`,
    );
    found.push(...page.items);
    if (!page.next_cursor) return found.sort((one, other) => (one.id < other.id ? -1 : 1));
    cursor = page.next_cursor;
  }
}
