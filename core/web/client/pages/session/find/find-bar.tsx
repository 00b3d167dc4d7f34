/** The bar that finds a text in the session: what is looked for and where, how often it was found, and the way from one to the next. */
import type { Ref } from 'preact';
import type { SessionMatch } from '../../../../../model/find.ts';
import { Icon } from '../../../parts/icon.tsx';
import { grouped } from '../../../parts/number-text.ts';
import { Problem } from '../../../parts/problem.tsx';
import { visibleText } from '../../../worker/invisible.ts';
import { PLACE_CHOICES } from './place-choices.ts';
import type { FindState } from './session-find.ts';
import './find-bar.css';

type FindBarProps = {
  typed: string;
  places: string;
  state: FindState | null;
  failure: unknown;
  at: number; // which of the found texts is shown, 0 first; -1: none
  current: SessionMatch | undefined; // that one
  input: Ref<HTMLInputElement>;
  onType: (text: string) => void;
  onPlaces: (places: string) => void;
  onNext: (step: 1 | -1) => void;
  onRetry: () => void;
  onClose: () => void;
};

export function FindBar(props: FindBarProps) {
  const { typed, places, state, failure, at, current, input, onType, onPlaces, onNext, onRetry, onClose } = props;
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter') onNext(event.shiftKey ? -1 : 1);
    else if (event.key === 'Escape') onClose();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const hasFound = (state?.found.length ?? 0) > 0;
  const words = typed !== '' && failure === null ? countWords(state, at) : '';
  const isOwnChoice = !PLACE_CHOICES.some(([choice]) => choice === places);
  return (
    <search
      class="find-bar"
      data-hits={state?.found.length ?? 0}
      data-hit={at}
      data-sought={state?.sought.text}
      data-searched={state?.searched ?? 0}
      data-complete={state?.complete ? '' : undefined}
    >
      <input
        ref={input}
        type="search"
        name="find-in-session"
        aria-label="Find in this session"
        aria-keyshortcuts="/"
        placeholder="find in this session"
        autocomplete="off"
        maxLength={1_024}
        value={typed}
        onInput={({ currentTarget }) => onType(currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <select aria-label="Where" value={places} onChange={({ currentTarget }) => onPlaces(currentTarget.value)}>
        {PLACE_CHOICES.map(([choice, words]) => (
          <option key={choice} value={choice}>
            {words}
          </option>
        ))}
        {isOwnChoice && <option value={places}>{places}</option>}
      </select>
      <span class="find-steps">
        <button
          type="button"
          class="plain"
          aria-label="Hit before"
          title="Hit before (N)"
          aria-keyshortcuts="Shift+N"
          aria-disabled={!hasFound}
          onClick={() => onNext(-1)}
        >
          ↑
        </button>
        <button
          type="button"
          class="plain"
          aria-label="Next hit"
          title="Next hit (n)"
          aria-keyshortcuts="N"
          aria-disabled={!hasFound}
          onClick={() => onNext(1)}
        >
          ↓
        </button>
      </span>
      <span class="find-count">{words}</span>
      <span class="spoken" role="status">
        {state?.complete ? words : ''}
        {current && `: ${visibleText(`${current.before.slice(-40)}${current.match}${current.after.slice(0, 40)}`)}`}
      </span>
      <button type="button" class="plain find-close" aria-label="Close find" title="Close (Esc)" onClick={onClose}>
        <Icon name="close" />
      </button>
      {failure !== null && <Problem error={failure} onRetry={onRetry} />}
    </search>
  );
}

/** As `12 of 340, searched 8,100 of 10,000`. */
function countWords(state: FindState | null, at: number): string {
  if (state === null) return 'looking …';
  const count = state.found.length;
  const progress =
    state.complete || state.of === 0 ? '' : `, searched ${grouped(state.searched)} of ${grouped(state.of)}`;
  if (count === 0) return state.complete ? 'not found' : `nothing yet${progress}`;
  return `${at < 0 ? '' : `${grouped(at + 1)} of `}${grouped(count)}${at < 0 ? (count === 1 ? ' hit' : ' hits') : ''}${progress}`;
}
