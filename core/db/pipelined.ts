/** Statements of one transaction that do not wait for each other's rows: a server gets them without a round trip in between. */
import { DatabaseError } from '../errors.ts';

/** SQLSTATE of a statement that comes after another one of its transaction has failed. */
const TRANSACTION_HAS_FAILED = '25P02';

/**
 * Resolves to what all resolve to; null stands for nothing to do. Each sends its first statement at once, so these are executed in the order
 * of the list. Where one fails, its error is thrown once the others have ended: none sends a statement after the transaction was rolled back.
 * @example
 * await pipelined([Promise.resolve([{ n: 1 }]), null]); // => [[{ n: 1 }], null]
 */
export async function pipelined<const Work extends readonly (Promise<unknown> | null)[]>(
  work: Work,
): Promise<{ -readonly [Key in keyof Work]: Awaited<Work[Key]> }> {
  const ended = await Promise.allSettled(work);
  const errors = ended.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []));
  if (errors.length > 0) throw errors.find((error) => !isConsequence(error)) ?? errors[0];
  return Promise.all(work) as Promise<{ -readonly [Key in keyof Work]: Awaited<Work[Key]> }>;
}

const isConsequence = (error: unknown) => error instanceof DatabaseError && error.sqlstate === TRANSACTION_HAS_FAILED;
