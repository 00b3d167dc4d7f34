/** What a window's spend went to: one row for each model, project, agent or provider. */
import type { Stats } from '../../../../model/stats.ts';
import { hrefOf } from '../../base.ts';
import { DataTable } from '../../parts/data-table.tsx';
import { Cost, Tokens } from '../../parts/figure.tsx';
import { Recorded } from '../../parts/recorded.tsx';
import type { Filters } from './read-spend.ts';
import { sessionsOfWindow } from './sessions-of-day.ts';
import { byCost, type DayWindow, type SpendField, type SpendRow } from './spend-days.ts';

type KeysTableProps = {
  field: SpendField;
  rows: readonly SpendRow[];
  total: Stats;
  window: DayWindow;
  filters: Filters;
};

export function KeysTable({ field, rows, total, window, filters }: KeysTableProps) {
  const shown = byCost(rows);
  const rest = total.total_cost - shown.reduce((sum, { stats }) => sum + stats.total_cost, 0);
  return (
    <section aria-labelledby="spend-keys">
      <h2 id="spend-keys">Where it went</h2>
      <DataTable
        attributes={{ 'data-by': field }}
        columns={[field === 'agent_name' ? 'agent' : field, 'Cost', 'Share', 'Tokens']}
        rows={[
          ...shown.map(({ key, stats }) => ({
            key,
            attributes: { 'data-key': key },
            head: (
              <a href={hrefOf(sessionsOfWindow(window, { ...filters, [field]: key }))}>
                <Recorded text={key} />
              </a>
            ),
            cells: [
              <Cost
                name="total_cost"
                usd={isUnpriced(stats) ? null : stats.total_cost}
                atLeast={stats.unpriced_models.length > 0}
              />,
              shareText(stats.total_cost, total.total_cost),
              <Tokens name="tokens" count={stats.input_tokens + stats.output_tokens} />,
            ],
          })),
          ...(rest > total.total_cost * 1e-9 && rest > 1e-9
            ? [
                {
                  key: '',
                  attributes: { 'data-key': '' },
                  head: 'others, and calls without one',
                  cells: [<Cost name="total_cost" usd={rest} />, shareText(rest, total.total_cost), ''],
                },
              ]
            : []),
        ]}
      />
    </section>
  );
}

/** It used tokens, and none of them has a price. */
const isUnpriced = ({ total_cost, unpriced_models }: Stats) => total_cost === 0 && unpriced_models.length > 0;

function shareText(part: number, whole: number): string {
  if (whole === 0) return '';
  const percent = (part / whole) * 100;
  return percent > 0 && percent < 1 ? '< 1 %' : `${Math.round(percent)} %`;
}
