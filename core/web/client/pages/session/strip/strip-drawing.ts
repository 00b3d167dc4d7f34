/** The drawing of the strip: one pass over its cells, on a canvas. */
import { diamond } from '../../../parts/diamond.ts';
import { sharpContext } from '../../../parts/sharp-canvas.ts';
import type { StripBins } from './strip-bins.ts';
import type { StripMark } from './strip-marks.ts';

export const STRIP_HEIGHT = 28;
const MARK_HEIGHT = 4;
const LEAST = 2; // pixels of the lowest cell

/** The custom properties with the colours of its parts. */
const COLOURS = {
  read: '--cache-read',
  written: '--cache-written',
  fresh: '--cache-fresh',
  error: '--error',
  cut: '--warn',
  compaction: '--accent',
  blocked: '--error',
  break: '--error',
  prompt: '--muted',
};

export function drawStrip(
  canvas: HTMLCanvasElement,
  width: number,
  { cells, tallest, prompts }: StripBins,
  { marks, calls }: { marks: readonly StripMark[]; calls: number },
): void {
  const context = sharpContext(canvas, width, STRIP_HEIGHT);
  if (!context) return;
  const colour = (part: keyof typeof COLOURS): string => {
    canvas.style.color = `var(${COLOURS[part]})`; // so that the browser resolves `light-dark()`, which a canvas cannot
    return getComputedStyle(canvas).color;
  };
  const room = STRIP_HEIGHT - MARK_HEIGHT - 1;
  for (const part of ['read', 'written', 'fresh'] as const) {
    context.fillStyle = colour(part);
    for (const cell of cells) {
      const total = cell.read + cell.written + cell.fresh;
      const height = Math.max(LEAST, (total / tallest) * room);
      const perToken = total === 0 ? 0 : height / total;
      const below = part === 'read' ? 0 : part === 'written' ? cell.read : cell.read + cell.written;
      const own = part === 'fresh' && total === 0 ? LEAST : cell[part] * perToken;
      if (own > 0) context.fillRect(cell.x, STRIP_HEIGHT - below * perToken - own, cell.width, own);
    }
  }
  context.fillStyle = colour('prompt');
  for (const x of prompts) context.fillRect(x - 1, MARK_HEIGHT + 1, 1, STRIP_HEIGHT);
  for (const { kind, call } of marks) {
    context.fillStyle = colour(kind);
    const x = Math.round(((call + 0.5) / calls) * width);
    if (kind === 'break') diamond(context, x, MARK_HEIGHT);
    else context.fillRect(x - 1, 0, 3, MARK_HEIGHT);
  }
}
