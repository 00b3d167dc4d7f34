/** The geometry of the chart of days: a band for each day, stacked bars, ticks. */
import { nice, ticks } from 'd3-array';

export type ChartDay = { day: string; values: Readonly<Record<string, number>> };
export type ChartBar = { day: string; series: string; x: number; y: number; width: number; height: number };
export type Chart = {
  bars: ChartBar[];
  ticks: { y: number; value: number }[];
  /** As many as have room. */
  labels: { x: number; day: string }[];
};

export type Room = { left: number; right: number; top: number; bottom: number };

const LABEL_PX = 64;

const TICKS = 4;
const PADDING = 0.2; // of a band, between two of them and at both ends

/** @param series keys of `values`, the lowest first */
export function chartOf(
  days: readonly ChartDay[],
  series: readonly string[],
  { left, right, top, bottom }: Room,
): Chart {
  const step = (right - left) / (days.length + PADDING);
  const xOf = (i: number) => left + (i + PADDING) * step;
  const width = step * (1 - PADDING);
  const most = Math.max(...days.map(({ values }) => series.reduce((sum, name) => sum + (values[name] ?? 0), 0)), 0);
  const [, highest] = nice(0, most === 0 ? 1 : most, TICKS);
  const yOf = (value: number) => bottom - (value / highest) * (bottom - top);
  const tops = days.map(() => 0); // of what stands in each band so far
  const bars = series.flatMap((name) =>
    days.map(({ day, values }, i): ChartBar => {
      const low = tops[i] ?? 0;
      const high = low + (values[name] ?? 0);
      tops[i] = high;
      return { day, series: name, x: xOf(i), y: yOf(high), width, height: yOf(low) - yOf(high) };
    }),
  );
  const every = Math.max(1, Math.ceil((days.length * LABEL_PX) / Math.max(1, right - left)));
  return {
    bars: bars.filter(({ height }) => height > 0),
    ticks: ticks(0, highest, TICKS).map((value) => ({ value, y: yOf(value) })),
    labels: days.flatMap(({ day }, i) => (i % every === 0 ? [{ day, x: xOf(i) + width / 2 }] : [])),
  };
}
