/**
 * Looks for breaks of the prompt cache in sessions that changed, behind derivation: one process of a database at a time, and half of its
 * time it rests. A session is worked out whole each time, so it waits until it has been idle for some seconds, or busy for a minute, and
 * then for twenty times as long as it took the last time.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../db/database.ts';
import { reasonOf } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import { lruCache } from '../../lru-cache.ts';
import type { Metrics } from '../../metrics.ts';
import type { PriceOf } from '../../price/prices.ts';
import { CACHE_RULES_VERSION } from '../../prompt/rules-version.ts';
import { exclusively } from '../exclusively.ts';
import type { Precedence } from '../precedence.ts';
import { sessionCache } from './session-cache.ts';

/** `elsewhereMs`: while another process has the lease. */
const TIMES = { firstMs: 3_000, pollMs: 2_000, idleMs: 5_000, busyMs: 60_000, elsewhereMs: 30_000 };

/** The next time waits this many times as long as the last one took. */
const AGAIN = 20;
const FAILED_MS = 60_000;
const MOST_FAILURES = 5;

/** Rests are gathered until they are worth a timer. */
const REST = { fromMs: 20, mostMs: 1_000 };

const SWEEP = { page: 2_000, most: 500 };
const REMEMBERED = 10_000;

type Deps = {
  database: Pick<Database, 'execute'>;
  priceOf: PriceOf;
  precedence: Pick<Precedence, 'committing'>;
  pause(workedMs: number): Promise<void>;
  signal: AbortSignal;
  log: Logger;
  metrics: Pick<Metrics, 'cacheReviewed'>;
  times?: Partial<typeof TIMES>;
};

/** `since`: the first change that is not looked at, `last`: the latest one. Milliseconds of this process. */
type Due = { since: number; last: number; failures: number };

/** @returns a promise that resolves after the signal, when no session is being looked at */
export async function runReviews({ times, ...deps }: Deps): Promise<void> {
  const { signal, log } = deps;
  const { firstMs, pollMs, idleMs, busyMs, elsewhereMs } = { ...TIMES, ...times };
  const due = new Map<string, Due>();
  const notBefore = lruCache<string, number>(REMEMBERED);
  const position: Position = { seen: null, sweep: { after: null, ended: false } };
  const isReady = (session_id: string, { since, last }: Due, now: number) =>
    now >= Math.min(last + idleMs, since + busyMs) && now >= (notBefore.get(session_id) ?? 0);

  for (let waitMs = firstMs; ; ) {
    await sleep(waitMs, undefined, { signal, ref: false }).catch(() => undefined);
    if (signal.aborted) return;
    waitMs = pollMs;
    try {
      await findDue(deps, position, due);
      const now = performance.now();
      const ready = [...due].filter(([session_id, one]) => isReady(session_id, one, now));
      if (ready.length === 0) continue;
      const done = await exclusively(deps.database.execute, 'cache', signal, async (own) => {
        for (const [session_id, one] of ready) {
          if (own.aborted) break;
          due.delete(session_id); // what changes from here on makes it due again
          const began = performance.now();
          const outcome = await review({ ...deps, signal: own }, session_id);
          const ended = performance.now();
          notBefore.set(session_id, ended + AGAIN * (ended - began));
          if (outcome === 'failed' && one.failures < MOST_FAILURES) {
            notBefore.set(session_id, ended + FAILED_MS);
            due.set(session_id, { ...one, failures: one.failures + 1 });
          } else if (outcome === 'again') due.set(session_id, { since: began, last: ended, failures: 0 });
        }
        return true;
      });
      if (done === null) waitMs = elsewhereMs;
    } catch (error) {
      if (signal.aborted) return;
      log.warn({ reason: reasonOf(error) }, 'sessions cannot be looked at for breaks of the prompt cache');
      waitMs = elsewhereMs;
    }
  }
}

type Position = { seen: string | null; sweep: { after: string | null; ended: boolean } };

/** What changed since the last look, and a page of what had changed before this process began. */
async function findDue({ database }: Deps, position: Position, due: Map<string, Due>): Promise<void> {
  const { execute } = database;
  const changed = await execute('sessionsChangedSince', { seen: position.seen });
  position.seen = changed.seen;
  const now = performance.now();
  for (const session_id of changed.session_ids)
    due.set(session_id, { since: due.get(session_id)?.since ?? now, last: now, failures: 0 });
  const { sweep } = position;
  if (sweep.ended || due.size >= SWEEP.most) return;
  const { session_ids, last } = await execute('unreviewedSessions', {
    after: sweep.after,
    rules: CACHE_RULES_VERSION,
    limit: SWEEP.page,
  });
  position.sweep = { after: last, ended: last === null };
  for (const session_id of session_ids)
    if (!due.has(session_id)) due.set(session_id, { since: now, last: Number.NEGATIVE_INFINITY, failures: 0 });
}

/** `again`: it changed meanwhile. */
async function review(
  { database, priceOf, precedence, pause, signal, log, metrics }: Deps,
  session_id: string,
): Promise<'done' | 'again' | 'failed'> {
  const { execute } = database;
  try {
    const opened = await execute('reviewOpened', { session_id, rules: CACHE_RULES_VERSION });
    if (!opened) return 'done';
    const rest = restingAfter(pause, signal);
    const found = opened.can_break ? await sessionCache(execute, session_id, { priceOf, signal, pause: rest }) : null;
    const breaks = found?.breaks.filter(({ planned }) => !planned) ?? [];
    const { changed_by } = opened;
    const stored = await precedence.committing(() =>
      execute('storeReview', { session_id, changed_by, rules: CACHE_RULES_VERSION, breaks }),
    );
    if (!stored) return 'again';
    metrics.cacheReviewed({ contradictions: found?.contradictions ?? 0 });
    return 'done';
  } catch (error) {
    if (!signal.aborted)
      log.warn({ session_id, reason: reasonOf(error) }, 'a session cannot be looked at for breaks of the prompt cache');
    return 'failed';
  }
}

/** Rests as long as was worked, and longer while the listeners are busy. */
function restingAfter(pause: Deps['pause'], signal: AbortSignal): (workedMs: number) => Promise<void> {
  let worked = 0;
  return async (ms) => {
    worked += ms;
    if (worked < REST.fromMs) return;
    const all = worked;
    worked = 0;
    await sleep(Math.min(all, REST.mostMs), undefined, { signal }).catch(() => undefined);
    await pause(all);
  };
}
