/** Runs a cassette in a process of its own: started in confinement, watched by a heartbeat, and restarted when it ends. */
import { mkdir, realpath } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Progress } from '../contract.ts';
import {
  CassetteDown,
  type Liveness,
  type LoadedModule,
  Rejection,
  type RunningCassette,
  type StartModule,
} from '../running.ts';
import { type ConfinementLevel, confinementOf, findSystemSupport } from './confinement.ts';
import { watch } from './heartbeat.ts';
import { type Life, loadedBy, startLife } from './life.ts';
import { OUTPUT_LIMITS, openGate } from './output.ts';

export type ProcessOptions = {
  /** A private folder that the service owns. */
  tmp: string;
  /** Limit of JavaScript's heap; buffers and threads get some more. */
  memory_mb?: number;
  loadMs?: number;
  /** Cancels its start. */
  signal?: AbortSignal;
  heartbeat?: { everyMs: number; withinMs: number };
  backOff?: { fromMs: number; toMs: number; forgetMs: number };
  /** A weaker wall than the strongest that works here. */
  wall?: ConfinementLevel;
};

/** @throws {Rejection} `start`: it does not load, or what `handed` throws */
export async function startProcess(module: StartModule, options: ProcessOptions): Promise<RunningCassette> {
  const { name, log } = module;
  const {
    memory_mb = 256,
    loadMs = 10_000,
    heartbeat = { everyMs: 2_000, withinMs: 10_000 },
    backOff = { fromMs: 200, toMs: 30_000, forgetMs: 60_000 },
  } = options;
  await mkdir(options.tmp, { recursive: true, mode: 0o700 });
  const found = await findSystemSupport(options.tmp);
  const ground = { ...found, wall: options.wall ?? found.wall };
  const gate = openGate(log, OUTPUT_LIMITS);
  let progress: Progress | null = null;
  const lifeOptions = {
    name,
    folder: await realPathOf(module.folder),
    entry: await realPathOf(module.entry),
    runner: await realPathOf(RUNNER),
    beside: [...new Set([...(module.beside ?? []), ...(await Promise.all((module.beside ?? []).map(realPathOf)))])],
    tmp: await realPathOf(options.tmp),
    ground,
    memory_mb,
    log,
    gate,
    progressed: (reported: Progress) => {
      progress = reported;
    },
  };

  /** The life that is being started. */
  let starting: Life | undefined;
  let closing: Promise<void> | undefined;

  /** It asks for a network and was granted it. What it asks for is known once it has loaded, which it first does without one. */
  let network = false;

  const startAndLoad = async (): Promise<{ life: Life; loaded: LoadedModule }> => {
    const life = await startLife({ ...lifeOptions, network });
    starting = life;
    if (closing || options.signal?.aborted) life.end(CLOSED);
    try {
      const loaded = await loadedBy(life, loadMs);
      // Detects files that changed before they were read, before any binding is handed over. Not detected: a file that is changed
      // and changed back during the load, and what is imported later, which the next start checks.
      await module.unchanged?.();
      const wantsNetwork = requestsNetwork(loaded);
      if (network && !wantsNetwork)
        throw new Rejection('manifest', 'Cannot tell what it is: it asks for a network at times only');
      if (module.network && wantsNetwork && !network) {
        network = true;
        life.end('it is started again, with a network');
        await life.ended;
        return await startAndLoad();
      }
      await life.bind(await module.bindingsFor(loaded));
      return { life, loaded };
    } catch (error) {
      life.end('it was not let in');
      await life.ended;
      throw error;
    } finally {
      starting = undefined;
    }
  };

  let liveness: Liveness = { state: 'starting', reason: null, restarts: 0 };
  let restartTimer: NodeJS.Timeout | undefined;
  let attempt: Promise<void> | undefined;
  let current: Life | undefined;
  let failures = 0;
  let outdate = (_why: Rejection): void => {};
  const outdated = new Promise<Rejection>((resolve) => {
    outdate = resolve;
  });

  const endStarting = () => starting?.end(CLOSED);
  options.signal?.addEventListener('abort', endStarting, { once: true });
  const { life: first, loaded } = await startAndLoad().catch((error: unknown) => {
    gate.close();
    if (error instanceof Rejection) throw error;
    throw new Rejection('start', `Cannot start "${name}": ${reasonIn(error)}`);
  });
  begin(first);

  function begin(life: Life): void {
    const since = Date.now();
    current = life;
    liveness = { ...liveness, state: 'up', ...(liveness.restarts > 0 ? { since: instant() } : {}) };
    const stopWatching = watch(life, heartbeat);
    void life.ended.then((reason) => {
      stopWatching();
      if (current === life) current = undefined;
      if (closing) return;
      failures = Date.now() - since > backOff.forgetMs ? 0 : failures;
      scheduleRestart(reason);
    });
  }

  function scheduleRestart(reason: string): void {
    const ms = Math.min(backOff.fromMs * 2 ** failures, backOff.toMs);
    failures += 1;
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
      const { life } = await startAndLoad();
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
    starting?.end(CLOSED);
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
    confinement: confinementOf({ ...ground, network, memory_mb }),
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

const RUNNER = fileURLToPath(new URL('child', import.meta.url));

const CLOSED = 'the service closes it';

const reasonIn = (error: unknown): string => (error instanceof Error ? error.message : 'it failed');

/** Reads one member of the manifest, which is checked as a whole elsewhere. */
const requestsNetwork = ({ manifest }: LoadedModule): boolean =>
  (manifest as { bindings?: { network?: unknown } | null } | null)?.bindings?.network === true;

const instant = () => `${new Date().toISOString().slice(0, 19)}Z`;

/** The path as the process will see it: behind a wall there are no links; in the place of each is what it led to. */
const realPathOf = (path: string): Promise<string> => realpath(path).catch(() => path);
