/** Which rows of a virtual list are in the document. */
import type { Range } from '@tanstack/virtual-core';

/** The rows in view, some around them, and the one that has the focus. */
export function rowsToRender({ startIndex, endIndex, overscan, count }: Range, focused: number | undefined): number[] {
  const first = Math.max(0, startIndex - overscan);
  const last = Math.min(count - 1, endIndex + overscan);
  const rows = Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => first + i);
  if (focused === undefined || focused < 0 || focused >= count || (focused >= first && focused <= last)) return rows;
  return focused < first ? [focused, ...rows] : [...rows, focused];
}
