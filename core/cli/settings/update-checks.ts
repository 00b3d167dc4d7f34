/** The daily look for a newer version, which a service takes only where the configuration says on purpose that it may. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LoadedConfig } from '../../config/load.ts';
import { replaceFile } from '../../config/replace-file.ts';
import type { Logger } from '../../log.ts';
import { parseJson } from '../../parse-json.ts';
import type { Io } from '../io.ts';
import { isNewer, latestVersion } from './latest-version.ts';

const DAY_MS = 86_400_000;

/** What the last look found. */
export type UpdateCheck = { checked_at: string; latest: string };

/** Not set means no: only `update.disabled = false` is on purpose. */
export const looksForUpdates = ({ config }: Pick<LoadedConfig, 'config'>): boolean => config.update.disabled === false;

const fileIn = (folder: string) => join(folder, 'update.json');

/** null: there was none, or its file is broken. */
export function lastUpdateCheck(folder: string): UpdateCheck | null {
  try {
    const { checked_at, latest } = parseJson(readFileSync(fileIn(folder), 'utf8')) as Record<string, unknown>;
    const isTime = typeof checked_at === 'string' && !Number.isNaN(Date.parse(checked_at));
    return isTime && typeof latest === 'string' && /^[\w.-]{1,100}$/.test(latest) ? { checked_at, latest } : null;
  } catch {
    return null;
  }
}

type Options = { version: string; folder: string; log: Logger; io: Pick<Io, 'env' | 'home'>; everyMs?: number };

/** At the first start and then once a day, over restarts too. A failure is tried again a day later, also one to write the file. */
export function startUpdateChecks({ version, folder, log, io, everyMs = DAY_MS }: Options): { stop(): void } {
  const stopped = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const check = async () => {
    const found = await latestVersion({ env: io.env, home: io.home, signal: stopped.signal });
    if (stopped.signal.aborted) return;
    if ('latest' in found) {
      replaceFile(
        fileIn(folder),
        `${JSON.stringify({ checked_at: new Date().toISOString(), latest: found.latest })}\n`,
      );
      if (isNewer(version, found.latest)) log.info({ version, latest: found.latest }, 'a newer version of svc is out');
    } else log.info({ problem: found.problem }, 'cannot look for a newer version of svc');
  };
  const schedule = (delayMs: number) => {
    timer = setTimeout(() => {
      void check()
        .catch((error: unknown) => log.warn({ err: error }, 'cannot look for a newer version of svc')) // its file cannot be written
        .finally(() => {
          if (!stopped.signal.aborted) schedule(everyMs);
        });
    }, delayMs).unref();
  };
  const last = lastUpdateCheck(folder);
  schedule(last === null ? 0 : Math.max(0, Math.min(everyMs, Date.parse(last.checked_at) + everyMs - Date.now())));
  return {
    stop: () => {
      clearTimeout(timer);
      stopped.abort();
    },
  };
}
