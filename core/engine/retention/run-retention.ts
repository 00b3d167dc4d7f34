/** Retention beside the engine's other work: a sweep every ten minutes, by one process of a database at a time, half of whose time it rests. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../db/database.ts';
import { reasonOf } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { RetentionRules } from '../../model/retention.ts';
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
};

/** @returns a promise that resolves after the signal, when no sweep is under way */
export async function runRetention({ firstMs = FIRST_MS, ...deps }: Deps): Promise<void> {
  const { signal, log } = deps;
  const collections = { notBefore: 0 };
  for (let waitMs = firstMs; ; waitMs = EVERY_MS) {
    await sleep(waitMs, undefined, { signal, ref: false }).catch(() => undefined);
    if (signal.aborted) return;
    await sweepOnce(deps, collections).catch((error: unknown) => {
      if (!signal.aborted) log.warn({ reason: reasonOf(error) }, 'a sweep of retention failed; the next one goes on');
    });
  }
}

async function sweepOnce(
  { database, rules, precedence, pause, signal, log, metrics }: Deps,
  collections: { notBefore: number },
): Promise<void> {
  const began = performance.now();
  const { committing } = precedence;
  const rest = async (workedMs: number) => {
    await sleep(Math.min(workedMs, MOST_REST_MS), undefined, { signal }).catch(() => undefined);
    await pause(workedMs);
  };
  const mayCollect = performance.now() >= collections.notBefore;
  const collected = (tookMs: number) => {
    collections.notBefore = performance.now() + tookMs * COLLECTED_AGAIN;
  };
  const swept = await exclusively(database.execute, 'retention', signal, (own) =>
    sweepRetention({ database, rules, now: Date.now(), committing, pause: rest, signal: own, mayCollect, collected }),
  );
  metrics.retentionSwept(swept ?? { sessions: 0, raw_turns: 0, slice_bytes: 0 });
  if (!swept) return;
  const { unreachable, ...removed } = swept;
  log.info({ ...removed, seconds: Math.round((performance.now() - began) / 100) / 10 }, 'retention removed sessions');
  if (unreachable) log.warn('the database stays over retention.max_bytes: what is left is starred, kept or goes on');
}
