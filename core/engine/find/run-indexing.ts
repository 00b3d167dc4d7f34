/** The index of texts beside the engine's other work: by one process of a database at a time, which rests as long as it works. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../db/database.ts';
import { reasonOf } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import { exclusively } from '../exclusively.ts';
import type { Precedence } from '../precedence.ts';
import { openIndexing } from './index-texts.ts';

const LOOK = { firstMs: 500, pokedMs: 2_000, mostMs: 15_000 };
const MOST_REST_MS = 2_000;
/** What waits for derivation goes first: meanwhile a pass rests so many times as long as it worked. */
const BACKLOG_SHARES = 9;

type Deps = {
  database: Database;
  precedence: Precedence;
  pause(workedMs: number): Promise<void>;
  signal: AbortSignal;
  log: Logger;
};

export type Indexing = {
  /** Something came in that will have texts. */
  poke(): void;
  /** Resolves after the signal, when no pass is under way. */
  stopped: Promise<void>;
};

export function runIndexing({ database, precedence, pause, signal, log }: Deps): Indexing {
  const { execute } = database;
  const { committing } = precedence;
  let poked = true;
  const rest = async (workedMs: number) => {
    const { queued } = await execute('derivePending', {});
    const shares = queued > 0 ? BACKLOG_SHARES : 1;
    await sleep(Math.min(workedMs * shares, MOST_REST_MS), undefined, { signal }).catch(() => undefined);
    await pause(workedMs);
  };
  const indexBehind = openIndexing({ execute, committing, rest });
  const pass = async (more: boolean): Promise<boolean> => {
    if (!more && (await execute('sessionsToIndex', { limit: 1 })).length === 0) return false; // and needs no lease
    return (await exclusively(execute, 'find', signal, indexBehind)) ?? false;
  };
  const run = async () => {
    let waitMs = LOOK.firstMs;
    let lookedAt = performance.now();
    let found = false;
    for (;;) {
      await sleep(LOOK.firstMs, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      const rested = performance.now() - lookedAt;
      if (rested < waitMs && !(poked && rested >= Math.min(waitMs, LOOK.pokedMs))) continue;
      poked = false;
      const began = performance.now();
      try {
        found = await pass(found);
      } catch (error) {
        found = false;
        if (!signal.aborted) log.warn({ reason: reasonOf(error) }, 'texts could not be indexed; the next pass goes on');
      }
      lookedAt = performance.now();
      // What a look costs grows with the number of sessions: it may take a twentieth of the time.
      waitMs = found ? LOOK.firstMs : Math.min(Math.max(2 * waitMs, (lookedAt - began) * 20), LOOK.mostMs);
    }
  };
  return {
    poke: () => {
      poked = true;
    },
    stopped: run(),
  };
}
