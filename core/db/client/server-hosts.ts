/**
 * Connections to the one of several hosts that has the role which is looked for. postgres.js would try the hosts for ever, without a pause,
 * and begin with the first again for each connection.
 */
import type postgres from 'postgres';
import { dsnParts, type HostRole } from '../../config/dsn.ts';
import { DatabaseError } from '../../errors.ts';
import { connectionIsLost, databaseError, lostConnection } from './failure.ts';
import { type ClientOptions, client, hostsOf, type ServerHost } from './server-client.ts';

/** A standby may lag behind: what a process reads there it would take for all that is stored. */
const DEFAULT_ROLES: readonly HostRole[] = ['primary'];

/** Beyond what the driver waits for a connection. */
const RESPONSE_MS = 15_000;

/** @throws {DatabaseError} no host can be reached that has the role @throws what the driver does about a DSN that it cannot read */
export type ClientOpener = (options: ClientOptions) => Promise<postgres.Sql>;

/**
 * The host that was found last for a DSN, by its place among the hosts. All pools of the process share it: a cassette's stream has a pool of
 * its own, and would wait again for a host that does not respond.
 */
const foundLast = new Map<string, number>();

/** Opens clients of one connection each. With one host of any role it connects at its first query, else it is connected already. */
export function clientOpener(dsn: string): ClientOpener {
  return async (options) => {
    const hosts = hostsOf(dsn);
    const roles = dsnParts(dsn).roles ?? (hosts.length > 1 ? DEFAULT_ROLES : ['any']);
    if (hosts.length === 1 && roles.includes('any')) return client(dsn, options);
    let failure: unknown;
    const first = foundLast.get(dsn) ?? 0;
    let candidates = [...hosts.keys()].map((i) => (i + first) % hosts.length);
    for (const role of roles) {
      const ofOtherRole: number[] = [];
      for (const i of candidates) {
        const opened = await connected(dsn, hosts[i] as ServerHost, role, options).catch((error: unknown) => {
          if (!isPassedOver(error)) throw error;
          failure = error;
          return 'unreachable' as const;
        });
        if (opened === null) ofOtherRole.push(i);
        else if (opened !== 'unreachable') {
          foundLast.set(dsn, i);
          return opened;
        }
      }
      candidates = ofOtherRole; // what cannot be reached is not waited for again
    }
    throw candidates.length > 0 ? lostConnection(`none of its hosts that can be reached is a ${roles[0]}`) : failure;
  };
}

/** Another host may do: this one is away, starts, stops, or has no connection left. */
const isPassedOver = (error: unknown): boolean =>
  connectionIsLost(error) || (error instanceof DatabaseError && /^(08|53|57P)/.test(error.sqlstate));

/** null: its role is another. */
async function connected(
  dsn: string,
  host: ServerHost,
  role: HostRole,
  { onclose, ...options }: ClientOptions,
): Promise<postgres.Sql | null> {
  let isUsed = false;
  const opened = client(dsn, { ...options, ...host, onclose: (id) => isUsed && onclose?.(id) });
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(lostConnection('no answer came in time')), RESPONSE_MS);
  });
  try {
    const [row] = await Promise.race([opened.unsafe('select pg_is_in_recovery() as is_standby'), late]);
    isUsed = role === 'any' || row?.is_standby === (role === 'standby');
    return isUsed ? opened : null;
  } catch (error) {
    throw databaseError(error);
  } finally {
    clearTimeout(timer);
    if (!isUsed) void opened.end({ timeout: 0 });
  }
}
