/** Is every row of a list reached, however tall it is, and in steps as small as those of any other? */
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { sheetHeight, shiftAfter, shiftAt } from '../../../../../core/web/client/parts/sheet-scroll.ts';

const test = suite('the scroll position of a tall list');
const view = 600;
const FIREFOX_PX = 17_800_000; // its largest element
const TALL = 42_000_000;
const TALL_BOTTOM = sheetHeight(TALL) - view;
const SIZES = [400, 20_000, 7_999_999, 8_000_000, 8_000_001, TALL, 200_000_000];

/** Where a list is that was scrolled to a position from nowhere. */
const draggedTo = (top: number, total: number) => top + shiftAfter(0, Number.NaN, top, view, total);

test('a list that fits is scrolled as it is', () => {
  for (const total of SIZES.slice(0, 4)) {
    assert.is(sheetHeight(total), total);
    for (const top of [0, 1, 1_999, 5_000_000]) {
      assert.is(draggedTo(top, total), top);
      assert.is(shiftAfter(0, 20, top, view, total), 0);
      assert.is(shiftAt(top, total, view, total) + 0, 0);
    }
  }
});

test('the ends of the sheet are the ends of the list, from wherever one comes', () => {
  for (const total of SIZES.slice(1)) {
    const bottom = sheetHeight(total) - view;
    assert.ok(bottom < FIREFOX_PX);
    for (const moved of [Number.NaN, 300, -300])
      for (const [top, offset] of [
        [0, 0],
        [bottom, total - view],
        [bottom - 0.5, total - view - 0.5],
      ] as const)
        assert.is(top + shiftAfter(5_000, moved, top, view, total), offset);
  }
});

test('a step of the wheel moves the rows by its own pixels, and to the ends without a leap', () => {
  for (const [start, step] of [
    [4_000_000, 100],
    [20_000, -100],
    [TALL_BOTTOM - 20_000, 100],
  ] as const) {
    let [top, offset] = [start as number, draggedTo(start, TALL)];
    for (let n = 0; n < 300; n++) {
      const next = Math.max(0, Math.min(top + step, TALL_BOTTOM));
      const shift = shiftAfter(offset - top, next - top, next, view, TALL);
      assert.is(next + shift - offset, next - top);
      [top, offset] = [next, next + shift];
    }
  }
});

test('whoever drags gets through the whole list, in order', () => {
  let [before, furthest] = [0, 0];
  for (let top = 0; top <= TALL_BOTTOM; top += 20_000) {
    const offset = draggedTo(top, TALL);
    assert.ok(offset >= before);
    furthest = Math.max(furthest, offset - before);
    before = offset;
  }
  assert.ok(furthest < 8 * 20_000, `${furthest} pixels at once`);
});

test('each place in the list is one that the sheet can be scrolled to, and stays when the browser rounds it', () => {
  for (const total of SIZES.slice(1)) {
    const end = total - view;
    for (const offset of [0, 20, end / 3, end / 2, end - 20, end].map(Math.round)) {
      const shift = shiftAt(offset, total, view, total);
      const top = offset - shift;
      assert.ok(Number.isInteger(shift));
      assert.ok(top >= 0 && top <= sheetHeight(total) - view, `${top}`);
      if (offset > 0 && offset < end) assert.is(shiftAfter(shift, 0.4, top + 0.4, view, total), shift);
      assert.ok(Math.abs(draggedTo(top, total) - offset) < 20, 'scrolled to by hand it is the same row');
    }
  }
});

test.run();
