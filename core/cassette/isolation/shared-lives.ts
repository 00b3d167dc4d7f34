/**
 * The processes in which built-in cassettes run, one after the other: started when a cassette is needed, ended after a while without use, and
 * started again after it has died. Where a cassette was added, the former process ends its work beside the new one.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { aborted } from '../../aborted.ts';
import type { Logger } from '../../log.ts';
import { openBackoff } from '../../retry.ts';
import { CassetteDown } from '../running.ts';
import type { CassetteChannel } from './channel.ts';
import { watch } from './heartbeat.ts';
import { type Member, type SharedLife, startSharedLife } from './shared-life.ts';

export type SharedLives = {
  /** The next process has it. */
  add(member: Member): void;
  /** Waits at most that long for its responses; with the last member the process ends. */
  remove(member: Member, graceMs: number): Promise<void>;
  /** Starts a process where none runs that has the member. @throws {CassetteDown} */
  withChannel<T>(member: Member, signal: AbortSignal, work: (channel: CassetteChannel) => Promise<T>): Promise<T>;
  /** The id of the process that runs now; null: none does. */
  pid(): number | null;
  /** How many processes have died. */
  restarts(): number;
};

export type LivesOptions = {
  log: Logger;
  environment: Readonly<Record<string, string | undefined>>;
  /** The process ends after this time with nothing under way. */
  idleMs?: number;
  loadMs?: number;
  backOff?: { fromMs: number; toMs: number; forgetMs: number };
};

/** One process, from its start until it has ended. */
type Lived = {
  members: ReadonlySet<Member>;
  started: Promise<SharedLife>;
  life: SharedLife | null;
  busy: number;
  uses: number;
  idle?: NodeJS.Timeout;
};

/** How long a request waits for the restart of the process; where it would take longer, the request is refused. */
const LONGEST_PAUSE_MS = 1_000;
const HEARTBEAT = { everyMs: 10_000, withinMs: 60_000 };

export function openSharedLives({
  log,
  environment,
  idleMs = 60_000,
  loadMs = 20_000,
  backOff = { fromMs: 200, toMs: 30_000, forgetMs: 60_000 },
}: LivesOptions): SharedLives {
  const members = new Set<Member>();
  const lives = new Set<Lived>();
  let current: Lived | null = null;
  const waits = openBackoff({ firstMs: backOff.fromMs, maxMs: backOff.toMs });
  let notBefore = 0;
  let reason = '';
  let restarts = 0;

  function begin(): Lived {
    const all = [...members];
    const lived: Lived = {
      members: new Set(all),
      started: startSharedLife(all, { log, environment, loadMs }),
      ...{ life: null, busy: 0, uses: 0 },
    };
    lives.add(lived);
    lived.started.then(
      (life) => follow(lived, life),
      (error: Error) => onEnded(lived, error.message),
    );
    return lived;
  }

  function follow(lived: Lived, life: SharedLife): void {
    const since = performance.now();
    lived.life = life;
    log.debug({ pid: life.pid }, 'the process of built-in cassettes runs');
    const stopWatching = watch({ channel: { beat: () => beatOf(life) }, end: (why) => life.end(why) }, HEARTBEAT);
    startIdleTimer(lived);
    void life.ended.then((why) => {
      stopWatching();
      if (performance.now() - since > backOff.forgetMs) waits.reset();
      onEnded(lived, why);
    });
  }

  function onEnded(lived: Lived, why: string): void {
    clearTimeout(lived.idle);
    lives.delete(lived);
    if (current === lived) current = null;
    if (why === IDLE) return;
    const ms = waits.next();
    restarts += 1;
    reason = why;
    notBefore = performance.now() + ms;
    log.warn({ reason: why }, 'the process of built-in cassettes ended, and is started again when it is needed');
  }

  /** Ends the process after some time with nothing under way; responses may still be being read, so it is drained first. */
  function startIdleTimer(lived: Lived): void {
    clearTimeout(lived.idle);
    if (lived.busy > 0) return;
    lived.idle = setTimeout(() => void endIfIdle(lived), lived === current ? idleMs : 0).unref();
  }

  async function endIfIdle(lived: Lived): Promise<void> {
    const { life, uses } = lived;
    if (!life) return;
    await Promise.all([...life.channels.values()].map((channel) => channel.drain())).catch(() => {});
    if (lived.uses !== uses || lived.busy > 0) return;
    if (current === lived) current = null;
    life.end(IDLE);
  }

  /** The current life, if it has this member; else a new one with all members, and the former ends when its responses are over. */
  function lifeFor(member: Member): Lived {
    if (current?.members.has(member)) return current;
    const former = current;
    current = begin();
    if (former) startIdleTimer(former);
    return current;
  }

  async function withChannel<T>(
    member: Member,
    signal: AbortSignal,
    work: (channel: CassetteChannel) => Promise<T>,
  ): Promise<T> {
    const down = (why: string) => new CassetteDown('unavailable', `Cannot ask "${member.name}": ${why}`);
    const pause = current ? 0 : notBefore - performance.now();
    if (pause > LONGEST_PAUSE_MS) throw down(`its process is started again, since ${reason}`);
    if (pause > 0) await sleep(pause, undefined, { signal });
    if (!members.has(member)) throw down('it was closed');
    const lived = lifeFor(member);
    lived.busy += 1;
    lived.uses += 1;
    try {
      const starting = lived.started.catch((error: Error) => {
        throw down(`its process does not start: ${error.message}`);
      });
      const life = await Promise.race([starting, aborted(signal)]);
      const channel = life.channels.get(member);
      if (!channel) throw down('its process does not have it');
      return await work(channel);
    } finally {
      lived.busy -= 1;
      startIdleTimer(lived);
    }
  }

  async function remove(member: Member, graceMs: number): Promise<void> {
    members.delete(member);
    const affected = [...lives].filter((lived) => lived.members.has(member));
    const draining = affected.map(async ({ started }) => (await started).channels.get(member)?.drain());
    if (graceMs > 0) await Promise.race([Promise.allSettled(draining), sleep(graceMs, undefined, { ref: false })]);
    else for (const one of draining) one.catch(() => {});
    if (members.size > 0) return;
    for (const lived of lives) {
      const life = await lived.started.catch(() => null);
      life?.end(IDLE);
      await life?.ended;
    }
  }

  return {
    add: (member) => void members.add(member),
    remove,
    withChannel,
    pid: () => current?.life?.pid ?? null,
    restarts: () => restarts,
  };
}

const IDLE = 'it was idle';

/** All of its channels lead to one event loop. */
function beatOf({ channels }: SharedLife): Promise<number> {
  const [channel] = channels.values();
  return channel ? channel.beat() : Promise.resolve(0);
}
