/** What the Time lens shows of a session: rows, the range of time, its scale, shares and critical path, each made anew only when it changes. */
import { useMemo } from 'preact/hooks';
import type { OutlineColumns } from '../../../store/outline-columns.ts';
import type { OutlineIndex } from '../../../store/outline-index.ts';
import { criticalSpans } from './critical-path.ts';
import { type TimeRows, type TimeView, timeRows } from './time-rows.ts';
import { type TimeScale, timeScale } from './time-scale.ts';
import { activityOf, type Shares, sharesOf } from './time-shares.ts';
import { parseRange, type TimeRange } from './zoom.ts';

export type TimeLensView = {
  rows: TimeRows;
  scale: TimeScale;
  whole: TimeRange;
  range: TimeRange;
  origin: number; // the session's first prompt, from which addresses count
  shares: Shares | null;
  critical: Uint8Array;
};

/** @param zoom as the address has it @param width of the bars' column, in pixels */
export function useTimeView(
  columns: OutlineColumns,
  index: OutlineIndex,
  { toggled, trace, beside, zoom, width }: TimeView & { zoom: string | null; width: number },
): TimeLensView {
  const rows = useMemo(
    () => timeRows(columns, index, { toggled, trace, beside }),
    [columns, index, toggled, trace, beside],
  );
  const activity = useMemo(() => activityOf(columns, trace), [columns, trace]);
  const critical = useMemo(() => criticalSpans(columns, index), [columns, index]);
  const origin = columns.traces.started_us[index.traces[0] ?? 0] ?? 0;
  const { prompts } = activity;
  const whole = { from: prompts[0] ?? origin, to: prompts[prompts.length - 1] ?? origin + 1 };
  const { from, to } = parseRange(zoom, origin) ?? whole;
  const scale = useMemo(() => timeScale(activity.busy, from, to, Math.max(width, 1)), [activity, from, to, width]);
  const shares = useMemo(() => sharesOf(activity, from, to), [activity, from, to]);
  return { rows, scale, whole, range: { from, to }, origin, shares, critical };
}
