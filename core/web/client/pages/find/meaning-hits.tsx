/** Steps that mean what is looked for, ranked together with those that say it, by the search cassette; where it is not in, how to turn it on. */
import { useEffect } from 'preact/hooks';
import { findSpans, type SearchHits } from '../../api/find.ts';
import { ProblemError } from '../../api/problem-error.ts';
import { hrefOf } from '../../base.ts';
import { Count, When } from '../../parts/figure.tsx';
import { Problem } from '../../parts/problem.tsx';
import { Recorded } from '../../parts/recorded.tsx';
import { useReading } from '../use-reading.ts';
import { meaningQuery } from './find-filters.ts';

/** Refusals that say that search is not there, which is no failure of this page. */
const OFF = ['cassette-unknown', 'cassette-unavailable', 'search-unconfigured', 'route-unknown'];

type MeaningHitsProps = { query: string; onSettled: (isDone: boolean) => void };

/** @param query of /v1/find */
export function MeaningHits({ query, onSettled }: MeaningHitsProps) {
  const wanted = meaningQuery(query);
  const { answer, error, key, retry } = useReading<SearchHits>(wanted, (signal) => findSpans(wanted, signal));
  const isDone = key === wanted || error !== null;
  useEffect(() => onSettled(isDone), [isDone, query]);
  const isOff =
    error === null ? answer?.missing === 'vector' : error instanceof ProblemError && OFF.includes(error.code);
  const results = isOff ? [] : answer?.results;
  const coverage = answer?.coverage;
  const isMeaning = error === null && answer?.missing === 'text';
  return (
    <section aria-labelledby="find-meaning" data-hits="meaning" data-off={isOff ? '' : undefined}>
      <h2 id="find-meaning">
        {isMeaning ? 'Meaning' : 'Meaning and words'}
        {results && !isOff && ` (${results.length})`}
      </h2>
      {isMeaning && (
        <p class="muted">
          Ranked by meaning alone: the cassette “search” does not have the binding <code>core</code>, which it needs for
          words and for the filters of project and agent.
        </p>
      )}
      {isOff && (
        <p class="muted">
          Search by meaning is off: the cassette “search” {error === null ? 'has no model now' : 'is not in'}.{' '}
          <a href={hrefOf('/cassettes')}>Cassettes</a> says why, and what turns it on.
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
      {!isOff && results?.length === 0 && <p class="muted">Nothing is near it yet.</p>}
      <ul class="hits">
        {results?.map(({ trace_id, span_id, score, snippet, user_prompt, model, started_at, ranks = {} }) => (
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
              <span data-number="score" data-value={score} title="place in each ranking">
                {ranks.vector !== undefined && `meaning ${ranks.vector}`}
                {ranks.vector !== undefined && ranks.text !== undefined && ' · '}
                {ranks.text !== undefined && `words ${ranks.text}`}
              </span>{' '}
              <Recorded text={model} /> <When at={started_at} />
            </p>
          </li>
        ))}
      </ul>
    </section>
  );
}
