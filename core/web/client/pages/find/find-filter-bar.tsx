/** What narrows a search: where in a conversation, and in which. Each writes its parameter of the address. */
import type { FacetField } from '../../../../model/browse.ts';
import { PLACE_CHOICES } from '../session/find/place-choices.ts';
import { FacetPicker } from '../sessions/facet-picker.tsx';
import { WindowFilter } from '../sessions/window-filter.tsx';
import { STATUS_WORDS, sessionFilters, setFilters } from './find-filters.ts';
import { ToolFilter } from './tool-filter.tsx';
import '../sessions/filter-bar.css';

type FindFilterBarProps = {
  query: URLSearchParams;
  setQuery: (patch: Record<string, string | null>) => void;
};

const FACETS: readonly [FacetField, string][] = [
  ['project', 'Project'],
  ['agent_name', 'Agent'],
  ['model', 'Model'],
];

export function FindFilterBar({ query, setQuery }: FindFilterBarProps) {
  const places = query.get('in') ?? '';
  const filters = setFilters(query);
  const facets = sessionFilters(query);
  return (
    <div class="filter-bar">
      <select
        name="in"
        class={places === '' ? '' : 'picked'}
        aria-label="Where"
        value={places}
        onChange={({ currentTarget }) => setQuery({ in: currentTarget.value })}
      >
        {PLACE_CHOICES.map(([choice, words]) => (
          <option key={choice} value={choice}>
            {words}
          </option>
        ))}
        {!PLACE_CHOICES.some(([choice]) => choice === places) && <option value={places}>{places}</option>}
      </select>
      {FACETS.map(([field, label]) => (
        <FacetPicker
          key={field}
          {...{ field, label }}
          query={facets}
          onPick={(value) => setQuery({ [field]: value })}
        />
      ))}
      <ToolFilter tool={query.get('tool') ?? ''} onChange={(tool) => setQuery({ tool })} />
      <select
        name="status"
        class={query.get('status') ? 'picked' : ''}
        aria-label="Outcome of the step"
        value={query.get('status') ?? ''}
        onChange={({ currentTarget }) => setQuery({ status: currentTarget.value })}
      >
        {STATUS_WORDS.map(([status, words]) => (
          <option key={status} value={status}>
            {words}
          </option>
        ))}
      </select>
      <WindowFilter query={query} setQuery={setQuery} />
      {filters.length > 0 && (
        <button
          type="button"
          class="plain"
          onClick={() => setQuery(Object.fromEntries(filters.map((name) => [name, null])))}
        >
          Clear filters
        </button>
      )}
    </div>
  );
}
