/** The window of time of a list, in UTC days. */
import { dayBefore, WINDOWS, windowLabel } from './filters.ts';

type WindowFilterProps = {
  query: URLSearchParams;
  setQuery: (patch: Record<string, string | null>) => void;
};

export function WindowFilter({ query, setQuery }: WindowFilterProps) {
  const now = Date.now();
  const label = windowLabel(query, now);
  const pick = (choice: string) => {
    const days = WINDOWS.find((each) => each.label === choice)?.days;
    setQuery({ since: days === undefined ? null : days === 0 ? 'today' : dayBefore(days, now), until: null });
  };
  return (
    <select
      name="window"
      class={label === 'any time' ? '' : 'picked'}
      aria-label="Window of time, in UTC days"
      value={label ?? 'own'}
      onChange={({ currentTarget }) => pick(currentTarget.value)}
    >
      <option value="any time">any time</option>
      {WINDOWS.map((each) => (
        <option key={each.label} value={each.label}>
          {each.label}
        </option>
      ))}
      {label === null && (
        <option value="own">
          {query.get('since') ?? '…'} to {query.get('until') ?? 'now'}
        </option>
      )}
    </select>
  );
}
