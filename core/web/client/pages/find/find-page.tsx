/** One box, several answers: where an id belongs, titles and steps with the words, and steps that mean the same. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Place } from '../../../../model/place.ts';
import { useAddress } from '../../address.ts';
import { whereIs } from '../../api/find.ts';
import { hrefOf } from '../../base.ts';
import { Page } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { useReading } from '../use-reading.ts';
import { FindFilterBar } from './find-filter-bar.tsx';
import { findQuery, sessionFilters, setFilters } from './find-filters.ts';
import { MeaningHits } from './meaning-hits.tsx';
import { mayBeId, PLACE_WORDS, placePath } from './place-path.ts';
import { TextHits } from './text-hits.tsx';
import { TitleHits } from './title-hits.tsx';
import { useFoundKeys } from './use-found-keys.ts';
import './find-page.css';

const PARTS = ['id', 'titles', 'words', 'meaning'] as const;
type Part = (typeof PARTS)[number];
/** What was looked for when each part got its answer; null: it waits for one. */
type Settled = Readonly<Record<Part, string | null>>;

export function FindPage() {
  const { query, setQuery, go } = useAddress();
  const text = (query.get('q') ?? '').trim();
  const wanted = findQuery(query);
  const [typed, setTyped] = useState(text);
  const [repeats, setRepeats] = useState(0);
  const [settled, setSettled] = useState<Settled>({ id: null, titles: null, words: null, meaning: null });
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => setTyped(text), [text]);
  useFoundKeys(input);
  const settle = (part: Part) => (isDone: boolean) =>
    setSettled((before) =>
      before[part] === (isDone ? wanted : null) ? before : { ...before, [part]: isDone ? wanted : null },
    );
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (typed.trim() === text) setRepeats(repeats + 1);
    else setQuery({ q: typed.trim() || null });
  };
  const toPlace = (path: string) => go(path, { replace: true }); // Back leads to where the id was typed, not here again
  const state = text === '' ? 'empty' : PARTS.every((part) => settled[part] === wanted) ? 'ready' : 'loading';
  return (
    <Page name="find" title={text === '' ? 'Find' : `Find: ${text}`} state={state}>
      <h1>Find</h1>
      <div class="find-tools">
        <form class="find-form" onSubmit={submit}>
          <input
            ref={input}
            type="search"
            name="find"
            aria-label="An id, a text, or what it was about"
            aria-keyshortcuts="/"
            placeholder="an id, words, a piece of code, or what it was about"
            maxLength={1_000}
            value={typed}
            onInput={({ currentTarget }) => setTyped(currentTarget.value)}
          />
          <button type="submit">Find</button>
        </form>
        <FindFilterBar query={query} setQuery={setQuery} />
      </div>
      {text === '' && (
        <p class="muted">
          Words, identifiers and paths, in any language, and parts of them. Ids of any kind lead to their place: of svc,
          of a harness, of a provider.
        </p>
      )}
      {text !== '' && (
        <>
          <IdHits text={text} onOnly={toPlace} onSettled={settle('id')} />
          <TitleHits text={text} filters={sessionFilters(query)} onSettled={settle('titles')} />
          <div class="find-columns">
            <TextHits
              {...{ text, repeats, query: wanted, isNarrowed: setFilters(query).length > 0 }}
              onSettled={settle('words')}
            />
            <MeaningHits query={wanted} onSettled={settle('meaning')} />
          </div>
        </>
      )}
    </Page>
  );
}

type IdHitsProps = { text: string; onOnly: (path: string) => void; onSettled: (isDone: boolean) => void };

function IdHits({ text, onOnly, onSettled }: IdHitsProps) {
  const isId = mayBeId(text);
  const { answer, error, key } = useReading<Place[]>(text, (signal) =>
    isId ? whereIs(text, signal) : Promise.resolve([]),
  );
  const isDone = key === text || error !== null;
  useEffect(() => onSettled(isDone), [isDone, text]);
  const only = key === text && answer?.length === 1 ? answer[0] : undefined;
  useEffect(() => {
    if (only) onOnly(placePath(only));
  }, [only]);
  if (error !== null) return <Problem error={error} />;
  if (!answer || answer.length === 0) return null;
  return (
    <ul class="find-ids" aria-label="Places of this id">
      {answer.map((place) => (
        <li key={placePath(place)} data-place={place.kind}>
          <a href={hrefOf(placePath(place))}>{PLACE_WORDS[place.kind]}</a>{' '}
          <span class="muted">in session {place.session_id}</span>
        </li>
      ))}
    </ul>
  );
}
