import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { jsonBatches } from '../../../../core/db/derive/json-batches.ts';
import { jsonText } from '../../../../core/db/literals.ts';

const test = suite('rows as JSON, some at a time');

const row = (n: number, chars = 1) => ({ n, text: 'x'.repeat(chars) });
const batchesOf = (rows: readonly object[]) => [...jsonBatches(rows.map(jsonText))];
const sizes = (rows: readonly object[]) => batchesOf(rows).map((text) => (JSON.parse(text) as object[]).length);

test('all rows in their order, with what PostgreSQL refuses replaced', () => {
  const rows = Array.from({ length: 4_001 }, (_, n) => row(n));
  assert.equal(
    batchesOf(rows).flatMap((text) => JSON.parse(text)),
    rows,
  );
  assert.equal(sizes(rows), [2_000, 2_000, 1]);
  assert.equal(batchesOf([{ text: 'a\0b' }]), ['[{"text":"a\ufffdb"}]']);
  assert.equal(sizes([]), []);
});

test('a batch ends before four million characters, and a larger row goes alone', () => {
  assert.equal(sizes([row(1, 3_000_000), row(2, 1_000_000), row(3, 1_000_000)]), [2, 1]);
  assert.equal(sizes([row(1), row(2, 9_000_000), row(3)]), [1, 1, 1]);
});

test.run();
