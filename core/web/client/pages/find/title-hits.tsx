/** Sessions with the words in their title, which are often what is meant. */
import { useEffect } from 'preact/hooks';
import type { Session } from '../../../../model/session.ts';
import { browseSessions } from '../../api/sessions.ts';
import { hrefOf } from '../../base.ts';
import { When } from '../../parts/figure.tsx';
import { Recorded } from '../../parts/recorded.tsx';
import { useReading } from '../use-reading.ts';
import { wordsIn } from './place-path.ts';

const READ = '50';
const MOST = 3;

type TitleHitsProps = { text: string; filters: URLSearchParams; onSettled: (isDone: boolean) => void };

export function TitleHits({ text, filters, onSettled }: TitleHitsProps) {
  const words = wordsIn(text);
  const query = new URLSearchParams([...filters, ['text', words], ['limit', READ]]).toString();
  const { answer, error, key } = useReading<Session[]>(query, async (signal) =>
    words === '' ? [] : (await browseSessions(new URLSearchParams(query), signal)).items,
  );
  const isDone = key === query || error !== null;
  useEffect(() => onSettled(isDone), [isDone, query]);
  const has = words.toLowerCase().split(' ');
  const found = (key === query ? (answer ?? []) : [])
    .filter(({ display_title }) => has.every((word) => display_title.toLowerCase().includes(word)))
    .slice(0, MOST);
  if (found.length === 0) return null; // that it cannot be read is said by what is below
  return (
    <section class="title-hits" aria-labelledby="find-titles" data-hits="titles">
      <h2 id="find-titles">Titles ({found.length})</h2>
      <ul class="hits">
        {found.map(({ id, display_title, last_seen_at }) => (
          <li key={id} data-session={id}>
            <a href={hrefOf(`/sessions/${id}`)} data-found>
              <Recorded text={display_title.slice(0, 200)} />
            </a>{' '}
            <span class="muted">
              <When at={last_seen_at} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
