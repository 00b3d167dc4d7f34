/** The errors that refuse a cassette's statement before the database sees it. */
import { DatabaseError } from '../../errors.ts';

/** A retry does not help. `sqlstate` is '' where PostgreSQL has no code for it. */
export const refused = (why: string, sqlstate = ''): DatabaseError =>
  new DatabaseError(`Cannot run a statement: ${why}`, sqlstate, false);

/** A retry later helps. */
export const busy = (why: string): DatabaseError => new DatabaseError(`Cannot run a statement: ${why}`, '', true);

/** The parser's stack overflowed. Each time costs tens of milliseconds, so it counts against the cassette. */
export const isTooDeep = (error: unknown): boolean => error instanceof Error && error.message.endsWith(TOO_DEEP);
export const TOO_DEEP = 'it nests too deeply';

/** The parser thread was ended because of the text, or ended by itself: this counts against the cassette. */
export const brokeParser = (error: unknown): boolean => error instanceof Error && error.message.endsWith(UNPARSABLE);
export const UNPARSABLE = 'it could not be parsed in time';
