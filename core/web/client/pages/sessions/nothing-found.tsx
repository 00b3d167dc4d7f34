/** What stands where no session matches: how many each filter excludes, and a button that drops it. */
import { useEffect, useState } from 'preact/hooks';
import { browseSessions } from '../../api/sessions.ts';
import { Recorded } from '../../parts/recorded.tsx';
import { type ActiveFilter, activeFilters, listQuery } from './filters.ts';

const COUNTED = 50;

type Excluded = { filter: ActiveFilter; found: number | null };

export function NothingFound({ query, onDrop }: { query: URLSearchParams; onDrop: (name: string) => void }) {
  const key = listQuery(query).toString();
  const [excluded, setExcluded] = useState<Excluded[]>([]);
  useEffect(() => {
    const reading = new AbortController();
    const list = new URLSearchParams(key);
    const filters = activeFilters(list);
    setExcluded(filters.map((filter) => ({ filter, found: null })));
    for (const filter of filters) {
      const others = new URLSearchParams(list);
      others.delete(filter.name);
      others.set('limit', String(COUNTED));
      browseSessions(others, reading.signal).then(
        ({ items }) =>
          setExcluded((rows) =>
            rows.map((row) => (row.filter.name === filter.name ? { ...row, found: items.length } : row)),
          ),
        () => {}, // a count that cannot be had is left out; the button works without it
      );
    }
    return () => reading.abort();
  }, [key]);
  const rows = [...excluded].sort((one, other) => (other.found ?? 0) - (one.found ?? 0));
  return (
    <section class="nothing-found">
      <h2>No session matches</h2>
      <ul>
        {rows.map(({ filter: { name, label, value }, found }) => (
          <li key={name} data-filter={name}>
            <button type="button" onClick={() => onDrop(name)}>
              Drop {label}: <Recorded text={value} />
            </button>{' '}
            <span class="muted">{foundText(found)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

const foundText = (found: number | null): string =>
  found === null ? '' : found >= COUNTED ? `${COUNTED} or more without it` : `${found} without it`;
