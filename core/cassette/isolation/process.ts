/** Runs a cassette in a process of its own: started in confinement, watched by a heartbeat, and restarted when it ends. */
import { openBackoff } from '../../retry.ts';
import type { Progress } from '../contract.ts';
import { CassetteDown, type Liveness, Rejection, type RunningCassette, type StartModule } from '../running.ts';
import { watch } from './heartbeat.ts';
import type { Life } from './life.ts';
import { CLOSED, openStarter, type StartOptions } from './life-starter.ts';
import { OUTPUT_LIMITS, openGate } from './output.ts';

export type ProcessOptions = StartOptions & {
  heartbeat?: { everyMs: number; withinMs: number };
  backOff?: { fromMs: number; toMs: number; forgetMs: number };
};

/** @throws {Rejection} `start`: it does not load, or what `bindingsFor` throws */
export async function startProcess(module: StartModule, options: ProcessOptions): Promise<RunningCassette> {
  const { name, log } = module;
  const {
    heartbeat = { everyMs: 2_000, withinMs: 10_000 },
    backOff = { fromMs: 200, toMs: 30_000, forgetMs: 60_000 },
  } = options;
  const gate = openGate(log, OUTPUT_LIMITS);
  let progress: Progress | null = null;
  const progressed = (reported: Progress) => {
    progress = reported;
  };
  const starter = await openStarter(module, { ...options, gate, progressed }).catch((error: unknown) => {
    gate.close();
    throw error;
  });

  let closing: Promise<void> | undefined;
  let liveness: Liveness = { state: 'starting', reason: null, restarts: 0 };
  let restartTimer: NodeJS.Timeout | undefined;
  let attempt: Promise<void> | undefined;
  let current: Life | undefined;
  const restarts = openBackoff({ firstMs: backOff.fromMs, maxMs: backOff.toMs });
  let outdate = (_why: Rejection): void => {};
  const outdated = new Promise<Rejection>((resolve) => {
    outdate = resolve;
  });

  const { life: first, loaded } = await starter.start().catch((error: unknown) => {
    gate.close();
    if (error instanceof Rejection) throw error;
    throw new Rejection('start', `Cannot start "${name}": ${reasonIn(error)}`);
  });
  begin(first);

  function begin(life: Life): void {
    const since = performance.now();
    current = life;
    liveness = { ...liveness, state: 'up', ...(liveness.restarts > 0 ? { since: instant() } : {}) };
    const stopWatching = watch(life, heartbeat);
    void life.ended.then((reason) => {
      stopWatching();
      if (current === life) current = undefined;
      if (closing) return;
      if (performance.now() - since > backOff.forgetMs) restarts.reset();
      scheduleRestart(reason);
    });
  }

  function scheduleRestart(reason: string): void {
    const ms = restarts.next();
    const since = (liveness.state === 'restarting' ? liveness.since : undefined) ?? instant();
    liveness = { state: 'restarting', reason, restarts: liveness.restarts, since };
    log.warn({ reason, again_in_ms: ms }, 'the process of the cassette ended, and is started again');
    restartTimer = setTimeout(() => {
      attempt = restart().finally(() => {
        attempt = undefined;
      });
    }, ms);
  }

  async function restart(): Promise<void> {
    liveness = { ...liveness, restarts: liveness.restarts + 1 };
    try {
      await module.unchanged?.();
      const { life } = await starter.start();
      if (!closing) return begin(life);
      life.end(CLOSED);
      await life.ended;
    } catch (error) {
      if (closing) return;
      if (!(error instanceof Rejection && error.step === 'digest')) return scheduleRestart(reasonIn(error));
      liveness = { ...liveness, state: 'down', reason: error.message };
      outdate(error);
    }
  }

  const currentLife = (): Life => {
    if (current) return current;
    const { state, reason } = liveness;
    const why =
      state === 'closed'
        ? 'it was closed'
        : state === 'down'
          ? 'its files are not those that were admitted'
          : `it is started again, since ${reason}`;
    throw new CassetteDown('unavailable', `Cannot ask "${name}": ${why}`);
  };

  async function close(graceMs: number): Promise<void> {
    liveness = { ...liveness, state: 'closed' };
    clearTimeout(restartTimer);
    starter.cancel();
    const life = current;
    current = undefined;
    if (life) {
      const timer = setTimeout(life.end, graceMs, CLOSED);
      if (graceMs > 0) await life.channel.drain().catch(() => {});
      clearTimeout(timer);
      life.end(CLOSED);
      await life.ended;
    }
    await attempt;
    gate.close();
  }

  return {
    loaded,
    get confinement() {
      return starter.confinement();
    },
    liveness: () => liveness,
    outdated,
    progress: () => progress,
    fetch: async (request) => currentLife().channel.fetch(request),
    scheduled: async (event) => currentLife().channel.scheduled(event),
    close: (graceMs) => {
      closing ??= close(graceMs);
      return closing;
    },
  };
}

const reasonIn = (error: unknown): string => (error instanceof Error ? error.message : 'it failed');

const instant = () => `${new Date().toISOString().slice(0, 19)}Z`;
