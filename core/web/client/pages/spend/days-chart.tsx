/** The chart of the days of a window, each stacked by key. The table beside it has the same figures, so readers of the page need not see it. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { SeriesCell, StatsSeries } from '../../../../model/stats-series.ts';
import { useAddress } from '../../address.ts';
import { costText, countText } from '../../parts/number-text.ts';
import { Recorded } from '../../parts/recorded.tsx';
import { chartOf } from './chart-scale.ts';
import type { Filters } from './read-spend.ts';
import { filtersOfKey, keyLabel } from './series-keys.ts';
import { sessionsOfDay } from './sessions-of-day.ts';
import { cellsByDay } from './spend-days.ts';

export type Measure = 'cost' | 'tokens';

const HEIGHT = 200;
const MARGIN = { left: 56, right: 8, top: 10, bottom: 24 };

const measured = (measure: Measure, cell: SeriesCell | null): number => {
  if (cell === null) return 0;
  return measure === 'cost' ? cell.cost_usd : cell.input_tokens + cell.output_tokens;
};

type DaysChartProps = { series: StatsSeries; days: readonly string[]; measure: Measure; filters: Filters };

export function DaysChart({ series, days, measure, filters }: DaysChartProps) {
  const { go } = useAddress();
  const [width, setWidth] = useState(720);
  const root = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (!root.current) return;
    const observer = new ResizeObserver(([entry]) => {
      if (entry) setWidth(Math.max(240, Math.floor(entry.contentRect.width)));
    });
    observer.observe(root.current);
    return () => observer.disconnect();
  }, []);
  const cells = cellsByDay(series);
  const layers = series.keys.map((_, place) => String(place));
  const chart = chartOf(
    days.map((day) => ({
      day,
      values: Object.fromEntries(
        layers.map((layer, place) => [layer, measured(measure, cells.get(day)?.[place] ?? null)]),
      ),
    })),
    layers,
    { left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top, bottom: HEIGHT - MARGIN.bottom },
  );
  const text = (value: number) => (measure === 'cost' ? costText(value) : countText(value));
  const used = series.totals.map((total) => measured(measure, total) > 0);
  return (
    <div class="days-chart" ref={root}>
      <svg width={width} height={HEIGHT} viewBox={`0 0 ${width} ${HEIGHT}`} aria-hidden="true">
        {chart.ticks.map(({ value, y }) => (
          <g key={value}>
            <line class="chart-line" x1={MARGIN.left} x2={width - MARGIN.right} y1={y} y2={y} />
            <text class="chart-label" x={MARGIN.left - 6} y={y + 4} text-anchor="end">
              {text(value)}
            </text>
          </g>
        ))}
        {chart.bars.map(({ day, series: layer, x, y, width: wide, height }) => {
          const place = Number(layer);
          return (
            // biome-ignore lint/a11y/noStaticElementInteractions: the table has the same links for the keyboard
            <rect
              key={`${layer} ${day}`}
              class={`chart-bar chart-key-${place}`}
              data-bar={day}
              data-key={series.keys[place]}
              x={x}
              y={y}
              width={wide}
              height={height}
              onClick={() => go(sessionsOfDay(day, { ...filters, ...filtersOfKey(series, place) }))}
            >
              <title>{`${day} ${keyLabel(series, place)}`}</title>
            </rect>
          );
        })}
        {chart.labels.map(({ day, x }) => (
          <text class="chart-label" key={day} x={x} y={HEIGHT - 6} text-anchor="middle">
            {day.slice(5)}
          </text>
        ))}
      </svg>
      <p class="chart-legend" aria-hidden="true">
        {series.keys.map(
          (_, place) =>
            used[place] && (
              <span key={place}>
                <span class={`chart-swatch chart-key-${place}`} /> <Recorded text={keyLabel(series, place)} />
              </span>
            ),
        )}
      </p>
    </div>
  );
}
