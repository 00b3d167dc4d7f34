/** How does a cassette run in a process of its own? Started behind a wall, watched, and started again when it dies. */
import { mkdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../../package-root.ts';
import type { Progress } from '../contract.ts';
import {
  CassetteDown,
  type Liveness,
  type LoadedModule,
  Rejection,
  type RunningCassette,
  type StartModule,
} from '../running.ts';
import { confinementOf, findGround, type Wall } from './confinement.ts';
import { type Life, loadedBy, startLife } from './life.ts';
import { OUTPUT_LIMITS, openGate } from './output.ts';
import { watch } from './watch.ts';

export type ProcessOptions = {
  /** A private folder that the service owns. */
  tmp: string;
  /** Of JavaScript's heap; some more is left for buffers and threads. */
  memory_mb?: number;
  loadMs?: number;
  /** Ends its start: it is wanted no more. */
  signal?: AbortSignal;
  heartbeat?: { everyMs: number; withinMs: number };
  backOff?: { fromMs: number; toMs: number; forgetMs: number };
  /** A lower wall than the highest that stands here. */
  wall?: Wall;
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
  const found = await findGround(options.tmp);
  const ground = { ...found, wall: options.wall ?? found.wall };
  const gate = openGate(log, OUTPUT_LIMITS);
  const runner = join(packageRoot(), 'core/cassette/isolation/child');
  let progress: Progress | null = null;
  const starting = {
    name,
    folder: await real(module.folder),
    entry: await real(module.entry),
    runner: await real(runner),
    beside: [...new Set([...(module.beside ?? []), ...(await Promise.all((module.beside ?? []).map(real)))])],
    tmp: await real(options.tmp),
    ground,
    memory_mb,
    log,
    gate,
    progressed: (told: Progress) => {
      progress = told;
    },
  };

  /** One that is being started. */
  let newborn: Life | undefined;
  let closing: Promise<void> | undefined;

  /** It was granted a network and has asked for it. What it asks for it says once it has loaded, which it first does without one. */
  let network = false;

  const live = async (): Promise<{ life: Life; loaded: LoadedModule }> => {
    const life = await startLife({ ...starting, network });
    newborn = life;
    if (closing || options.signal?.aborted) life.end(CLOSED);
    try {
      const loaded = await loadedBy(life, loadMs);
      // A file that changed before it was read is seen here, before anything is handed out. What is not seen: one that is changed
      // and changed back within the load, and what is imported later, which the next start looks at.
      await module.unchanged?.();
      const asks = asksForNetwork(loaded);
      if (network && !asks)
        throw new Rejection('manifest', 'Cannot tell what it is: it asks for a network at times only');
      if (module.network && asks && !network) {
        network = true;
        life.end('it is started again, with a network');
        await life.ended;
        return await live();
      }
      await life.hand(await module.handed(loaded));
      return { life, loaded };
    } catch (error) {
      life.end('it was not let in');
      await life.ended;
      throw error;
    } finally {
      newborn = undefined;
    }
  };

  let liveness: Liveness = { state: 'starting', reason: null, restarts: 0 };
  let again: NodeJS.Timeout | undefined;
  let attempt: Promise<void> | undefined;
  let current: Life | undefined;
  let failures = 0;
  let outdate = (_why: Rejection): void => {};
  const outdated = new Promise<Rejection>((resolve) => {
    outdate = resolve;
  });

  const leave = () => newborn?.end(CLOSED);
  options.signal?.addEventListener('abort', leave, { once: true });
  const { life: first, loaded } = await live().catch((error: unknown) => {
    gate.close();
    if (error instanceof Rejection) throw error;
    throw new Rejection('start', `Cannot start "${name}": ${reasonIn(error)}`);
  });
  begin(first);

  function begin(life: Life): void {
    const since = Date.now();
    current = life;
    liveness = { ...liveness, state: 'up', ...(liveness.restarts > 0 ? { since: instant() } : {}) };
    const calm = watch(life, heartbeat);
    void life.ended.then((reason) => {
      calm();
      if (current === life) current = undefined;
      if (closing) return;
      failures = Date.now() - since > backOff.forgetMs ? 0 : failures;
      fall(reason);
    });
  }

  function fall(reason: string): void {
    const ms = Math.min(backOff.fromMs * 2 ** failures, backOff.toMs);
    failures += 1;
    const since = (liveness.state === 'restarting' ? liveness.since : undefined) ?? instant();
    liveness = { state: 'restarting', reason, restarts: liveness.restarts, since };
    log.warn({ reason, again_in_ms: ms }, 'the process of the cassette ended, and is started again');
    again = setTimeout(() => {
      attempt = rise().finally(() => {
        attempt = undefined;
      });
    }, ms);
  }

  async function rise(): Promise<void> {
    liveness = { ...liveness, restarts: liveness.restarts + 1 };
    try {
      await module.unchanged?.();
      const { life } = await live();
      if (!closing) return begin(life);
      life.end(CLOSED);
      await life.ended;
    } catch (error) {
      if (closing) return;
      if (!(error instanceof Rejection && error.step === 'digest')) return fall(reasonIn(error));
      liveness = { ...liveness, state: 'down', reason: error.message };
      outdate(error);
    }
  }

  const there = (): Life => {
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
    clearTimeout(again);
    newborn?.end(CLOSED);
    const life = current;
    current = undefined;
    if (life) {
      const patience = setTimeout(life.end, graceMs, CLOSED);
      if (graceMs > 0) await life.channel.rest().catch(() => {});
      clearTimeout(patience);
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
    fetch: async (request) => there().channel.fetch(request),
    scheduled: async (event) => there().channel.scheduled(event),
    close: (graceMs) => {
      closing ??= close(graceMs);
      return closing;
    },
  };
}

const CLOSED = 'the service closes it';

const reasonIn = (error: unknown): string => (error instanceof Error ? error.message : 'it failed');

/** Its manifest is checked elsewhere, as a whole. */
const asksForNetwork = ({ manifest }: LoadedModule): boolean =>
  (manifest as { bindings?: { network?: unknown } | null } | null)?.bindings?.network === true;

const instant = () => `${new Date().toISOString().slice(0, 19)}Z`;

/** As the process will see it: behind a wall there are no links to follow, and what stands where one stood is what it led to. */
const real = (path: string): Promise<string> => realpath(path).catch(() => path);
