/** Where in the session a text was found: ticks below the strip, at the calls whose steps hold it. */
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import { sharpContext } from '../../../parts/sharp-canvas.ts';
import { type OutlineColumns, spanIndex } from '../../../store/outline-columns.ts';
import type { OutlineIndex } from '../../../store/outline-index.ts';
import { colours } from '../../../store/preferences.ts';
import { useSession } from '../session-store.ts';
import { nearestCall } from './nearest-call.ts';
import { middleOf } from './strip-bins.ts';

const HEIGHT = 6;

type FindRailProps = { columns: OutlineColumns; index: OutlineIndex; width: number };

export function FindRail({ columns, index, width }: FindRailProps) {
  const { state, at } = useSession().find;
  const canvas = useRef<HTMLCanvasElement>(null);
  const found = state.value?.found ?? [];
  const xOf = ({ trace_id, span_id }: { trace_id: string; span_id: string }): number => {
    const span = spanIndex(columns, trace_id, span_id);
    return span < 0 ? -1 : Math.round(middleOf(nearestCall(columns, index, span), width, index.calls.length));
  };
  const places = useMemo(() => [...new Set(found.map(xOf))], [state.value, columns, width]);
  const current = at.value === null ? -1 : xOf(at.value.found);
  useLayoutEffect(() => {
    if (canvas.current) draw(canvas.current, width, places, current);
  }, [places, current, width, colours.value]);
  if (state.value === null) return null;
  return (
    <div class="find-rail" aria-hidden="true" data-ticks={places.length}>
      <canvas ref={canvas} />
    </div>
  );
}

function draw(canvas: HTMLCanvasElement, width: number, places: readonly number[], current: number): void {
  const context = sharpContext(canvas, width, HEIGHT);
  if (!context) return;
  context.fillStyle = getComputedStyle(canvas).color;
  for (const x of places) if (x >= 0) context.fillRect(x - 1, 0, 2, HEIGHT - 2);
  if (current >= 0) context.fillRect(current - 3, 0, 6, HEIGHT);
}
