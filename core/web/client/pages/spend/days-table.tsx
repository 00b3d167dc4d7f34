/** The figures of the chart, as a table that can be copied as CSV. */
import { hrefOf } from '../../base.ts';
import { CopyButton } from '../../parts/copy-button.tsx';
import { DataTable } from '../../parts/data-table.tsx';
import { Cost, Count, Tokens } from '../../parts/figure.tsx';
import type { DaySpend, Filters } from './read-spend.ts';
import { sessionsOfDay } from './sessions-of-day.ts';
import { csvOf } from './spend-days.ts';

export function DaysTable({ days, filters }: { days: readonly DaySpend[]; filters: Filters }) {
  const used = days.filter(({ stats }) => stats.turn_count > 0).reverse();
  const csv = () =>
    csvOf([
      ['day', 'cost_usd', 'input_tokens', 'output_tokens', 'tool_calls', 'sessions'],
      ...days.map(({ day, stats }) => [
        ...[day, stats.total_cost, stats.input_tokens, stats.output_tokens, stats.tool_calls, stats.session_count],
      ]),
    ]);
  return (
    <details class="days-table">
      <summary>The same as a table</summary>
      <CopyButton text={csv} label="Copy the table as CSV">
        CSV
      </CopyButton>
      <DataTable
        columns={['Day', 'Cost', 'In', 'Out', 'Tool calls']}
        rows={used.map(({ day, stats }) => ({
          key: day,
          attributes: { 'data-day': day },
          head: <a href={hrefOf(sessionsOfDay(day, filters))}>{day}</a>,
          cells: [
            <Cost name="total_cost" usd={stats.total_cost} atLeast={stats.unpriced_models.length > 0} />,
            <Tokens name="input_tokens" count={stats.input_tokens} />,
            <Tokens name="output_tokens" count={stats.output_tokens} />,
            <Count name="tool_calls" count={stats.tool_calls} />,
          ],
        }))}
      />
    </details>
  );
}
