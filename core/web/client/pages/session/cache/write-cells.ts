/** The cells of the strip of the Cache lens: tokens that each call wrote to the cache, or the most of those that share a pixel. */
import type { OutlineColumns } from '../../../store/outline-columns.ts';
import type { OutlineIndex } from '../../../store/outline-index.ts';

export type WriteCell = { x: number; width: number; written: number };

/** @param width in pixels */
export function writeCells({ spans }: OutlineColumns, { calls }: OutlineIndex, width: number): WriteCell[] {
  const bins = Math.min(calls.length, Math.max(1, Math.floor(width)));
  const edge = (bin: number) => Math.round((bin * width) / Math.max(1, bins));
  return Array.from({ length: bins }, (_, bin) => {
    const first = Math.floor((bin * calls.length) / bins);
    const end = Math.max(first + 1, Math.floor(((bin + 1) * calls.length) / bins));
    let written = 0;
    for (let n = first; n < end; n++) written = Math.max(written, spans.cache_write_tokens[calls[n] ?? 0] || 0);
    const gap = width / bins >= 4 ? 1 : 0;
    return { x: edge(bin), width: Math.max(1, edge(bin + 1) - edge(bin) - gap), written };
  });
}
