/** Whether anything is missing: what was recorded of what came, how far behind the service is, and how large the record grows. */
import { useEffect, useState } from 'preact/hooks';
import type { Status } from '../../../../model/status.ts';
import { isAbort } from '../../api/request.ts';
import { type Coverage, readCoverage, readStatus } from '../../api/service.ts';
import { Count } from '../../parts/figure.tsx';
import { Page } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { CoverageDays } from './coverage-days.tsx';
import { OUTCOME_ORDER, OUTCOME_SENTENCES, recordedShare } from './outcome-sentences.ts';
import { Parked } from './parked.tsx';
import { ServiceFacts } from './service-facts.tsx';
import '../../parts/data-table.css';
import './health-page.css';

type Health = { status: Status; coverage: Coverage };

const EVERY_MS = 10_000;

export function HealthPage() {
  const { health, error, retry } = useHealth();
  const state = health ? 'ready' : error === null ? 'loading' : 'error';
  return (
    <Page name="health" title="Health" state={state}>
      <h1>Health</h1>
      {error !== null && <Problem error={error} onRetry={retry} />}
      {health && (
        <>
          <Recorded coverage={health.coverage} />
          <ServiceFacts status={health.status} />
          <Parked status={health.status} />
          <CoverageDays byDay={health.coverage.by_day} />
        </>
      )}
    </Page>
  );
}

/** Read again while somebody looks. */
function useHealth() {
  const [health, setHealth] = useState<Health | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    const reading = new AbortController();
    const read = async () => {
      try {
        const [status, coverage] = await Promise.all([readStatus(reading.signal), readCoverage(reading.signal)]);
        setHealth({ status, coverage });
        setError(null);
      } catch (thrown) {
        if (!isAbort(thrown)) setError(thrown);
      }
    };
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') void read();
    }, EVERY_MS);
    void read();
    return () => {
      clearInterval(timer);
      reading.abort();
    };
  }, [attempt]);
  return { health, error, retry: () => setAttempt(attempt + 1) };
}

function Recorded({ coverage: { requests, outcomes } }: { coverage: Coverage }) {
  const { recorded, turns } = recordedShare(outcomes);
  const most = Math.max(...OUTCOME_ORDER.map((name) => outcomes[name]), 1);
  return (
    <section aria-labelledby="recorded">
      <h2 id="recorded">
        {requests === 0 ? (
          'No request came yet'
        ) : (
          <>
            <Count name="recorded" count={recorded} /> of <Count name="turns" count={turns} /> calls of a model are
            recorded
          </>
        )}
      </h2>
      {requests > 0 && (
        <table class="data-table outcomes">
          <thead>
            <tr>
              <th scope="col">Outcome</th>
              <th scope="col" class="number">
                Requests
              </th>
              <th scope="col">What it means</th>
            </tr>
          </thead>
          <tbody>
            {OUTCOME_ORDER.filter((name) => outcomes[name] > 0).map((name) => {
              const { title, category, meaning, advice } = OUTCOME_SENTENCES[name];
              return (
                <tr key={name} data-outcome={name} class={`outcome-${category}`}>
                  <th scope="row">
                    {title}
                    <span
                      class="outcome-bar"
                      aria-hidden="true"
                      style={{ width: `${Math.max(1, (outcomes[name] / most) * 100)}%` }}
                    />
                  </th>
                  <td class="number">
                    <Count name={name} count={outcomes[name]} />
                  </td>
                  <td>
                    {meaning} {advice !== null && <strong>{advice}</strong>}
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      )}
    </section>
  );
}
