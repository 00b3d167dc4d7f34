/** The service that all `svc start` of a user share: `svc serve` on free ports in the user's own `.svc`, until the last harness has ended. */
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type LoadedConfig, loadConfig } from '../../config/load.ts';
import { getJson } from '../get-json.ts';
import type { Io } from '../io.ts';
import { publishedService } from '../running-service.ts';
import type { serve } from '../serve/serve.ts';
import { rotateLog } from './log-file.ts';
import { closeRegister, openRegister, registered } from './register.ts';
import { isSettledStatus } from './settled.ts';

const POLL_MS = 500;
/** Without a harness, for the next one to come. */
const GRACE_MS = 5_000;
/** For a journal that is not emptied: the rest is stored at the next start. */
const MOST_MS = 600_000;
const REPLY_MS = 2_000;

/** Settles when it has stopped. @throws {OperatorError} as `serve` does */
export async function runSharedService(io: Io, options: { version: string; serve: typeof serve }): Promise<void> {
  const { SVC_INTERNAL_LISTEN: _, ...env } = io.env; // belongs to a service that operators run
  const home = { ...io, env, cwd: io.home };
  const loaded = loadConfig({
    ...home,
    flags: { 'proxy.listen': ':0', 'api.listen': ':0', 'ingest.listen': ':0' },
  });
  const watched = new AbortController();
  const watching = endAfterLast(loaded, watched.signal);
  try {
    await options.serve(loaded, home, {
      role: 'all',
      version: options.version,
      running: async () => {}, // nobody reads its banner
      shared: { opened: () => openRegister(loaded.folder) },
    });
  } finally {
    watched.abort();
    await watching;
  }
}

/** Ends this service as a signal would, once no harness runs and all that passed is stored and derived. */
async function endAfterLast(loaded: LoadedConfig, signal: AbortSignal): Promise<void> {
  const { folder } = loaded;
  let idleSince = performance.now();
  while (!signal.aborted) {
    await sleep(POLL_MS, undefined, { signal }).catch(() => {});
    if (signal.aborted) return;
    rotateLog(folder);
    if (registered(folder) > 0) {
      idleSince = performance.now();
      continue;
    }
    const idleMs = performance.now() - idleSince;
    if (idleMs < GRACE_MS) continue;
    if (idleMs < MOST_MS && existsSync(folder) && !(await isSettled(loaded))) continue; // somebody may have deleted all of it
    if (!closeRegister(folder)) continue;
    process.kill(process.pid, 'SIGTERM');
    return;
  }
}

/** Whether everything that passed is stored and derived; false as well where the service does not say. */
async function isSettled({ folder, config }: LoadedConfig): Promise<boolean> {
  const address = publishedService(folder)?.addresses.api;
  if (!address) return false;
  const reply = await getJson({
    ...{ address, path: '/v1/admin/status', timeoutMs: REPLY_MS, token: config.api.token },
  });
  return typeof reply === 'object' && reply.status === 200 && isSettledStatus(reply.body);
}
