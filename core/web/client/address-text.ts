/** Addresses as text: what is in one, and one with other parameters. */

export type Address = {
  path: string;
  query: URLSearchParams;
};

/** null or '' takes the parameter out. */
export type QueryPatch = Readonly<Record<string, string | null>>;

/** @param base the prefix of a reverse proxy, '' for none */
export function addressOf(url: string, base: string): Address {
  const { pathname, searchParams } = new URL(url, 'http://localhost');
  const path = pathname.startsWith(`${base}/`) ? pathname.slice(base.length) : pathname;
  return { path: withoutEnd(path), query: searchParams };
}

/** Without slashes at its end; `/` stays. */
function withoutEnd(path: string): string {
  let end = path.length;
  while (end > 1 && path[end - 1] === '/') end--;
  return path.slice(0, end);
}

/** @returns '' or the query with its question mark; parameters keep their order */
export function patchedSearch(search: string, patch: QueryPatch): string {
  const query = new URLSearchParams(search);
  for (const [name, value] of Object.entries(patch)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString();
  return text === '' ? '' : `?${text}`;
}

/** The path of a session seen through a lens. */
export const lensPath = (session: string, lens: string): string =>
  `/sessions/${session}${lens === 'talk' ? '' : `/${lens}`}`;
