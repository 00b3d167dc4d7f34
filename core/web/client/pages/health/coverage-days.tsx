/** The coverage of each day, as a table. */
import { DataTable } from '../../parts/data-table.tsx';
import { Count } from '../../parts/figure.tsx';
import { type CoverageDay, recordedShare } from './outcome-sentences.ts';

export function CoverageDays({ byDay }: { byDay: readonly CoverageDay[] }) {
  if (byDay.length === 0) return null;
  return (
    <section aria-labelledby="days">
      <h2 id="days">By day, UTC</h2>
      <DataTable
        columns={['Day', 'Requests', 'Recorded', 'Not recorded', 'No calls of a model']}
        rows={byDay.map(({ day, requests, outcomes }) => {
          const { recorded, turns } = recordedShare(outcomes);
          const lost = <Count name="lost" count={turns - recorded} />;
          return {
            key: day,
            attributes: { 'data-day': day },
            head: day,
            cells: [
              <Count name="requests" count={requests} />,
              <Count name="recorded" count={recorded} />,
              turns > recorded ? <span class="lost">{lost}</span> : lost,
              <Count name="passed" count={requests - turns} />,
            ],
          };
        })}
      />
    </section>
  );
}
