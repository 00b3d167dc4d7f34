/** The controls above the list: words, attributes, state, window of time and order. Each writes its parameter of the address. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { FacetField, SessionSort } from '../../../../model/browse.ts';
import { FacetPicker } from './facet-picker.tsx';
import { activeFilters, directionOf, SORT_LABELS, STATUSES, sortOf } from './filters.ts';
import { Picker } from './picker.tsx';
import { WindowFilter } from './window-filter.tsx';
import './filter-bar.css';

type FilterBarProps = {
  query: URLSearchParams;
  setQuery: (patch: Record<string, string | null>, options?: { replace?: boolean }) => void;
};

const FACETS: readonly [FacetField, string][] = [
  ['project', 'Project'],
  ['agent_name', 'Agent'],
  ['model', 'Model'],
  ['provider', 'Provider'],
  ['harness_id', 'Harness'],
];

export function FilterBar({ query, setQuery }: FilterBarProps) {
  const sort = sortOf(query);
  const direction = directionOf(query);
  const clear = () => setQuery(Object.fromEntries(activeFilters(query).map(({ name }) => [name, null])));
  return (
    <div class="filter-bar">
      <TextFilter text={query.get('text') ?? ''} onChange={(text) => setQuery({ text }, { replace: true })} />
      {FACETS.map(([field, label]) => (
        <FacetPicker
          key={field}
          field={field}
          label={label}
          query={query}
          onPick={(value) => setQuery({ [field]: value })}
        />
      ))}
      <StatusFilter query={query} setQuery={setQuery} />
      <WindowFilter query={query} setQuery={setQuery} />
      <button
        type="button"
        class={query.get('starred') === 'true' ? 'picker-button picked' : 'picker-button'}
        aria-pressed={query.get('starred') === 'true'}
        onClick={() => setQuery({ starred: query.get('starred') === 'true' ? null : 'true' })}
      >
        Starred
      </button>
      {activeFilters(query).length > 0 && (
        <button type="button" class="plain" onClick={clear}>
          Clear filters
        </button>
      )}
      <span class="sort">
        <label>
          Sort{' '}
          <select
            name="sort"
            value={sort}
            onChange={({ currentTarget: { value } }) => setQuery({ sort: value === 'last_active' ? null : value })}
          >
            {(Object.keys(SORT_LABELS) as SessionSort[]).map((name) => (
              <option key={name} value={name}>
                {SORT_LABELS[name]}
              </option>
            ))}
          </select>
        </label>
        <button
          type="button"
          aria-label={
            direction === 'desc' ? 'Largest or newest first; turn around' : 'Smallest or oldest first; turn around'
          }
          title={direction === 'desc' ? 'largest or newest first' : 'smallest or oldest first'}
          data-direction={direction}
          onClick={() => setQuery({ direction: direction === 'desc' ? 'asc' : null })}
        >
          {direction === 'desc' ? '↓' : '↑'}
        </button>
      </span>
    </div>
  );
}

const PAUSE_MS = 250;

/** Writes the address once typing has paused. */
function TextFilter({ text, onChange }: { text: string; onChange: (text: string | null) => void }) {
  const [typed, setTyped] = useState(text);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => setTyped(text), [text]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const change = (next: string) => {
    setTyped(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onChange(next.trim() === '' ? null : next), PAUSE_MS);
  };
  return (
    <input
      type="search"
      name="text"
      maxLength={500}
      aria-label="Words in titles, prompts and answers"
      placeholder="words …"
      value={typed}
      onInput={({ currentTarget }) => change(currentTarget.value)}
    />
  );
}

function StatusFilter({ query, setQuery }: FilterBarProps) {
  const picked = (query.get('status') ?? '').split(',').filter((status) => status !== '');
  const toggle = (status: string) => {
    const next = picked.includes(status) ? picked.filter((each) => each !== status) : [...picked, status];
    setQuery({ status: next.length === 0 ? null : STATUSES.filter((each) => next.includes(each)).join(',') });
  };
  return (
    <Picker label="Status" value={picked.length === 0 ? null : picked.join(', ')}>
      {() => (
        <ul class="facets">
          {STATUSES.map((status) => (
            <li key={status}>
              <label>
                <input
                  type="checkbox"
                  name={status}
                  checked={picked.includes(status)}
                  onChange={() => toggle(status)}
                />{' '}
                {status}
              </label>
            </li>
          ))}
        </ul>
      )}
    </Picker>
  );
}
