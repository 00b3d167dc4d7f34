/** Runs a cassette in this process, for those that come with the service: its entry is imported and its fetch called. */
import { aborted } from '../../aborted.ts';
import { inlineModule } from '../../built-entry.ts';
import { traceOf } from '../../http/failure.ts';
import type { Cassette, Context, Env, Progress, ScheduledContext } from '../contract.ts';
import {
  CassetteDown,
  type Confinement,
  type LoadedModule,
  Rejection,
  type RunningCassette,
  type StartModule,
} from '../running.ts';
import { progressOf } from './child/progress.mjs';
import { responseHead, UnusableHead } from './response-head.ts';
import { openUnderWay } from './under-way.ts';

const TRUSTED: Confinement = {
  level: 'none',
  stops: [],
  does_not_stop: ['anything: it runs in the service itself, with the rights of the service'],
};

/** @throws {Rejection} `start`: it does not load, or what `bindingsFor` throws */
export async function startInline({ name, entry, bindingsFor, unchanged, log }: StartModule): Promise<RunningCassette> {
  const cassette = await importCassette(name, entry);
  await unchanged?.();
  const { manifest, migrations, scheduled } = cassette;
  const loaded: LoadedModule = {
    manifest: manifest ?? null,
    migrations: migrations ?? null,
    scheduled: typeof scheduled === 'function',
  };
  const { DB, CORE, CONFIG, LOG } = await bindingsFor(loaded);
  const env: Env = { ...(DB ? { DB } : {}), ...(CORE ? { CORE } : {}), CONFIG, LOG };

  const { track, drain } = openUnderWay();
  const context: Context = {
    waitUntil(work) {
      track(Promise.resolve(work)).catch((error) => log.error(traceOf(error), 'what the cassette waits for failed'));
    },
  };
  let progress: Progress | null = null;
  const scheduledContext: ScheduledContext = {
    ...context,
    progress(items) {
      progress = progressOf(items);
    },
  };
  const down = (kind: 'unavailable' | 'broken', why: string, cause?: unknown) =>
    new CassetteDown(kind, `Cannot ask "${name}": ${why}`, { cause });

  let closed: Promise<void> | undefined;
  let last: Promise<unknown> = Promise.resolve();

  const answer = async (request: Request): Promise<Response> => {
    try {
      return await Promise.race([cassette.fetch(request, env, context), aborted(request.signal)]);
    } catch (error) {
      if (request.signal.aborted) throw request.signal.reason;
      log.error(traceOf(error), 'the cassette threw over a request');
      throw down('broken', 'its fetch threw over this request; the log has the error', error);
    }
  };

  return {
    loaded,
    confinement: TRUSTED,
    liveness: () => ({ state: closed ? 'closed' : 'up', reason: null, restarts: 0 }),
    progress: () => progress,
    async fetch(request) {
      if (closed) throw down('unavailable', 'it was closed');
      const response = await track(answer(request));
      // Not by instanceof: the server's adapter has a Response class besides Node's.
      if (typeof response?.status !== 'number' || typeof response.headers?.get !== 'function') {
        throw down('broken', 'its fetch gave something that is no Response');
      }
      try {
        responseHead(request.method, response.status, response.headers);
      } catch (error) {
        void Promise.resolve(response.body?.cancel()).catch(() => {}); // it may be locked: then it is not ours to cancel
        throw down('broken', error instanceof UnusableHead ? error.message : 'its answer cannot be passed on', error);
      }
      return response;
    },
    async scheduled(event) {
      if (closed) throw down('unavailable', 'it was closed');
      const run = last.then(() => cassette.scheduled?.(event, env, scheduledContext));
      last = run.catch(() => {});
      await track(run);
    },
    close(graceMs) {
      closed ??= drain(graceMs);
      return closed;
    },
  };
}

async function importCassette(name: string, entry: string): Promise<Cassette> {
  try {
    const module: { default?: Cassette } = await import(inlineModule(entry).href);
    if (typeof module.default?.fetch === 'function') return module.default;
  } catch (error) {
    const why = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    throw new Rejection('start', `Cannot start "${name}": it throws when it is loaded: ${why}`);
  }
  throw new Rejection('start', `Cannot start "${name}": its default export has no function fetch`);
}
