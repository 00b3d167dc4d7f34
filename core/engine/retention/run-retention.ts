/** Retention beside the engine's other work: a sweep every ten minutes, by one process of a database at a time, half of whose time it rests. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../db/database.ts';
import type { Removed } from '../../db/retention/removals.ts';
import { reasonOf } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { RetentionRules } from '../../model/retention.ts';
import { openPendingBackup } from '../backup/pending-backup.ts';
import { exclusively } from '../exclusively.ts';
import type { Precedence } from '../precedence.ts';
import { sweepRetention } from './sweep.ts';

const FIRST_MS = 60_000;
const EVERY_MS = 600_000;
const MOST_REST_MS = 1_000;

/** A collection of slices reads all turns: the next one waits this many times as long as the last one took. */
const COLLECTED_AGAIN = 20;

type Deps = {
  database: Database;
  rules: RetentionRules;
  precedence: Precedence;
  pause(workedMs: number): Promise<void>;
  signal: AbortSignal;
  log: Logger;
  metrics: Metrics;
  firstMs?: number;
  everyMs?: number;
};

/** `notBefore`: of the next collection. `unreachable`: the last sweep could not reach the size, which was logged. */
type Between = { notBefore: number; unreachable: boolean };

/** @returns a promise that resolves after the signal, when no sweep is under way */
export async function runRetention({ firstMs = FIRST_MS, everyMs = EVERY_MS, ...deps }: Deps): Promise<void> {
  const { signal, log } = deps;
  const between = { notBefore: 0, unreachable: false };
  for (let waitMs = firstMs; ; waitMs = everyMs) {
    await sleep(waitMs, undefined, { signal, ref: false }).catch(() => undefined);
    if (signal.aborted) return;
    await sweepOnce(deps, between).catch((error: unknown) => {
      if (!signal.aborted) log.warn({ reason: reasonOf(error) }, 'a sweep of retention failed; the next one goes on');
    });
  }
}

async function sweepOnce(deps: Deps, between: Between): Promise<void> {
  const { database, rules, precedence, pause, signal, log, metrics } = deps;
  const began = performance.now();
  const mayCollect = performance.now() >= between.notBefore;
  const collected = (tookMs: number) => {
    between.notBefore = performance.now() + tookMs * COLLECTED_AGAIN;
  };
  const report = (removed: Removed) => {
    metrics.retentionRemoved(removed);
    const seconds = Math.round((performance.now() - began) / 100) / 10;
    log.info({ ...removed, seconds }, 'retention removed sessions');
  };
  const { committing } = precedence;
  const options = { database, rules, now: Date.now(), committing, mayCollect, collected, report };
  await exclusively(database.execute, 'retention', signal, async (own) => {
    const backup = openPendingBackup(database.execute, own);
    const rest = async (workedMs: number) => {
      await sleep(Math.min(workedMs, MOST_REST_MS), undefined, { signal }).catch(() => undefined);
      await pause(workedMs);
      await backup.check();
    };
    await backup.check();
    if (rules.dryRun || backup.signal.aborted) return;
    try {
      const swept = await sweepRetention({ ...options, pause: rest, signal: backup.signal });
      if (!backup.signal.aborted) warnOnce(deps, between, swept?.unreachable ?? false);
    } finally {
      metrics.retentionSwept();
    }
  });
}

/** When it begins, not by each sweep. */
function warnOnce({ log }: Deps, between: Between, unreachable: boolean): void {
  if (unreachable && !between.unreachable)
    log.warn('the database stays over retention.max_bytes: what is left is starred, kept or goes on');
  between.unreachable = unreachable;
}
