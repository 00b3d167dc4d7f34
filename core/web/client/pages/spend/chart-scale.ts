/** The geometry of the chart of days: a band for each day, stacked bars, ticks. */
import { scaleBand, scaleLinear } from 'd3-scale';
import { stack } from 'd3-shape';

export type ChartDay = { day: string; values: Readonly<Record<string, number>> };
export type Bar = { day: string; series: string; x: number; y: number; width: number; height: number };
export type Chart = {
  bars: Bar[];
  ticks: { y: number; value: number }[];
  /** As many as have room. */
  labels: { x: number; day: string }[];
};

export type Room = { left: number; right: number; top: number; bottom: number };

const LABEL_PX = 64;

/** @param series keys of `values`, the lowest first */
export function chartOf(
  days: readonly ChartDay[],
  series: readonly string[],
  { left, right, top, bottom }: Room,
): Chart {
  const x = scaleBand<string>()
    .domain(days.map(({ day }) => day))
    .range([left, right])
    .padding(0.2);
  const most = Math.max(...days.map(({ values }) => series.reduce((sum, name) => sum + (values[name] ?? 0), 0)), 0);
  const y = scaleLinear()
    .domain([0, most === 0 ? 1 : most])
    .nice(4)
    .range([bottom, top]);
  const layers = stack<ChartDay>()
    .keys([...series])
    .value(({ values }, name) => values[name] ?? 0)([...days]);
  const bars = layers.flatMap((layer) =>
    layer.map(([low, high], i) => ({
      day: days[i]?.day ?? '',
      series: layer.key,
      x: x(days[i]?.day ?? '') ?? left,
      y: y(high),
      width: x.bandwidth(),
      height: y(low) - y(high),
    })),
  );
  const every = Math.max(1, Math.ceil((days.length * LABEL_PX) / Math.max(1, right - left)));
  return {
    bars: bars.filter(({ height }) => height > 0),
    ticks: y.ticks(4).map((value) => ({ value, y: y(value) })),
    labels: days.flatMap(({ day }, i) => (i % every === 0 ? [{ day, x: (x(day) ?? left) + x.bandwidth() / 2 }] : [])),
  };
}
