/** The installed cassettes: what each is, whether it is in and since when, what it may do, and why one is not. */
import type { CassetteList } from '../../../../model/cassette.ts';
import { listCassettes } from '../../api/service.ts';
import { Page } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { pageState, useReading } from '../use-reading.ts';
import { CassetteCard } from './cassette-card.tsx';
import './cassettes-page.css';

export function CassettesPage() {
  const reading = useReading<CassetteList>('cassettes', listCassettes);
  const { answer, error, retry } = reading;
  return (
    <Page name="cassettes" title="Cassettes" state={pageState(reading, ({ cassettes }) => cassettes.length === 0)}>
      <h1>Cassettes</h1>
      {error !== null && <Problem error={error} onRetry={retry} />}
      {answer?.cassettes.length === 0 && (
        <p>
          None is installed. <code>svc cassette new my-cassette</code> begins one, and the list of cassettes in{' '}
          <code>.svc/cassette.manifest.json</code> names those that run.
        </p>
      )}
      {answer?.cassettes.map((cassette) => (
        <CassetteCard
          key={cassette.name}
          cassette={cassette}
          problem={answer.problems.find(({ subject }) => subject === cassette.name) ?? null}
        />
      ))}
    </Page>
  );
}
