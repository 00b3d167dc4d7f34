/** Batches of values: as many as one statement takes. */

/** The most rows of one statement: PostgreSQL holds several copies of a parameter's text. */
export const BATCH_ROWS = 2_000;

export function* batches<T>(values: readonly T[], size = BATCH_ROWS): Generator<T[]> {
  for (let from = 0; from < values.length; from += size) yield values.slice(from, from + size);
}
