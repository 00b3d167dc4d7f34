/** How do we say no to a cassette's statement before the database sees it? */
import { DatabaseError } from '../../errors.ts';

/** Asking again does not help. `sqlstate` is '' where PostgreSQL has no word for it. */
export const refused = (why: string, sqlstate = ''): DatabaseError =>
  new DatabaseError(`Cannot run a statement: ${why}`, sqlstate, false);

/** Asking again later does. */
export const busy = (why: string): DatabaseError => new DatabaseError(`Cannot run a statement: ${why}`, '', true);

/** The parser's stack ran over. Each time costs tens of milliseconds, so a cassette that does it again and again is charged. */
export const isTooDeep = (error: unknown): boolean => error instanceof Error && error.message.endsWith(TOO_DEEP);
export const TOO_DEEP = 'it nests too deeply';

/** The parser thread was ended over it, or ended by itself: the cassette is charged. */
export const brokeParser = (error: unknown): boolean => error instanceof Error && error.message.endsWith(UNPARSABLE);
export const UNPARSABLE = 'it could not be parsed in time';
