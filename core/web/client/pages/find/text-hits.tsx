/** The steps that hold the text, by session: what was said or done there, with the text marked. */
import { useEffect } from 'preact/hooks';
import type { FindHit } from '../../../../model/find.ts';
import { hrefOf } from '../../base.ts';
import { Count, When } from '../../parts/figure.tsx';
import { Problem } from '../../parts/problem.tsx';
import { Recorded, Visible } from '../../parts/recorded.tsx';
import { StatusMark } from '../../parts/status-mark.tsx';
import { bySession, foundPath, snippet } from './found-path.ts';
import { useFoundPages } from './use-found-pages.ts';

type TextHitsProps = {
  query: string; // of /v1/find
  text: string;
  isNarrowed: boolean; // by filters
  repeats: number; // how often the same was looked for again: then it is read again
  onSettled: (isDone: boolean) => void;
};

export function TextHits({ query, text, isNarrowed, repeats, onSettled }: TextHitsProps) {
  const { pages, error, isReading, more, again } = useFoundPages(query);
  const isDone = pages?.query === query || error !== null;
  useEffect(() => onSettled(isDone), [isDone, query]);
  useEffect(() => {
    if (repeats > 0) again();
  }, [repeats]);
  const last = pages?.last;
  return (
    <section aria-labelledby="find-words" data-hits="words" aria-busy={isReading}>
      <h2 id="find-words">Words{pages && ` (${pages.items.length}${last?.next_cursor ? ' or more' : ''})`}</h2>
      {error !== null && <Problem error={error} onRetry={again} />}
      {!isDone && <p class="muted">looking …</p>}
      {last && last.spans_indexed < last.spans && (
        <p class="muted" data-note="indexed">
          <Count name="spans_indexed" count={last.spans_indexed} /> of <Count name="spans" count={last.spans} /> steps
          are indexed so far; the others are not found yet.
        </p>
      )}
      {last?.substrings === false && (
        <p class="muted" data-note="whole-words">
          This database finds whole words here, not parts of them. Within a session, parts are found as well.
        </p>
      )}
      {pages?.items.length === 0 && (
        <p class="muted">
          No step has it{isNarrowed && ' that passes the filters'}. Titles and ids are looked up as well.
        </p>
      )}
      {bySession(pages?.items ?? []).map(([session_id, hits]) => (
        <SessionHits key={session_id} {...{ session_id, hits, text }} />
      ))}
      {last?.next_cursor && (
        <button type="button" onClick={more} aria-disabled={isReading}>
          {isReading ? 'reading …' : 'More'}
        </button>
      )}
    </section>
  );
}

type SessionHitsProps = { session_id: string; hits: readonly FindHit[]; text: string };

function SessionHits({ session_id, hits, text }: SessionHitsProps) {
  const title = hits[0]?.title ?? '';
  return (
    <div class="session-hits" data-session={session_id}>
      <h3>
        <a href={hrefOf(`/sessions/${session_id}`)}>
          {title === '' ? 'a session without a title' : <Recorded text={title.slice(0, 200)} />}
        </a>
      </h3>
      <ul class="hits">
        {hits.map((hit) => (
          <Hit key={`${hit.trace_id} ${hit.span_id} ${hit.place}`} {...{ hit, text }} />
        ))}
      </ul>
    </div>
  );
}

function Hit({ hit, text }: { hit: FindHit; text: string }) {
  const { span_id, place, kind, name, model, status, at, matches } = hit;
  return (
    <li data-span={span_id} data-place={place} data-kind={kind} data-status={status}>
      <a class="hit-text" data-found href={hrefOf(foundPath(hit, text))}>
        {matches.length === 0 && <Recorded text={name} />}
        <bdi class="snippet">
          {snippet(matches).map(({ text, found }) => (found ? <mark>{visible(text)}</mark> : visible(text)))}
        </bdi>
      </a>
      <p class="hit-more">
        <span class={`hit-place place-${place}`}>{placeWords(hit)}</span>
        {kind === 'tool' && <Recorded text={name} />}
        {model !== '' && <Recorded text={model} />}
        {status !== 'ok' && <StatusMark status={status} word={status === 'error' ? 'failed' : 'cut off'} />}
        <When at={at} />
      </p>
    </li>
  );
}

function placeWords({ place, matches }: FindHit): string {
  const side = matches[0]?.side;
  if (place === 'prompt') return 'system prompt';
  if (place === 'thinking') return 'thinking';
  if (side === 'error') return 'error';
  if (place === 'tools') return side === 'input' ? 'tool input' : 'tool result';
  return side === 'input' ? 'prompt' : 'answer';
}

const visible = (text: string) => <Visible text={text} />;
