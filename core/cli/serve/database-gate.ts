/**
 * The database of a role that serves before it was reached: until it answers and is of this version, each query fails at once, as one that
 * may be sent again.
 */
import type { Database } from '../../db/database.ts';
import { DatabaseError } from '../../errors.ts';

export type DatabaseGate = {
  database: Database;
  /** Takes what the engine reports: null, or why the database cannot be used yet. (core/engine/engine.ts) */
  reachable(why: string | null): void;
  /** Why it was not reached yet; null: it was, once. */
  closedBecause(): string | null;
  /** Resolves when it was reached. */
  opened: Promise<void>;
};

export function databaseGate(database: Database): DatabaseGate {
  let why: string | null = 'the database was not reached yet';
  let open = () => {};
  const opened = new Promise<void>((done) => {
    open = done;
  });
  return {
    database: {
      ...database,
      execute: (name, args, options) =>
        why === null
          ? database.execute(name, args, options)
          : Promise.reject(new DatabaseError(`Cannot ask the database: ${why}`, '', true)),
    },
    reachable: (reason) => {
      if (why === null) return; // from then on each query shows by itself whether it is there
      why = reason;
      if (why === null) open();
    },
    closedBecause: () => why,
    opened,
  };
}
