/** A picker for one attribute of sessions: its values as they were recorded, with how many sessions have each. */
import { useEffect, useState } from 'preact/hooks';
import type { Facet, FacetField } from '../../../../model/browse.ts';
import { browseFacets } from '../../api/facets.ts';
import { isAbort } from '../../api/request.ts';
import { grouped } from '../../parts/number-text.ts';
import { Problem } from '../../parts/problem.tsx';
import { Recorded } from '../../parts/recorded.tsx';
import { activeFilters } from './filters.ts';
import { Picker } from './picker.tsx';

type FacetPickerProps = {
  field: FacetField;
  label: string;
  query: URLSearchParams;
  onPick: (value: string | null) => void;
};

export function FacetPicker({ field, label, query, onPick }: FacetPickerProps) {
  const picked = query.get(field) || null;
  return (
    <Picker label={label} value={picked === null ? null : <Recorded text={picked} />}>
      {(close) => (
        <FacetValues
          field={field}
          query={query}
          picked={picked}
          onPick={(value) => {
            close();
            onPick(value);
          }}
        />
      )}
    </Picker>
  );
}

type FacetValuesProps = Omit<FacetPickerProps, 'label'> & { picked: string | null };

function FacetValues({ field, query, picked, onPick }: FacetValuesProps) {
  const [facets, setFacets] = useState<Facet[] | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [text, setText] = useState('');
  const filters = new URLSearchParams(activeFilters(query).map(({ name, value }) => [name, value])).toString();
  useEffect(() => {
    const reading = new AbortController();
    browseFacets(field, new URLSearchParams(filters), reading.signal).then(setFacets, (thrown) => {
      if (!isAbort(thrown)) setError(thrown);
    });
    return () => reading.abort();
  }, [field, filters]);
  if (error !== null) return <Problem error={error} />;
  if (facets === null) return <p class="muted">reading …</p>;
  const shown = facets.filter(({ value }) => value.toLowerCase().includes(text.toLowerCase()));
  return (
    <>
      {facets.length > 8 && (
        <input
          type="search"
          aria-label="Narrow the values"
          placeholder="narrow …"
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      )}
      <ul class="facets">
        {picked !== null && (
          <li>
            <button type="button" class="plain" onClick={() => onPick(null)}>
              any
            </button>
          </li>
        )}
        {shown.map(({ value, sessions }) => (
          <li key={value}>
            <button
              type="button"
              class="plain"
              data-facet={value}
              aria-pressed={value === picked}
              onClick={() => onPick(value === picked ? null : value)}
            >
              <Recorded text={value} /> <span class="muted">{grouped(sessions)}</span>
            </button>
          </li>
        ))}
      </ul>
      {text.trim() !== '' && !facets.some(({ value }) => value === text.trim()) && (
        <button type="button" class="plain" data-facet={text.trim()} onClick={() => onPick(text.trim())}>
          <Recorded text={text.trim()} />
        </button>
      )}
      {facets.length === 0 && <p class="muted">no values</p>}
    </>
  );
}
