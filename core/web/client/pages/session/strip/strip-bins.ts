/** The cells of the strip: all calls of a session laid side by side, a cell each, or of many in one pixel the tallest. */
import type { OutlineColumns } from '../../../store/outline-columns.ts';
import type { OutlineIndex } from '../../../store/outline-index.ts';

/** How the input of a call was billed, in tokens. */
export type StripCell = { x: number; width: number; read: number; written: number; fresh: number };

export type StripBins = {
  cells: StripCell[];
  tallest: number; // tokens of the tallest cell, at least 1
  prompts: number[]; // where a prompt's first call begins, but the first prompt's
};

const GAP_PX = 1;
const WIDE_PX = 4; // narrower cells stand without a gap

/** @param width in pixels; there are never more cells than these */
export function stripBins({ spans }: OutlineColumns, { calls }: OutlineIndex, width: number): StripBins {
  const bins = Math.max(1, Math.min(calls.length, Math.floor(width)));
  const pitch = width / bins;
  const cells: StripCell[] = [];
  let tallest = 1;
  for (let bin = 0; bin < bins && calls.length > 0; bin++) {
    const first = Math.floor((bin * calls.length) / bins);
    const end = Math.max(first + 1, Math.floor(((bin + 1) * calls.length) / bins));
    let top = calls[first] ?? 0;
    for (let n = first; n < end; n++) {
      const call = calls[n] ?? 0;
      if ((spans.input_tokens[call] || 0) > (spans.input_tokens[top] || 0)) top = call;
    }
    const input = spans.input_tokens[top] || 0;
    const read = Math.min(input, spans.cache_read_tokens[top] || 0);
    const written = Math.min(input - read, spans.cache_write_tokens[top] || 0);
    const x = Math.round(bin * pitch);
    const gap = pitch >= WIDE_PX ? GAP_PX : 0;
    const right = Math.round((bin + 1) * pitch) - gap;
    cells.push({ x, width: Math.max(1, right - x), read, written, fresh: input - read - written });
    tallest = Math.max(tallest, input);
  }
  const prompts: number[] = [];
  for (let n = 1; n < calls.length; n++)
    if (spans.trace[calls[n] ?? 0] !== spans.trace[calls[n - 1] ?? 0])
      prompts.push(Math.round((n / calls.length) * width));
  return { cells, tallest, prompts };
}

/** The number of the call at a place. */
export const callAt = (x: number, width: number, count: number): number =>
  Math.max(0, Math.min(count - 1, Math.floor((x / Math.max(1, width)) * count)));

/** The middle of a call's cell. */
export const middleOf = (call: number, width: number, count: number): number =>
  ((call + 0.5) / Math.max(1, count)) * width;
