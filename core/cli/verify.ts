/**
 * `svc verify`: checks that the log is as it was written. Reads the database itself, since its user may not trust the service; an embedded
 * one that a service has open is verified by that service.
 */

import { builtIn } from '../call/reader.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { Database } from '../db/database.ts';
import { openCheckedSlices } from '../engine/verify/checked-slices.ts';
import { verifiedSessions } from '../engine/verify/verified-sessions.ts';
import type { SessionVerified } from '../engine/verify/verify-session.ts';
import { DatabaseError, OperatorError } from '../errors.ts';
import type { Place } from '../model/place.ts';
import type { Io } from './io.ts';
import { openForReading, serviceInstead } from './open-for-reading.ts';
import { placesOf, sessionIn } from './record/session-of.ts';
import { plain } from './units.ts';
import { jsonDocument, lines, type VerifyReport, type VerifyTotals } from './verify-report.ts';

/** `session`: its id, or the first four digits of it or more; null: all of them. `head`: the hash of a turn that must be there. */
export type VerifyOptions = { session: string | null; head: string | null; json: boolean };

const CANNOT = 'Cannot verify anything';

/**
 * 0 when everything is as it was written, else 1.
 * @throws {OperatorError} the database cannot be read, or no such session is in it
 */
export async function printVerification(
  loaded: LoadedConfig,
  options: VerifyOptions,
  io: Pick<Io, 'out' | 'err'>,
): Promise<0 | 1> {
  const checked = checkedOptions(options);
  const service = await serviceInstead(loaded, CANNOT, io);
  if (service) {
    const { verifiedByService } = await import('./verify-by-service.ts');
    const whole = await withWholeId(checked, (id) => placesOf(id, service));
    return report(verifiedByService(service, whole), whole, io);
  }
  const database = await openForReading(loaded, CANNOT, io);
  try {
    return await verifyIn(database, checked, io);
  } finally {
    await database.close();
  }
}

/** As `printVerification`, in a database that is open and known to the caller. */
export async function verifyIn(database: Database, options: VerifyOptions, io: Pick<Io, 'out'>): Promise<0 | 1> {
  const whole = await withWholeId(checkedOptions(options), (id) => database.execute('whereIs', { id }));
  return report(verifiedHere(database, whole), whole, io);
}

/** The sums over all sessions of a database that is open. @param onSession called after each */
export const verifyTotals = (database: Database, onSession: (sessions: number) => void): Promise<VerifyTotals> => {
  let sessions = 0;
  const options = { session: null, head: null };
  return summed(verifiedHere(database, options), options, { session: () => onSession(++sessions), end: () => {} });
};

async function* verifiedHere(
  database: Database,
  options: Pick<VerifyOptions, 'session' | 'head'>,
): AsyncGenerator<SessionVerified, void> {
  const verifier = { database, reader: builtIn, slices: openCheckedSlices(database) };
  try {
    yield* verifiedSessions(verifier, options);
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    throw new OperatorError(`Cannot verify the turns: ${error.message}`, 1, { cause: error });
  }
}

async function report(
  verified: AsyncIterable<SessionVerified>,
  options: VerifyOptions,
  { out }: Pick<Io, 'out'>,
): Promise<0 | 1> {
  const { session, head, json } = options;
  const shown = json ? jsonDocument({ out }) : lines({ out, head, single: session !== null });
  const { broken_sessions, has_head } = await summed(verified, options, shown);
  return broken_sessions > 0 || has_head === false ? 1 : 0;
}

async function summed(
  all: AsyncIterable<SessionVerified>,
  { session, head }: Pick<VerifyOptions, 'session' | 'head'>,
  shown: VerifyReport,
): Promise<VerifyTotals> {
  const totals: VerifyTotals = {
    ...{ sessions: 0, broken_sessions: 0, outdated_sessions: 0, turns: 0, purged: 0, nodes: 0, bytes: 0 },
    has_head: head === null ? null : false,
  };
  for await (const verified of all) {
    totals.sessions += 1;
    totals.broken_sessions += verified.breaks > 0 ? 1 : 0;
    totals.outdated_sessions += verified.outdated > 0 ? 1 : 0;
    for (const sum of ['turns', 'purged', 'nodes', 'bytes'] as const) totals[sum] += verified[sum];
    if (verified.has_head) totals.has_head = true;
    shown.session(verified);
  }
  if (session !== null && totals.sessions === 0) throw absent(session);
  shown.end(totals);
  return totals;
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

const START = /^[0-9a-f-]{4,36}$/i;

function checkedOptions({ session, head, json }: VerifyOptions): VerifyOptions {
  if (session !== null && !START.test(session))
    throw new OperatorError(
      `Cannot verify session '${plain(session)}': that is no id, nor the first four digits of one`,
      2,
    );
  if (head !== null && !/^[0-9a-f]{64}$/i.test(head))
    throw new OperatorError(`Cannot look for the head '${head}': a turn's hash has 64 hexadecimal digits`, 2);
  return { session: session?.toLowerCase() ?? null, head: head?.toLowerCase() ?? null, json };
}

/** Lists show the first digits of an id. */
async function withWholeId(options: VerifyOptions, placesOf: (id: string) => Promise<Place[]>): Promise<VerifyOptions> {
  const { session } = options;
  if (session === null || UUID.test(session)) return options;
  const places = await placesOf(session);
  const whole = sessionIn(
    places.filter(({ kind }) => kind === 'session'),
    session,
  );
  if (whole === null) throw absent(session);
  return { ...options, session: whole };
}

const absent = (session: string) => new OperatorError(`Cannot verify session '${session}': there is none`);
