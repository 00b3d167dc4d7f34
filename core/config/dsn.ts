/** The address of a PostgreSQL server, as far as it can be judged before a connection is made. */

const MUST_BEGIN = "must be empty or begin with 'postgres://', such as 'postgres://user:password@host:5432/database'";
const MUST_BE_READABLE =
  "must be an address that can be read: in its user and password '%', '/', '?', '#' and '@' are %25, %2F, %3F, %23 and %40";

/** Those of libpq: for any other word postgres.js checks the server's certificate, whatever the word is. */
const SSL_MODES = ['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'];

/** What a server has to be: `standby` takes no writes. */
export type HostRole = 'primary' | 'standby' | 'any';

/**
 * Those of libpq for `target_session_attrs`, as roles that are looked for one after the other, each at all hosts. postgres.js knows most
 * of the words, but tells a standby from a server by a setting that both have.
 */
const TARGETS: Record<string, readonly HostRole[]> = {
  any: ['any'],
  'read-write': ['primary'],
  primary: ['primary'],
  'read-only': ['standby'],
  standby: ['standby'],
  'prefer-standby': ['standby', 'any'],
};

/** Of libpq; the driver would send them to the server, which refuses the connection. */
const FILES_OF_TLS = ['sslrootcert', 'sslcert', 'sslkey'];

const PARAMETERS = ['target_session_attrs'];

/** An address for the driver, and what svc sees to instead of it. `roles`: as in `TARGETS`; null: the address names none. */
export type DsnParts = { forDriver: string; roles: readonly HostRole[] | null };

/** @param text one without a `dsnProblem`; of any other text, whatever of it can be read */
export function dsnParts(text: string): DsnParts {
  const at = text.indexOf('?');
  const parameters = new URLSearchParams(at < 0 ? '' : text.slice(at + 1));
  const roles = TARGETS[parameters.get('target_session_attrs') ?? ''] ?? null;
  if (!PARAMETERS.some((name) => parameters.has(name))) return { forDriver: text, roles };
  for (const name of PARAMETERS) parameters.delete(name);
  return { forDriver: `${text.slice(0, at)}?${parameters}`, roles };
}

/** Why `text` is no such address, as the end of a sentence that begins with its name, without a part of it; null when it is one, or empty. */
export function dsnProblem(text: string): string | null {
  if (text === '') return null;
  if (!/^postgres(ql)?:\/\/./i.test(text)) return MUST_BEGIN;
  const query = queryOf(text);
  if (query === null) return MUST_BE_READABLE;
  if (!query.getAll('sslmode').every((mode) => SSL_MODES.includes(mode)))
    return `must have as its sslmode one of ${SSL_MODES.join(', ')}`;
  const file = FILES_OF_TLS.find((name) => query.has(name));
  if (file !== undefined)
    return `must have no ${file}: the authority of its certificate belongs in NODE_EXTRA_CA_CERTS, and svc has no client certificate`;
  const targets = Object.keys(TARGETS);
  return query.getAll('target_session_attrs').every((target) => targets.includes(target))
    ? null
    : `must have as its target_session_attrs one of ${targets.join(', ')}`;
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
