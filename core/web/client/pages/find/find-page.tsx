/** One box, three answers: where an id belongs, sessions with the words, and steps that mean the same. */
import { useEffect, useState } from 'preact/hooks';
import type { Place } from '../../../../model/place.ts';
import { useAddress } from '../../address.ts';
import { whereIs } from '../../api/find.ts';
import { hrefOf } from '../../base.ts';
import { Page } from '../../parts/page.tsx';
import { Problem } from '../../parts/problem.tsx';
import { useReading } from '../use-reading.ts';
import { MeaningHits } from './meaning-hits.tsx';
import { mayBeId, PLACE_WORDS, placePath } from './place-path.ts';
import { WordHits } from './word-hits.tsx';
import './find-page.css';

const PARTS = ['id', 'words', 'meaning'] as const;
type Part = (typeof PARTS)[number];
/** The text whose answer each part shows; null: it waits for one. */
type Settled = Readonly<Record<Part, string | null>>;

export function FindPage() {
  const { query, setQuery, go } = useAddress();
  const text = (query.get('q') ?? '').trim();
  const [typed, setTyped] = useState(text);
  const [settled, setSettled] = useState<Settled>({ id: null, words: null, meaning: null });
  useEffect(() => setTyped(text), [text]);
  const settle = (part: Part) => (isDone: boolean) =>
    setSettled((before) =>
      before[part] === (isDone ? text : null) ? before : { ...before, [part]: isDone ? text : null },
    );
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    setQuery({ q: typed.trim() || null });
  };
  const toPlace = (path: string) => go(path, { replace: true }); // Back leads to where the id was typed, not here again
  const state = text === '' ? 'empty' : PARTS.every((part) => settled[part] === text) ? 'ready' : 'loading';
  return (
    <Page name="find" title={text === '' ? 'Find' : `Find: ${text}`} state={state}>
      <h1>Find</h1>
      <div>
        <form class="find-form" onSubmit={submit}>
          <input
            type="search"
            name="find"
            aria-label="An id, words, or what it was about"
            placeholder="an id, words, or what it was about"
            maxLength={500}
            value={typed}
            onInput={({ currentTarget }) => setTyped(currentTarget.value)}
          />
          <button type="submit">Find</button>
        </form>
      </div>
      {text === '' && <p class="muted">Ids of any kind lead to their place: of svc, of a harness, of a provider.</p>}
      {text !== '' && (
        <>
          <IdHits text={text} onOnly={toPlace} onSettled={settle('id')} />
          <div class="find-columns">
            <WordHits text={text} onSettled={settle('words')} />
            <MeaningHits text={text} onSettled={settle('meaning')} />
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
