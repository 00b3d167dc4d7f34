/** Sessions in whose titles, prompts or answers the words are. */
import { useEffect } from 'preact/hooks';
import type { Session } from '../../../../model/session.ts';
import { browseSessions } from '../../api/sessions.ts';
import { hrefOf } from '../../base.ts';
import { Cost, When } from '../../parts/figure.tsx';
import { Problem } from '../../parts/problem.tsx';
import { Recorded } from '../../parts/recorded.tsx';
import { StatusMark } from '../../parts/status-mark.tsx';
import { now } from '../../store/clock.ts';
import { statusOf } from '../sessions/row-text.ts';
import { useReading } from '../use-reading.ts';
import { wordsIn } from './place-path.ts';

const MOST = '20';

type Found = { items: Session[]; hasMore: boolean };

async function readWords(words: string, signal: AbortSignal): Promise<Found> {
  if (words === '') return { items: [], hasMore: false };
  const { items, next_cursor } = await browseSessions(new URLSearchParams({ text: words, limit: MOST }), signal);
  return { items, hasMore: next_cursor !== undefined };
}

export function WordHits({ text, onSettled }: { text: string; onSettled: (isDone: boolean) => void }) {
  const words = wordsIn(text);
  const { answer, error, key, retry } = useReading<Found>(words, (signal) => readWords(words, signal));
  const isDone = key === words || error !== null;
  useEffect(() => onSettled(isDone), [isDone, text]);
  return (
    <section aria-labelledby="find-words" data-hits="words">
      <h2 id="find-words">Words{answer && ` (${answer.items.length}${answer.hasMore ? ' or more' : ''})`}</h2>
      {error !== null && <Problem error={error} onRetry={retry} />}
      {words === '' && <p class="muted">There is no word in it: words are runs of letters and digits.</p>}
      {answer?.items.length === 0 && words !== '' && <p class="muted">No session has all of these words.</p>}
      <ul class="hits">
        {answer?.items.map((session) => (
          <li key={session.id} data-session={session.id}>
            <a href={hrefOf(`/sessions/${session.id}`)}>
              <Recorded text={session.display_title.slice(0, 300)} />
            </a>
            <p class="hit-more">
              <StatusMark status={statusOf(session, now.value)} /> <When at={session.last_seen_at} />{' '}
              <Cost usd={session.rollup.usage.cost_usd} />
            </p>
          </li>
        ))}
      </ul>
      {answer?.hasMore && <a href={hrefOf(`/sessions?${new URLSearchParams({ text: words })}`)}>all of them</a>}
    </section>
  );
}
