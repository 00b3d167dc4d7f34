/** The chart of the days of a window. The table beside it has the same figures, so readers of the page need not see it. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useAddress } from '../../address.ts';
import { costText, countText } from '../../parts/number-text.ts';
import { chartOf } from './chart-scale.ts';
import type { DaySpend, Filters } from './read-spend.ts';
import { sessionsOfDay } from './sessions-of-day.ts';

export type Measure = 'cost' | 'tokens';

const HEIGHT = 200;
const MARGIN = { left: 56, right: 8, top: 10, bottom: 24 };
const SERIES: Readonly<Record<Measure, readonly string[]>> = { cost: ['cost'], tokens: ['input', 'output'] };

export function DaysChart({
  days,
  measure,
  filters,
}: {
  days: readonly DaySpend[];
  measure: Measure;
  filters: Filters;
}) {
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
  const chart = chartOf(
    days.map(({ day, stats }) => ({
      day,
      values: { cost: stats.total_cost, input: stats.input_tokens, output: stats.output_tokens },
    })),
    SERIES[measure],
    { left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top, bottom: HEIGHT - MARGIN.bottom },
  );
  const text = (value: number) => (measure === 'cost' ? costText(value) : countText(value));
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
        {chart.bars.map(({ day, series, x, y, width: wide, height }) => (
          // biome-ignore lint/a11y/noStaticElementInteractions: the table has the same links for the keyboard
          <rect
            key={`${series} ${day}`}
            class={`chart-bar chart-${series}`}
            data-bar={day}
            data-series={series}
            x={x}
            y={y}
            width={wide}
            height={height}
            onClick={() => go(sessionsOfDay(day, filters))}
          >
            <title>{`${day}${measure === 'tokens' ? ` ${series}` : ''}`}</title>
          </rect>
        ))}
        {chart.labels.map(({ day, x }) => (
          <text class="chart-label" key={day} x={x} y={HEIGHT - 6} text-anchor="middle">
            {day.slice(5)}
          </text>
        ))}
      </svg>
      {measure === 'tokens' && (
        <p class="chart-legend" aria-hidden="true">
          <span class="chart-key chart-input" /> in <span class="chart-key chart-output" /> out
        </p>
      )}
    </div>
  );
}
