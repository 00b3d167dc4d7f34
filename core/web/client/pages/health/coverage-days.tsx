/** The coverage of each day, as a table. */
import { Count } from '../../parts/figure.tsx';
import { type CoverageDay, recordedShare } from './outcome-sentences.ts';

export function CoverageDays({ byDay }: { byDay: readonly CoverageDay[] }) {
  if (byDay.length === 0) return null;
  return (
    <section aria-labelledby="days">
      <h2 id="days">By day, UTC</h2>
      <table class="data-table">
        <thead>
          <tr>
            <th scope="col">Day</th>
            <th scope="col" class="number">
              Requests
            </th>
            <th scope="col" class="number">
              Recorded
            </th>
            <th scope="col" class="number">
              Not recorded
            </th>
            <th scope="col" class="number">
              No calls of a model
            </th>
          </tr>
        </thead>
        <tbody>
          {byDay.map(({ day, requests, outcomes }) => {
            const { recorded, turns } = recordedShare(outcomes);
            return (
              <tr key={day} data-day={day}>
                <th scope="row">{day}</th>
                <td class="number">
                  <Count name="requests" count={requests} />
                </td>
                <td class="number">
                  <Count name="recorded" count={recorded} />
                </td>
                <td class={turns > recorded ? 'number lost' : 'number'}>
                  <Count name="lost" count={turns - recorded} />
                </td>
                <td class="number">
                  <Count name="passed" count={requests - turns} />
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}
