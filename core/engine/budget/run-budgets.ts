/**
 * Budgets beside the engine's other work: every few seconds the spend of each period is compared with its limit, and what was crossed is
 * reported and delivered. No call waits for it.
 */
import type { Database } from '../../db/database.ts';
import { DatabaseError, reasonOf } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import type { Metrics } from '../../metrics.ts';
import type { Budgets } from '../../model/budget-settings.ts';
import { sleepUntil } from '../../retry.ts';
import { postCrossing } from './webhook.ts';

const EVERY_MS = 3_000;
const DEADLINE_MS = 10_000;
const LEASE_MS = 30_000; // longer than the deadline of a POST
const FIRST_AGAIN_MS = 1_000;
const MOST_AGAIN_MS = 600_000;
const GIVEN_UP_SECONDS = 3 * 86_400;

/** `watched` null: none is, and what was before is forgotten. */
type Deps = {
  database: Database;
  watched: Budgets | null;
  signal: AbortSignal;
  log: Logger;
  metrics: Metrics;
  everyMs?: number;
  /** Of a POST. */
  deadlineMs?: number;
};
type WatchDeps = Deps & { watched: Budgets };

/**
 * Deliveries run beside the watching, one at a time: a webhook that does not answer holds up no crossing.
 * @returns a promise that resolves after the signal, when no delivery is under way
 */
export async function runBudgets({ everyMs = EVERY_MS, ...deps }: Deps): Promise<void> {
  const { database, watched, signal } = deps;
  const watching = guarded(deps, 'budgets are not watched: tried again');
  const delivering = guarded(deps, 'crossings of budgets are not delivered: tried again');
  let delivery: Promise<void> | null = null;
  let areOthersForgotten = false;
  while (!signal.aborted) {
    await watching(async () => {
      if (!areOthersForgotten) await database.execute('forgetBudgets', { budgets: watched?.budgets ?? [] });
      areOthersForgotten = true;
      if (watched === null) return;
      await cross({ ...deps, watched });
      delivery ??= delivering(() => deliver({ ...deps, watched })).finally(() => {
        delivery = null;
      });
    });
    if (watched === null && areOthersForgotten) return;
    await sleepUntil(signal, everyMs);
  }
  await delivery;
}

/** Runs work that is tried again later, and logs why it failed: where the database is away, once until it is back. */
function guarded({ signal, log }: Pick<Deps, 'signal' | 'log'>, message: string) {
  let isAway = false;
  return async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
      isAway = false;
    } catch (error) {
      if (!isAway && !signal.aborted) log.warn({ reason: reasonOf(error) }, message);
      isAway = error instanceof DatabaseError && error.transient;
    }
  };
}

async function cross({ database, watched, log, metrics }: WatchDeps): Promise<void> {
  const { budgets, webhook } = watched;
  for (const crossing of await database.execute('crossBudgets', { budgets, webhook: webhook !== null })) {
    const { crossing_id: _, ...shown } = crossing;
    metrics.budgetCrossed(crossing.period);
    log.warn(shown, 'a budget is exceeded');
  }
}

async function deliver({
  database,
  watched: { webhook },
  signal,
  log,
  deadlineMs = DEADLINE_MS,
}: WatchDeps): Promise<void> {
  if (!webhook) return;
  while (!signal.aborted) {
    const due = await database.execute('takeDelivery', { ms: LEASE_MS });
    if (!due) return;
    const { attempts: attempt, seconds_old } = due;
    const { crossing_id, ...crossing } = due.crossing;
    const id = `${crossing.budget}/${crossing.period_start}`;
    const delivery = { id, attempt, sentAt: new Date().toISOString(), crossing };
    const error = await postCrossing(webhook, delivery, { signal, deadlineMs });
    const again_ms = seconds_old > GIVEN_UP_SECONDS ? null : againMs(attempt);
    await database.execute('endDelivery', { crossing_id, error, again_ms });
    if (error === null) continue;
    if (again_ms === null)
      log.error({ budget: crossing.budget, attempt, reason: error }, 'the webhook of a budget is given up');
    else if (attempt === 1)
      log.warn({ budget: crossing.budget, reason: error }, 'the webhook of a budget failed: tried again');
  }
}

const againMs = (attempt: number): number => Math.min(FIRST_AGAIN_MS * 2 ** Math.min(attempt - 1, 20), MOST_AGAIN_MS);
