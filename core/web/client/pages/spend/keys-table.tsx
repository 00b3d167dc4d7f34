/** What a window's spend went to: one row for each model, project, agent or provider, in the colours of the chart. */
import type { StatsSeries } from '../../../../model/stats-series.ts';
import { hrefOf } from '../../base.ts';
import { DataTable } from '../../parts/data-table.tsx';
import { Cost, Tokens } from '../../parts/figure.tsx';
import { Recorded } from '../../parts/recorded.tsx';
import type { Filters } from './read-spend.ts';
import { filtersOfKey, keyLabel } from './series-keys.ts';
import { sessionsOfWindow } from './sessions-of-day.ts';
import { type DayWindow, isUnpriced, shareText } from './spend-days.ts';

type KeysTableProps = { series: StatsSeries; window: DayWindow; filters: Filters };

export function KeysTable({ series, window, filters }: KeysTableProps) {
  const { by, totals, total } = series;
  const word = by === 'agent_name' ? 'agent' : by;
  return (
    <section aria-labelledby="spend-keys">
      <h2 id="spend-keys">By {word}</h2>
      <DataTable
        attributes={{ 'data-by': by }}
        columns={[word, 'Cost', 'Share', 'Tokens']}
        rows={totals.map((cell, place) => ({
          key: String(place),
          attributes: { 'data-key': series.keys[place] ?? '' },
          head: (
            <a href={hrefOf(sessionsOfWindow(window, { ...filters, ...filtersOfKey(series, place) }))}>
              <Recorded text={keyLabel(series, place)} />
            </a>
          ),
          cells: [
            <Cost name="total_cost" usd={isUnpriced(cell) ? null : cell.cost_usd} atLeast={cell.unpriced_tokens > 0} />,
            isUnpriced(cell) ? '' : shareText(cell.cost_usd, total.cost_usd),
            <Tokens name="tokens" count={cell.input_tokens + cell.output_tokens} />,
          ],
        }))}
      />
    </section>
  );
}
