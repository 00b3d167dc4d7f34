/** The outline of what was under way, pixel by pixel: what many steps look like in one row, as one path of an SVG. */
import type { TimeScale } from './time-scale.ts';

/** @param starts and `durations` in microseconds, by span @returns the `d` of a path whose boxes are `height` high; '' for none */
export function activityPath(
  spans: Iterable<number>,
  { started_us, duration_us }: { started_us: ArrayLike<number>; duration_us: ArrayLike<number> },
  scale: TimeScale,
  { top, height }: { top: number; height: number },
): string {
  const columns = new Uint8Array(Math.ceil(scale.width) + 1);
  for (const span of spans) {
    const from = started_us[span] ?? 0;
    const to = from + (duration_us[span] || 0);
    if (to < scale.from || from > scale.to) continue;
    const first = Math.floor(scale.x(from));
    columns.fill(1, first, Math.max(first + 1, Math.ceil(scale.x(to))));
  }
  let path = '';
  for (let x = 0; x < columns.length; x++) {
    if (columns[x] === 0) continue;
    const first = x;
    while (x < columns.length && columns[x] === 1) x++;
    path += `M${first} ${top}h${x - first}v${height}h${first - x}z`;
  }
  return path;
}
