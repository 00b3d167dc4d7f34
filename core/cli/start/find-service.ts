/** The service that records a harness: the one that the settings name, the one of this folder, or the user's own, which is started where none runs. */
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LoadedConfig } from '../../config/load.ts';
import { holderOf } from '../../db/client/folder-lock.ts';
import { OperatorError } from '../../errors.ts';
import { isChosenByProject } from '../chosen-by-project.ts';
import { takesConnections } from '../get-json.ts';
import type { Io } from '../io.ts';
import { localAddresses } from '../read-api.ts';
import { type PublishedService, publishedService } from '../running-service.ts';
import { shownAddress } from '../shown-address.ts';
import { logIn, openLogFile } from './log-file.ts';
import { register } from './register.ts';

/** The hidden command that runs the shared service. */
export const SHARED_SERVICE = 'shared-service';

const CONNECT_MS = 1_000;
const POLL_MS = 25;
const START_MS = 60_000;
const ATTEMPTS = 3;

export type FoundService = {
  /** As `http://127.0.0.1:8080`. */
  proxy: string;
  /** Null: none is known that belongs to it. */
  api: string | null;
  ingest: string | null;
  /** Whether the read API can answer now; of a service that starts, it answers later. */
  answers: boolean;
  /** It is at `client.proxy_target`, and not the service of this machine: where its ingest API is, no setting says. */
  isElsewhere: boolean;
  /** The user's own, with its configuration. */
  isShared: boolean;
  /** The harness has ended. */
  leave(): void;
};

/** @throws {OperatorError} there is none, and none can be started */
export async function findService(loaded: LoadedConfig, io: Io, own: readonly string[]): Promise<FoundService> {
  return (await targetService(loaded)) ?? (await localService(loaded)) ?? (await sharedService(loaded, io, own));
}

async function targetService(loaded: LoadedConfig): Promise<FoundService | null> {
  const isSet = (key: string) => (loaded.source[key] ?? 'default') !== 'default';
  if (!isSet('client.proxy_target')) return null;
  const proxy = loaded.config.client.proxy_target;
  if (isChosenByProject(loaded, 'client.proxy_target', proxy))
    throw new OperatorError(
      `${loaded.file} names ${new URL(proxy).host} as the proxy, and a file that may have come with a project does not decide where your ` +
        'keys go: set SVC_CLIENT_PROXY_TARGET, or client.proxy_target in ~/.svc/config.toml',
    );
  if (!(await takesConnections(proxy, CONNECT_MS))) return null;
  const local = localAddresses(loaded);
  const isElsewhere = local.proxy === null || originOf(local.proxy) !== originOf(proxy);
  const target = loaded.config.client.api_target;
  const isUsable = isSet('client.api_target') && !isChosenByProject(loaded, 'client.api_target', target);
  const api = isUsable ? target : isElsewhere ? null : local.api;
  const ingest = isElsewhere ? null : local.ingest;
  return { proxy, api, ingest, answers: api !== null, isElsewhere, isShared: false, leave: () => {} };
}

const originOf = (address: string) => shownAddress(new URL(address).origin);

async function localService({ folder, homeFolder }: LoadedConfig): Promise<FoundService | null> {
  const published = folder === homeFolder ? null : publishedService(folder);
  return published && isUp(published) ? foundAt(published, { isShared: false, leave: () => {} }) : null;
}

const isUp = ({ addresses: { proxy }, processes }: PublishedService, which = 'proxy') =>
  proxy !== null && processes.some(({ name, state }) => name === which && state === 'up');

const foundAt = (published: PublishedService, more: Pick<FoundService, 'isShared' | 'leave'>): FoundService => ({
  proxy: published.addresses.proxy ?? '',
  api: published.addresses.api,
  ingest: published.addresses.ingest,
  answers: published.addresses.api !== null && isUp(published, 'service'),
  isElsewhere: false,
  ...more,
});

/** Of two that start at once, one gets the folder's lock, and the other one finds what that publishes. */
async function sharedService({ homeFolder }: LoadedConfig, io: Io, own: readonly string[]): Promise<FoundService> {
  if (io.home === '') throw new OperatorError('this user has no home folder');
  const until = performance.now() + START_MS;
  const start = { attempts: 0, running: false };
  let leave: (() => void) | null = null;
  try {
    mkdirSync(homeFolder, { recursive: true, mode: 0o700 });
    for (;;) {
      leave ??= register(homeFolder);
      const published = publishedService(homeFolder);
      if (published && isUp(published) && (leave || !published.shared))
        return foundAt(published, { isShared: true, leave: leave ?? (() => {}) });
      if (performance.now() > until)
        throw new OperatorError(`the service did not start in time; see ${logIn(homeFolder)}`);
      if (!start.running && holderOf(homeFolder) === null) {
        if (start.attempts++ === ATTEMPTS) throw new OperatorError(lastReason(homeFolder));
        start.running = true;
        startShared(homeFolder, io, own, () => {
          start.running = false;
        });
      }
      await sleep(POLL_MS);
    }
  } catch (error) {
    leave?.();
    throw error;
  }
}

/** Apart from this process, its group and its terminal. @param own what Node runs: `svc` */
function startShared(homeFolder: string, { env, home }: Io, own: readonly string[], ended: () => void): void {
  const log = openLogFile(homeFolder);
  const child = spawn(process.execPath, [...own, SHARED_SERVICE], {
    cwd: home,
    env,
    detached: true,
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  child.once('error', ended);
  child.once('exit', ended);
  child.unref();
}

/** What it wrote last, which is a sentence where somebody has to mend something. */
function lastReason(homeFolder: string): string {
  const lines = readFileSync(logIn(homeFolder), 'utf8').trimEnd().split('\n');
  const reason = lines.findLast((line) => line.startsWith('Cannot '));
  return reason === undefined ? `the service does not start; see ${logIn(homeFolder)}` : reason;
}
