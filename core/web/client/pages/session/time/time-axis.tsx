/** The axis of the Time lens: elapsed time, compressed gaps, and the place to drag over for a closer look. */
import { useRef, useState } from 'preact/hooks';
import { durationText } from '../../../parts/number-text.ts';
import { type TimeScale, ticks } from './time-scale.ts';
import type { TimeRange } from './zoom.ts';

type TimeAxisProps = { scale: TimeScale; origin: number; onRange: (range: TimeRange) => void };

const LEAST_DRAG_PX = 5;

export function TimeAxis({ scale, origin, onRange }: TimeAxisProps) {
  const box = useRef<HTMLDivElement>(null);
  const [drag, setDrag] = useState<{ from: number; to: number } | null>(null);
  const placeOf = (event: PointerEvent) =>
    Math.max(0, Math.min(scale.width, event.clientX - (box.current?.getBoundingClientRect().left ?? 0)));
  const end = () => {
    if (drag && Math.abs(drag.to - drag.from) >= LEAST_DRAG_PX) {
      const [from, to] = [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)];
      onRange({ from: scale.moment(from), to: scale.moment(to) });
    }
    setDrag(null);
  };
  return (
    <div
      ref={box}
      class="time-axis"
      data-from={scale.from}
      data-to={scale.to}
      title="Drag to look closer"
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        setDrag({ from: placeOf(event), to: placeOf(event) });
      }}
      onPointerMove={(event) => drag && setDrag({ ...drag, to: placeOf(event) })}
      onPointerUp={end}
      onPointerCancel={() => setDrag(null)}
    >
      {ticks(scale, origin).map(({ x, us }) => (
        <span key={us} class="time-tick" style={{ transform: `translateX(${x}px)` }}>
          {us === 0 ? '0' : durationText(us)}
        </span>
      ))}
      {scale.gaps.map(({ x, width, from, to }) => (
        <span
          key={from}
          class="time-gap"
          title={`nothing for ${durationText(to - from)}`}
          style={{ transform: `translateX(${x}px)`, width: `${width}px` }}
        >
          <span aria-hidden="true">⌇</span>
        </span>
      ))}
      {drag && (
        <span
          class="time-drag"
          style={{
            transform: `translateX(${Math.min(drag.from, drag.to)}px)`,
            width: `${Math.abs(drag.to - drag.from)}px`,
          }}
        />
      )}
    </div>
  );
}
