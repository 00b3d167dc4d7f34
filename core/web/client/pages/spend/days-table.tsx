/** The figures of the chart, day by day and key by key, as a table that can be copied as CSV. */

import type { SeriesCell, StatsSeries } from '../../../../model/stats-series.ts';
import { hrefOf } from '../../base.ts';
import { CopyButton } from '../../parts/copy-button.tsx';
import { DataTable } from '../../parts/data-table.tsx';
import { Cost, Count, Tokens } from '../../parts/figure.tsx';
import { Recorded } from '../../parts/recorded.tsx';
import { COST_PART_NAMES } from './cost-parts.ts';
import type { Filters } from './read-spend.ts';
import { filtersOfKey, keyLabel } from './series-keys.ts';
import { sessionsOfDay } from './sessions-of-day.ts';
import { csvOf, isUnpriced } from './spend-days.ts';

export function DaysTable({ series, filters }: { series: StatsSeries; filters: Filters }) {
  const rows = series.points.flatMap(({ at, cells }) =>
    cells.flatMap((cell, place) => (cell ? [{ day: at.slice(0, 10), place, cell }] : [])),
  );
  const csv = () =>
    csvOf([
      [
        'day',
        series.by,
        'cost_usd',
        ...COST_PART_NAMES,
        'input_tokens',
        'cache_read_tokens',
        'cache_write_tokens',
      ].concat(['output_tokens', 'reasoning_tokens', 'unpriced_tokens', 'tool_calls']),
      ...rows.map(({ day, place, cell }) => [
        ...[day, keyLabel(series, place), ...costs(cell)],
        ...[cell.input_tokens, cell.cache_read_tokens, cell.cache_write_tokens, cell.output_tokens],
        ...[cell.reasoning_tokens, cell.unpriced_tokens, cell.tool_calls],
      ]),
    ]);
  return (
    <details class="days-table">
      <summary>The same as a table</summary>
      <CopyButton text={csv} label="Copy the table as CSV">
        CSV
      </CopyButton>
      <div class="days-table-rows">
        <DataTable
          columns={['Day', 'Cost', 'In', 'Read', 'Written', 'Out', 'Tool calls']}
          rows={rows.reverse().map(({ day, place, cell }) => ({
            key: `${day} ${place}`,
            attributes: { 'data-day': day, 'data-key': series.keys[place] ?? '' },
            head: (
              <a href={hrefOf(sessionsOfDay(day, { ...filters, ...filtersOfKey(series, place) }))}>
                {day} <Recorded text={keyLabel(series, place)} />
              </a>
            ),
            cells: [
              <Cost name="cost_usd" usd={isUnpriced(cell) ? null : cell.cost_usd} atLeast={cell.unpriced_tokens > 0} />,
              <Tokens name="input_tokens" count={cell.input_tokens} />,
              <Tokens name="cache_read_tokens" count={cell.cache_read_tokens} />,
              <Tokens name="cache_write_tokens" count={cell.cache_write_tokens} />,
              <Tokens name="output_tokens" count={cell.output_tokens} />,
              <Count name="tool_calls" count={cell.tool_calls} />,
            ],
          }))}
        />
      </div>
    </details>
  );
}

/** The cost and its parts; empty where no price is known, which is not $0. */
const costs = (cell: SeriesCell): (number | string)[] =>
  [cell.cost_usd, ...COST_PART_NAMES.map((name) => cell.cost[name] ?? 0)].map((usd) => (isUnpriced(cell) ? '' : usd));
