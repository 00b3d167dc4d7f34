/** The address of a PostgreSQL server, as far as it can be judged before a connection is made. */

const MUST_BEGIN = "must be empty or begin with 'postgres://', such as 'postgres://user:password@host:5432/database'";
const MUST_BE_READABLE =
  "must be an address that can be read: in its user and password '%', '/', '?', '#' and '@' are %25, %2F, %3F, %23 and %40";

/** Those of libpq: for any other word postgres.js checks the server's certificate, whatever the word is. */
const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'];

/** Why `text` is no such address, as the end of a sentence that begins with its name, without a part of it; null when it is one, or empty. */
export function dsnProblem(text: string): string | null {
  if (text === '') return null;
  if (!/^postgres(ql)?:\/\/./i.test(text)) return MUST_BEGIN;
  const query = queryOf(text);
  if (query === null) return MUST_BE_READABLE;
  return query.getAll('sslmode').every((mode) => SSL_MODES.includes(mode))
    ? null
    : `must have as its sslmode one of ${SSL_MODES.join(', ')}`;
}

/** Reads it as postgres.js does, which throws where this is null: of several hosts the URL has the first alone. */
function queryOf(text: string): URLSearchParams | null {
  try {
    const authority = text.slice(text.indexOf('://') + 3).split(/[?/]/)[0] ?? '';
    const hosts = decodeURIComponent(authority.slice(authority.indexOf('@') + 1));
    const { username, password, searchParams } = new URL(text.replace(hosts, hosts.split(',')[0] ?? ''));
    decodeURIComponent(username);
    decodeURIComponent(password);
    return searchParams;
  } catch {
    return null;
  }
}
