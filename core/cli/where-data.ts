/** Where the turns are stored, as it may be shown: of a DSN only its host and database, and nothing where these cannot be told for sure. */
import { join } from 'node:path';

/** @param folder the `.svc` in effect */
export function whereData(dsn: string, folder: string): string {
  if (dsn === '') return join(folder, 'data');
  const location = locationOf(dsn);
  return location === null ? UNSHOWN : `PostgreSQL at ${location}`;
}

/** Of a DSN of which nothing is shown: two of these need not be the same place. */
export const UNSHOWN = 'PostgreSQL at storage.postgres_dsn';

/** A password with an unescaped `/`, `?`, `#` or `@` shifts the parts of a URL, so that part of it would be shown as host or path. */
function locationOf(dsn: string): string | null {
  if (!URL.canParse(dsn)) return null; // as with several hosts
  const { host, pathname, username, password } = new URL(dsn);
  const signs = dsn.split('@').length - 1;
  return signs === 0 || (signs === 1 && (username !== '' || password !== '')) ? host + pathname : null;
}
