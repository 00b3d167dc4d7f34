/** Where do the turns lie? In words that can be shown: of a DSN its host and database, and nothing where these cannot be told for sure. */
import { join } from 'node:path';

/** @param folder the `.svc` in effect */
export function whereData(dsn: string, folder: string): string {
  if (dsn === '') return join(folder, 'data');
  const place = placeOf(dsn);
  return place === null ? 'PostgreSQL at storage.postgres_dsn' : `PostgreSQL at ${place}`;
}

/** A password with an unescaped `/`, `?`, `#` or `@` moves the borders of a URL, and part of it would stand as host or path. */
function placeOf(dsn: string): string | null {
  if (!URL.canParse(dsn)) return null; // as with several hosts
  const { host, pathname, username, password } = new URL(dsn);
  const signs = dsn.split('@').length - 1;
  return signs === 0 || (signs === 1 && (username !== '' || password !== '')) ? host + pathname : null;
}
