/** What counts against a cassette: statements that were ended or broke something. After too many, its statements are refused for a while. */
import { INTERNAL_ERROR, QUERY_CANCELED } from '../../db/sqlstates.ts';
import { DatabaseError } from '../../errors.ts';
import type { Logger } from '../../log.ts';
import { brokeParser, isTooDeep, refused } from './statement-refusals.ts';

export type Penalties = {
  /** @throws {DatabaseError} its statements are refused for now */
  refusePaused(): void;
  charge(why: string): void;
};

/** So many within `WITHIN_MS` pause a cassette's database for `PAUSE_MS`: on the embedded one each blocks everything. */
const MAX_PENALTIES = 3;
const WITHIN_MS = 10 * 60_000;
const PAUSE_MS = 60_000;

export function openPenalties({
  name,
  log,
  now = Date.now,
}: {
  name: string;
  log: Logger;
  now?: () => number;
}): Penalties {
  let chargedAt: number[] = [];
  let pausedUntil = 0;
  return {
    refusePaused() {
      if (pausedUntil <= now()) return;
      const why = `${MAX_PENALTIES} statements of '${name}' took too long or broke the database within ${WITHIN_MS / 60_000} minutes`;
      throw refused(`${why}; asked again after ${new Date(pausedUntil).toISOString()} it is run`);
    },
    charge(why) {
      log.warn({ cassette: name, why }, 'a statement of a cassette was ended');
      chargedAt = [...chargedAt.filter((at) => at > now() - WITHIN_MS), now()];
      if (chargedAt.length < MAX_PENALTIES) return;
      chargedAt = [];
      pausedUntil = now() + PAUSE_MS;
      log.error({ cassette: name, ms: PAUSE_MS }, 'the statements of a cassette are refused for a while');
    },
  };
}

/** The error for the cassette's author, if it counts against the cassette. */
export function penaltyFor(error: unknown, statementMs: number): DatabaseError | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error instanceof DatabaseError && error.sqlstate === QUERY_CANCELED) {
    return new DatabaseError(
      `Cannot run a statement: it took longer than ${statementMs / 1000} s`,
      QUERY_CANCELED,
      false,
    );
  }
  if (error.name === 'RuntimeError' || (error instanceof DatabaseError && error.sqlstate === INTERNAL_ERROR)) {
    return new DatabaseError('Cannot run a statement: it broke the database', INTERNAL_ERROR, false);
  }
  return error instanceof DatabaseError && (isTooDeep(error) || brokeParser(error)) ? error : undefined;
}
