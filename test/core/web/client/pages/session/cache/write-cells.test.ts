import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { writeCells } from '../../../../../../../core/web/client/pages/session/cache/write-cells.ts';
import type { OutlineColumns } from '../../../../../../../core/web/client/store/outline-columns.ts';
import type { OutlineIndex } from '../../../../../../../core/web/client/store/outline-index.ts';

const test = suite('the strip of the Cache lens');

const cellsOf = (written: number[], width: number) =>
  writeCells(
    { spans: { cache_write_tokens: Float64Array.from(written) } } as OutlineColumns,
    { calls: Int32Array.from(written.keys()) } as OutlineIndex,
    width,
  );

test('a cell for each call', () => {
  assert.equal(cellsOf([5, Number.NaN, 7], 30), [
    { x: 0, width: 9, written: 5 },
    { x: 10, width: 9, written: 0 },
    { x: 20, width: 9, written: 7 },
  ]);
});

test('calls that share a pixel show the one that wrote most, so that no break is lost', () => {
  const written = Array.from({ length: 1_000 }, (_, n) => (n === 777 ? 9 : 1));
  const cells = cellsOf(written, 100);
  assert.is(cells.length, 100);
  assert.is(cells[77]?.written, 9);
});

test('no calls, no cells', () => {
  assert.equal(cellsOf([], 100), []);
});

test.run();
