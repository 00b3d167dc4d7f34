/**
 * The order in which the engine uses a database of one connection: turns are stored first. A commit of derivation holds the connection
 * for its whole transaction, so there is one at a time, and none begins while turns are being stored.
 */
import type { Database } from '../db/database.ts';

export type Precedence = {
  /** Runs all queries that store a batch of turns. */
  storing<T>(work: () => Promise<T>): Promise<T>;
  /** Runs a commit, once the batches are stored that are under way when its turn comes; it does not wait for later ones. */
  committing<T>(work: () => Promise<T>): Promise<T>;
};

export const openPrecedence = ({ kind }: Pick<Database, 'kind'>): Precedence =>
  kind === 'embedded' ? oneConnection() : { storing: (work) => work(), committing: (work) => work() };

function oneConnection(): Precedence {
  const batches = new Set<Promise<unknown>>();
  let last: Promise<unknown> = Promise.resolve();
  return {
    storing: (work) => {
      const batch = work().finally(() => batches.delete(batch));
      batches.add(batch);
      return batch;
    },
    committing: (work) => {
      const commit = last.then(async () => {
        await Promise.allSettled(batches);
        return work();
      });
      last = commit.catch(() => undefined);
      return commit;
    },
  };
}
