/** The shift of rows along a sheet that is shorter than all of them together, since no element can be as tall as a long list. */

/** Chromium cuts an element off at 33.5 million pixels, Firefox at 17.9; a transform is exact to a pixel up to 8.3 million. */
const MOST_PX = 8_000_000;
/** From either end a pixel of the sheet is one of the list: whoever scrolls there comes to the end row by row. */
const EXACT_PX = 1_000_000;

/** @param total of all rows, in pixels */
export const sheetHeight = (total: number): number => Math.min(total, MOST_PX);

/**
 * What a scroll position lacks to be a place in the list: nothing at the beginning, at the end all that the sheet lacks. A whole
 * number, so that text is sharp.
 * @param at a scroll position, or a place in the list @param length of the sheet, or `total`: what `at` is a place in
 * @param view how much of it is in view
 */
export const shiftAt = (at: number, length: number, view: number, total: number): number =>
  total <= MOST_PX
    ? 0
    : Math.round((total - MOST_PX) * Math.max(0, Math.min(1, (at - EXACT_PX) / (length - view - 2 * EXACT_PX))));

/**
 * The shift at a scroll position that was come to from another. Nearby it stays, so that a step of the wheel moves the rows by its own
 * pixels, but for the ends.
 * @param moved by how much; NaN: from nowhere
 */
export const shiftAfter = (shift: number, moved: number, top: number, view: number, total: number): number =>
  Math.abs(moved) <= 2 * view && top > 0 && top < sheetHeight(total) - view - 1
    ? shift
    : shiftAt(top, sheetHeight(total), view, total);
