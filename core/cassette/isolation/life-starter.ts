/** The starts of a cassette's process: each loads the module, checks that it is what was admitted, and hands over its bindings. */
import { mkdir, realpath } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { Progress } from '../contract.ts';
import { type Confinement, type LoadedModule, Rejection, type StartModule } from '../running.ts';
import { type ConfinementLevel, confinementOf, findSystemSupport, type SystemSupport } from './confinement.ts';
import { type Life, loadedBy, startLife } from './life.ts';
import type { Gate } from './output.ts';

export type StartOptions = {
  /** A private folder that the service owns. */
  tmp: string;
  /** Limit of JavaScript's heap; buffers and threads get some more. */
  memory_mb?: number;
  loadMs?: number;
  /** Cancels its start. */
  signal?: AbortSignal;
  /** A weaker wall than the strongest that works here. */
  wall?: ConfinementLevel;
};

type Options = StartOptions & { gate: Gate; progressed(progress: Progress): void };

export type Starter = {
  /** @throws {Rejection} it is not what was admitted @throws {Error} it does not load */
  start(): Promise<{ life: Life; loaded: LoadedModule }>;
  /** Ends a start under way, and each later one. */
  cancel(): void;
  /** Of the last start. @throws {Error} there was none */
  confinement(): Confinement;
};

/** What this system supports, with the wall that is wanted. */
async function groundFor({ tmp, wall }: StartOptions): Promise<SystemSupport> {
  const found = await findSystemSupport(tmp);
  return { ...found, wall: wall ?? found.wall };
}

export async function openStarter(module: StartModule, options: Options): Promise<Starter> {
  const { gate, progressed, memory_mb = 256, loadMs = 10_000 } = options;
  const { name, log, beside = [] } = module;
  await mkdir(options.tmp, { recursive: true, mode: 0o700 });
  const lifeOptions = {
    ...{ name, log, gate, progressed, memory_mb },
    folder: await realPathOf(module.folder),
    entry: await realPathOf(module.entry),
    runner: await realPathOf(RUNNER),
    beside: [...new Set([...beside, ...(await Promise.all(beside.map(realPathOf)))])],
    tmp: await realPathOf(options.tmp),
  };
  let starting: Life | undefined;
  let ground: SystemSupport | null = null;
  let isCancelled = false;
  /** It asks for a network and was granted it. What it asks for is known once it has loaded, which it first does without one. */
  let network = false;

  const load = async (life: Life): Promise<LoadedModule> => {
    const loaded = await loadedBy(life, loadMs);
    // Detects files that changed before they were read, before any binding is handed over. Not detected: a file that is changed
    // and changed back during the load, and what is imported later, which the next start checks.
    await module.unchanged?.();
    if (network && !requestsNetwork(loaded))
      throw new Rejection('manifest', 'Cannot tell what it is: it asks for a network at times only');
    return loaded;
  };

  const start = async (): Promise<{ life: Life; loaded: LoadedModule }> => {
    ground = await groundFor(options); // at each: what a bad moment weakened is not kept
    if (isCancelled) throw new Error(CLOSED);
    const life = await startLife({ ...lifeOptions, ground, network });
    starting = life;
    if (isCancelled || options.signal?.aborted) life.end(CLOSED);
    try {
      const loaded = await load(life);
      if (module.network && requestsNetwork(loaded) && !network) {
        network = true;
        life.end('it is started again, with a network');
        await life.ended;
        return await start();
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
  options.signal?.addEventListener('abort', () => starting?.end(CLOSED), { once: true });

  return {
    start,
    cancel() {
      isCancelled = true;
      starting?.end(CLOSED);
    },
    confinement() {
      if (!ground) throw new Error('Cannot tell the confinement before the first start');
      return confinementOf({ ...ground, network, memory_mb });
    },
  };
}

export const CLOSED = 'the service closes it';

const RUNNER = fileURLToPath(new URL('child', import.meta.url));

/** Reads one member of the manifest, which is checked as a whole elsewhere. */
const requestsNetwork = ({ manifest }: LoadedModule): boolean =>
  (manifest as { bindings?: { network?: unknown } | null } | null)?.bindings?.network === true;

/** The path as the process will see it: behind a wall there are no links; in the place of each is what it led to. */
const realPathOf = (path: string): Promise<string> => realpath(path).catch(() => path);
