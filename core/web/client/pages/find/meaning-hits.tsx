/** Steps that mean what is looked for, by the search cassette; where it is not in, how to turn it on. */
import { useEffect } from 'preact/hooks';
import { findSpans, type SpanHits } from '../../api/find.ts';
import { ProblemError } from '../../api/problem-error.ts';
import { hrefOf } from '../../base.ts';
import { Count, When } from '../../parts/figure.tsx';
import { Problem } from '../../parts/problem.tsx';
import { Recorded } from '../../parts/recorded.tsx';
import { useReading } from '../use-reading.ts';

/** Refusals that say that search is not there, which is no failure of this page. */
const OFF = ['cassette-unknown', 'cassette-unavailable', 'search-unconfigured', 'route-unknown'];

export function MeaningHits({ text, onSettled }: { text: string; onSettled: (isDone: boolean) => void }) {
  const { answer, error, key, retry } = useReading<SpanHits>(text, (signal) => findSpans(text, signal));
  const isDone = key === text || error !== null;
  useEffect(() => onSettled(isDone), [isDone, text]);
  const isOff = error instanceof ProblemError && OFF.includes(error.code);
  const coverage = answer?.coverage;
  return (
    <section aria-labelledby="find-meaning" data-hits="meaning" data-off={isOff ? '' : undefined}>
      <h2 id="find-meaning">Meaning{answer && ` (${answer.results.length})`}</h2>
      {isOff && (
        <p class="muted">
          Search by meaning is off: the cassette “search” is not in. <a href={hrefOf('/cassettes')}>Cassettes</a> says
          why, and what turns it on.
        </p>
      )}
      {error !== null && !isOff && <Problem error={error} onRetry={retry} />}
      {!isDone && <p class="muted">comparing …</p>}
      {coverage && coverage.pending > 0 && (
        <p class="muted">
          <Count name="embedded" count={coverage.embedded} /> of{' '}
          <Count name="embeddable" count={coverage.embedded + coverage.pending + coverage.failed} /> steps are read so
          far.
        </p>
      )}
      {answer?.results.length === 0 && <p class="muted">Nothing is near it yet.</p>}
      <ul class="hits">
        {answer?.results.map(({ trace_id, span_id, score, snippet, user_prompt, model, started_at }) => (
          <li key={span_id} data-span={span_id}>
            <a href={hrefOf(`/spans/${trace_id}/${span_id}`)} data-found>
              <Recorded text={snippet.slice(0, 300) || user_prompt.slice(0, 300)} />
            </a>
            {user_prompt !== '' && user_prompt !== snippet && (
              <p class="hit-more">
                <Recorded text={user_prompt.slice(0, 160)} />
              </p>
            )}
            <p class="hit-more">
              <span data-number="score" data-value={score}>
                {score.toFixed(2)}
              </span>{' '}
              <Recorded text={model} /> <When at={started_at} />
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}
