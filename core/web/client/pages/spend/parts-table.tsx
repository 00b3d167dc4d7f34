/** Where the cost of a window went, by kind of token. */
import type { SeriesCell } from '../../../../model/stats-series.ts';
import { DataTable } from '../../parts/data-table.tsx';
import { Cost } from '../../parts/figure.tsx';
import { COST_PART_NAMES, COST_PART_WORDS } from './cost-parts.ts';
import { shareText } from './spend-days.ts';

export const PartsTable = ({ total }: { total: SeriesCell }) => (
  <section aria-labelledby="spend-parts">
    <h2 id="spend-parts">Where it went</h2>
    {total.cost_usd === 0 ? (
      <p class="muted">nothing with a known price</p>
    ) : (
      <DataTable
        columns={['Kind of token', 'Cost', 'Share']}
        rows={COST_PART_NAMES.flatMap((part) => {
          const usd = total.cost[part] ?? 0;
          if (usd === 0) return [];
          return [
            {
              key: part,
              attributes: { 'data-part': part },
              head: COST_PART_WORDS[part],
              cells: [<Cost name="part" usd={usd} />, shareText(usd, total.cost_usd)],
            },
          ];
        })}
      />
    )}
  </section>
);
