/** The bar of a row: a step's wait and stream, or what was under way in many, drawn at the scale of the lens. */
import { durationText } from '../../../parts/number-text.ts';
import type { OutlineColumns } from '../../../store/outline-columns.ts';
import { activityPath } from './activity-path.ts';
import type { TimeScale } from './time-scale.ts';

const LABEL_PX = 64;
const LEAST_PX = 1;
const ROW_PX = 22;

/** A span's bar. Hatched until the first byte, then solid; a thin one is a call beside the conversation. */
export function SpanBar({
  columns,
  span,
  scale,
  look,
}: {
  columns: OutlineColumns;
  span: number;
  scale: TimeScale;
  look: string;
}) {
  const { spans } = columns;
  const started = spans.started_us[span] ?? 0;
  const duration = spans.duration_us[span] ?? Number.NaN;
  const ended = started + (duration || 0);
  if (ended < scale.from || started > scale.to) return null;
  const left = scale.x(started);
  const width = Math.max(LEAST_PX, scale.x(ended) - left);
  const firstByte = spans.first_byte_us[span] ?? Number.NaN;
  const wait = firstByte > started ? Math.min(width, scale.x(Math.min(firstByte, ended)) - left) : 0;
  const right = left + width;
  const [place, labelAt] =
    right + LABEL_PX <= scale.width
      ? ['', right + 4]
      : left > LABEL_PX
        ? ['before', left - LABEL_PX - 4]
        : ['within', left + 4];
  return (
    <>
      <span class={`time-bar ${look}`} data-bar style={{ transform: `translateX(${left}px)`, width: `${width}px` }}>
        {wait > 0 && <span class="time-wait" data-wait style={{ width: `${wait}px` }} />}
      </span>
      <span class={`time-length ${place}`} style={{ transform: `translateX(${labelAt}px)` }}>
        {Number.isNaN(duration) ? 'no end' : durationText(duration)}
      </span>
    </>
  );
}

/** Many spans in one row: a lane's, a prompt's, or those of a run, of which each is a tick. */
export function ActivityBar({
  columns,
  groups,
  scale,
}: {
  columns: OutlineColumns;
  groups: readonly (readonly [look: string, spans: Iterable<number>])[];
  scale: TimeScale;
}) {
  const { spans } = columns;
  return (
    <svg class="time-activity" width={scale.width} height={ROW_PX} aria-hidden="true">
      {groups.map(([look, some]) => (
        <path key={look} class={look} d={activityPath(some, spans, scale, { top: 6, height: 10 })} />
      ))}
    </svg>
  );
}
