/** What narrows a search for a text: the parameters of the page's address are those of /v1/find, by name, and `q` is the text. */

export const FILTERS = ['in', 'project', 'agent_name', 'model', 'tool', 'status', 'since', 'until'] as const;
export type FindFilterName = (typeof FILTERS)[number];

export const STATUS_WORDS: readonly (readonly [status: string, words: string])[] = [
  ['', 'any outcome'],
  ['ok', 'ok'],
  ['error', 'failed'],
  ['partial', 'cut off'],
];

/** Those that the address sets, without the places. */
export const setFilters = (query: URLSearchParams): FindFilterName[] =>
  FILTERS.filter((name) => name !== 'in' && (query.get(name) ?? '') !== '');

/** The query of /v1/find for an address; '' where nothing is looked for. */
export function findQuery(query: URLSearchParams): string {
  const text = (query.get('q') ?? '').trim();
  if (text === '') return '';
  const wanted = new URLSearchParams({ text });
  for (const name of FILTERS) {
    const value = query.get(name);
    if (value) wanted.set(name, value);
  }
  return wanted.toString();
}

/** The query of the search cassette for one of /v1/find: it has the same filters, but the places. */
export function meaningQuery(find: string): string {
  const { text = '', in: _, ...filters } = Object.fromEntries(new URLSearchParams(find));
  return new URLSearchParams({ query: text, ...filters }).toString();
}

/** The filters that sessions have as well: those that are chosen from their facets. */
export const sessionFilters = (query: URLSearchParams): URLSearchParams =>
  new URLSearchParams(
    (['project', 'agent_name', 'model', 'since', 'until'] as const).flatMap((name) => {
      const value = query.get(name);
      return value ? [[name, value]] : [];
    }),
  );
