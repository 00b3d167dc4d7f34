/** How do we say no to a cassette's statement before the database sees it? */
import { DatabaseError } from '../../errors.ts';

/** Asking again does not help. `sqlstate` is '' where PostgreSQL has no word for it. */
export const refused = (why: string, sqlstate = ''): DatabaseError =>
  new DatabaseError(`Cannot run a statement: ${why}`, sqlstate, false);
