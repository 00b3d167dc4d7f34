/** Commits that several senders share: each gets its own result, and what the database refuses of one fails no other. */
import { DEADLOCK, UNIQUE_VIOLATION } from '../../db/sqlstates.ts';
import { DatabaseError } from '../../errors.ts';

/** Something that waits to be stored, with the functions that settle its sender's promise. */
export type Waiting<Item, Stored> = Item & {
  resolve(stored: Stored): void;
  reject(error: unknown): void;
};

/**
 * Stores a batch in one commit, or each of it in its own where the batch is refused. All promises are settled then.
 * @param commit in the same order what became of each; an error is of that one alone
 */
export async function commitTogether<Item, Stored>(
  batch: readonly Waiting<Item, Stored>[],
  commit: (items: readonly Item[]) => Promise<readonly (Stored | Error)[]>,
): Promise<void> {
  try {
    const stored = await commit(batch);
    for (const [i, { resolve, reject }] of batch.entries()) {
      const one = stored[i] as Stored | Error;
      if (one instanceof Error) reject(one);
      else resolve(one);
    }
  } catch (error) {
    const isFinal = batch.length === 1 || (error instanceof DatabaseError && error.transient);
    if (!isFinal) for (const one of batch) await commitTogether([one], commit);
    else for (const { reject } of batch) reject(error);
  }
}

/** Tries an insertion a second time where another process has stored the same meanwhile, which that attempt finds, or at a deadlock. */
export async function withSecondAttempt<Stored>(insert: () => Promise<Stored>): Promise<Stored> {
  try {
    return await insert();
  } catch (error) {
    if (!(error instanceof DatabaseError && [UNIQUE_VIOLATION, DEADLOCK].includes(error.sqlstate))) throw error;
    return insert();
  }
}
