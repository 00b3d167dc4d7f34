/** The strip of the Cache lens: the tokens written by each call, with the breaks marked. The list below it says the same in words. */

import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { CacheBreak } from '../../../../../model/cache-break.ts';
import { diamond } from '../../../parts/diamond.ts';
import { useWidth } from '../../../parts/element-width.ts';
import { countText } from '../../../parts/number-text.ts';
import { sharpContext } from '../../../parts/sharp-canvas.ts';
import type { OutlineColumns } from '../../../store/outline-columns.ts';
import { outlineIndex } from '../../../store/outline-index.ts';
import { colours } from '../../../store/preferences.ts';
import { type WriteCell, writeCells } from './write-cells.ts';

const HEIGHT = 64;
const MARK = 10;

export type StripBreak = { call: number; planned: CacheBreak['planned'] };

type WriteStripProps = { columns: OutlineColumns; breaks: readonly StripBreak[] };

export function WriteStrip({ columns, breaks }: WriteStripProps) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(box);
  const index = outlineIndex(columns);
  const cells = useMemo(() => writeCells(columns, index, width), [columns, index, width]);
  const most = cells.reduce((top, { written }) => Math.max(top, written), 0);
  useLayoutEffect(() => {
    if (canvas.current && width > 0) draw(canvas.current, width, cells, { most, breaks, calls: index.calls.length });
  }, [cells, breaks, width, colours.value]);
  if (index.calls.length === 0) return null;
  const words = `Tokens written to the cache by each of ${index.calls.length} calls, at most ${countText(most)}`;
  return (
    <figure class="write-strip">
      <div ref={box} role="img" aria-label={words}>
        <canvas ref={canvas} height={HEIGHT} />
      </div>
      <figcaption class="muted">
        tokens written per call, at most {countText(most)} · <span class="break-sign">◆</span> break · ▬ planned
      </figcaption>
    </figure>
  );
}

type Drawn = { most: number; breaks: readonly StripBreak[]; calls: number };

function draw(
  canvas: HTMLCanvasElement,
  width: number,
  cells: readonly WriteCell[],
  { most, breaks, calls }: Drawn,
): void {
  const context = sharpContext(canvas, width, HEIGHT);
  if (!context) return;
  const colour = (name: string): string => {
    canvas.style.color = `var(${name})`; // so that the browser resolves `light-dark()`, which a canvas cannot
    return getComputedStyle(canvas).color;
  };
  context.fillStyle = colour('--line');
  context.fillRect(0, HEIGHT - 1, width, 1);
  context.fillStyle = colour('--cache-written');
  for (const { x, width: own, written } of cells) {
    const height = most === 0 ? 0 : (written / most) * (HEIGHT - MARK - 2);
    if (height > 0) context.fillRect(x, HEIGHT - 1 - Math.max(1, height), own, Math.max(1, height));
  }
  for (const planned of [true, false]) {
    context.fillStyle = colour(planned ? '--muted' : '--error');
    for (const mark of breaks)
      if (mark.planned === planned) {
        const x = ((mark.call + 0.5) / Math.max(1, calls)) * width;
        if (planned) context.fillRect(x - 3, 3, 6, 3);
        else diamond(context, x);
      }
  }
}
