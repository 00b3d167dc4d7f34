/** What was spent: the sum of a window, its days, what it went to, and the dearest sessions. */
import { useState } from 'preact/hooks';
import type { StatsSeries } from '../../../../model/stats-series.ts';
import { useAddress } from '../../address.ts';
import { Page } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { FacetPicker } from '../sessions/facet-picker.tsx';
import { pageState, useReading } from '../use-reading.ts';
import { DaysChart, type Measure } from './days-chart.tsx';
import { DaysTable } from './days-table.tsx';
import { DearestSessions } from './dearest-sessions.tsx';
import { KeysTable } from './keys-table.tsx';
import { avoidableOf, LeaksTable } from './leaks-table.tsx';
import { PartsTable } from './parts-table.tsx';
import { type Leaks, readLeaks, readSeries, readTotals, type SpendTotals } from './read-spend.ts';
import { daysOf, FIELDS, fieldIn, filtersIn, lastDays, type SpendField, windowIn } from './spend-days.ts';
import { SpendSums } from './spend-sums.tsx';
import '../../parts/data-table.css';
import './spend-page.css';

const WINDOWS = [7, 30, 90] as const;
export const FIELD_WORDS: Readonly<Record<SpendField, string>> = {
  model: 'model',
  project: 'project',
  agent_name: 'agent',
  provider: 'provider',
};

export function SpendPage() {
  const { query, setQuery } = useAddress();
  const [measure, setMeasure] = useState<Measure>('cost');
  const window = windowIn(query, Date.now());
  const filters = filtersIn(query);
  const field = fieldIn(query);
  const key = new URLSearchParams({ ...filters, ...window }).toString();
  const totals = useReading<SpendTotals>(key, (signal) => readTotals(window, filters, signal));
  const series = useReading<StatsSeries>(`${field} ${key}`, (signal) => readSeries(field, window, filters, signal));
  const leaks = useReading<Leaks | null>(key, (signal) => readLeaks(window, filters, signal));
  const leaked = leaks.key === key ? leaks.answer : null; // of another window they are not a part of these sums
  const count = WINDOWS.find((each) => lastDays(each, Date.now()).since === window.since);
  // All at once: what comes later would move what came first.
  const hasCome = [totals, series, leaks].every((one) => one.key !== null || one.error !== null);
  const hasAll = hasCome && totals.key === key && leaks.key === key && series.key === `${field} ${key}`;
  const error = [totals, series, leaks].map((reading) => reading.error).find((each) => each !== null) ?? null;
  const state = pageState(totals, ({ now }) => now.turn_count === 0);
  return (
    <Page name="spend" title="Spend" state={error === null && !hasAll ? 'loading' : state}>
      <h1>Spend</h1>
      <div class="spend-tools">
        <select
          name="window"
          aria-label="Window of time, in UTC days"
          value={count ?? 'own'}
          onChange={({ currentTarget }) =>
            setQuery({ since: lastDays(Number(currentTarget.value), Date.now()).since, until: null })
          }
        >
          {WINDOWS.map((each) => (
            <option key={each} value={each}>
              last {each} days (UTC)
            </option>
          ))}
          {count === undefined && (
            <option value="own">
              {window.since} to before {window.until}
            </option>
          )}
        </select>
        <label>
          by{' '}
          <select name="by" value={field} onChange={({ currentTarget }) => setQuery({ by: currentTarget.value })}>
            {FIELDS.map((each) => (
              <option key={each} value={each}>
                {FIELD_WORDS[each]}
              </option>
            ))}
          </select>
        </label>
        {FIELDS.map((each) => (
          <FacetPicker
            key={each}
            field={each}
            label={FIELD_WORDS[each].replace(/^./, (letter) => letter.toUpperCase())}
            query={new URLSearchParams({ ...filters, ...window })}
            onPick={(value) => setQuery({ [each]: value })}
          />
        ))}
      </div>
      {error !== null && (
        <Problem error={error} onRetry={() => [totals, series, leaks].forEach(({ retry }) => void retry())} />
      )}
      {hasCome && totals.answer && (
        <SpendSums
          {...totals.answer}
          unpriced={series.answer?.unpriced_models ?? []}
          avoidable={leaked && avoidableOf(leaked)}
        />
      )}
      {!hasAll && error === null && (
        <p class="muted" role="status">
          reading …
        </p>
      )}
      {hasCome && series.answer && (
        <section aria-labelledby="spend-days">
          <div class="spend-days-head">
            <h2 id="spend-days">By day</h2>
            <label>
              show{' '}
              <select
                name="measure"
                value={measure}
                onChange={({ currentTarget }) => setMeasure(currentTarget.value === 'tokens' ? 'tokens' : 'cost')}
              >
                <option value="cost">cost</option>
                <option value="tokens">tokens</option>
              </select>
            </label>
          </div>
          <DaysChart series={series.answer} days={daysOf(window)} measure={measure} filters={filters} />
          <DaysTable series={series.answer} filters={filters} />
        </section>
      )}
      {hasCome && (
        <div class="spend-columns">
          {series.answer && <KeysTable series={series.answer} window={window} filters={filters} />}
          {series.answer && <PartsTable total={series.answer.total} />}
          {leaked && series.answer && <LeaksTable leaks={leaked} total={series.answer.total.cost_usd} />}
          {totals.answer && <DearestSessions sessions={totals.answer.dearest} />}
        </div>
      )}
    </Page>
  );
}
