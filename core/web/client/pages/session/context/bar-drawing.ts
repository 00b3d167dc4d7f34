/** The drawing of a context's bar: what changed, the blocks by kind, and how the input was billed. */
import { diamond } from '../../../parts/diamond.ts';
import { sharpContext } from '../../../parts/sharp-canvas.ts';
import type { BarCell, BilledPart } from './bar-cells.ts';
import { KINDS } from './kind-words.ts';

export const BAR_HEIGHT = 36;
const CHANGE = { y: 0, height: 5 };
const BLOCK = { y: 6, height: 20 };
const BILLED = { y: 28, height: 8 };
const HATCH = 5; // pixels between two lines

const CHANGES: Readonly<Record<string, string>> = { add: '--ok', change: '--warn', move: '--accent' };
const BILLED_AS = { read: '--cache-read', written: '--cache-written', fresh: '--cache-fresh' };

export type PromptBar = {
  cells: readonly BarCell[];
  billed: readonly BilledPart[];
  selected: number; // a block; -1: none
  broken: number; // the block at which the cache broke; -1: none
};

export function drawBar(
  canvas: HTMLCanvasElement,
  width: number,
  { cells, billed, selected, broken }: PromptBar,
): void {
  const context = sharpContext(canvas, width, BAR_HEIGHT);
  if (!context) return;
  const colour = colours(canvas);
  const fill = (from: number, to: number, { y, height }: { y: number; height: number }, name: string) => {
    context.fillStyle = colour(name);
    context.fillRect(from * width, y, Math.max(0.75, (to - from) * width - gapOf((to - from) * width)), height);
  };
  for (const [i, { block, op, from, to }] of cells.entries()) {
    if (block.kind === 'held')
      hatch(context, { x: from * width, width: (to - from) * width, colour: colour('--muted') });
    else fill(from, to, BLOCK, KINDS[block.kind][1]);
    if (op !== null) fill(from, to, CHANGE, CHANGES[op] ?? '--accent');
    if (i > 0 && cells[i - 1]?.block.section !== block.section) divide(context, from * width, colour('--page'));
  }
  for (const { as, from, to } of billed) fill(from, to, BILLED, BILLED_AS[as]);
  const place = cells[selected];
  if (place) {
    context.strokeStyle = colour('--text');
    context.lineWidth = 2;
    context.strokeRect(place.from * width + 1, BLOCK.y, Math.max(2, (place.to - place.from) * width - 2), BLOCK.height);
  }
  const breakAt = cells[broken];
  if (!breakAt) return;
  context.fillStyle = colour('--error');
  diamond(context, Math.max(5, breakAt.from * width));
}

/** Wide cells stand apart. */
const gapOf = (px: number): number => (px >= 4 ? 1 : 0);

/** The browser resolves `light-dark()`, which a canvas cannot. */
function colours(canvas: HTMLCanvasElement): (name: string) => string {
  const known = new Map<string, string>();
  return (name) => {
    const found = known.get(name);
    if (found !== undefined) return found;
    canvas.style.color = `var(${name})`;
    const { color } = getComputedStyle(canvas);
    known.set(name, color);
    return color;
  };
}

type Context2d = CanvasRenderingContext2D;

/** What was not on the wire. */
function hatch(context: Context2d, { x, width, colour }: { x: number; width: number; colour: string }): void {
  context.save();
  context.beginPath();
  context.rect(x, BLOCK.y, width, BLOCK.height);
  context.clip();
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.beginPath();
  for (let at = x - BLOCK.height; at < x + width; at += HATCH) {
    context.moveTo(at, BLOCK.y + BLOCK.height);
    context.lineTo(at + BLOCK.height, BLOCK.y);
  }
  context.stroke();
  context.strokeRect(x + 0.5, BLOCK.y + 0.5, Math.max(0, width - 1), BLOCK.height - 1);
  context.restore();
}

function divide(context: Context2d, x: number, colour: string): void {
  context.fillStyle = colour;
  context.fillRect(x - 1.5, BLOCK.y, 3, BLOCK.height);
}
