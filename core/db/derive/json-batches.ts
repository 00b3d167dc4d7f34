/** Splits many rows into batches of JSON for a statement: PostgreSQL holds several copies of a parameter's text. */
import { BATCH_ROWS } from '../batches.ts';
import { jsonRows } from '../literals.ts';

const MOST = { rows: BATCH_ROWS, chars: 4 * 1024 * 1024 };

/** Arrays of rows as JSON text, each with at least one row; none where there are no rows. @param rows each as JSON text */
export function* jsonBatches(rows: Iterable<string>): Generator<string> {
  let batch: string[] = [];
  let chars = 0;
  for (const text of rows) {
    if (batch.length > 0 && (batch.length === MOST.rows || chars + text.length > MOST.chars)) {
      yield jsonRows(batch);
      batch = [];
      chars = 0;
    }
    batch.push(text);
    chars += text.length;
  }
  if (batch.length > 0) yield jsonRows(batch);
}
