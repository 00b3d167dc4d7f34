/** How do many rows reach a statement? As JSON, some at a time: PostgreSQL holds the text of its parameter several times over. */
import { jsonText } from '../literals.ts';

const MOST = { rows: 2_000, chars: 4 * 1024 * 1024 };

/** Arrays of rows as JSON text, each with at least one row; none where there are no rows. */
export function* jsonBatches(rows: Iterable<object>): Generator<string> {
  let batch: string[] = [];
  let chars = 0;
  for (const row of rows) {
    const text = jsonText(row);
    if (batch.length > 0 && (batch.length === MOST.rows || chars + text.length > MOST.chars)) {
      yield `[${batch.join(',')}]`;
      batch = [];
      chars = 0;
    }
    batch.push(text);
    chars += text.length;
  }
  if (batch.length > 0) yield `[${batch.join(',')}]`;
}
