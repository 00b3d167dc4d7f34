/** `svc verify`: checks that the log is as it was written. Reads the database itself, since its user may not trust the service. */

import { builtIn } from '../call/reader.ts';
import type { LoadedConfig } from '../config/load.ts';
import { isMade } from '../db/client/data-folder.ts';
import type { Database } from '../db/database.ts';
import { type OpenDatabase, openDatabase } from '../db/open.ts';
import { openCheckedSlices } from '../engine/verify/checked-slices.ts';
import { type Verifier, verifySession } from '../engine/verify/verify-session.ts';
import { DatabaseError, OperatorError } from '../errors.ts';
import { openLog } from '../log.ts';
import type { Io } from './io.ts';
import { jsonDocument, lines, type VerifyReport, type VerifyTotals } from './verify-report.ts';
import { whereData } from './where-data.ts';

/** `session` null: all of them. `head`: the hash of a turn that must be there. */
export type VerifyOptions = { session: string | null; head: string | null; json: boolean };

const SESSIONS_AT_ONCE = 200;

/**
 * 0 when everything is as it was written, else 1.
 * @throws {OperatorError} the database cannot be read, or no such session is in it
 */
export async function printVerification(
  loaded: LoadedConfig,
  options: VerifyOptions,
  io: Pick<Io, 'out'>,
): Promise<0 | 1> {
  const checked = checkedOptions(options);
  const database = await openForReading(loaded);
  try {
    return await verifyIn(database, checked, io);
  } finally {
    await database.close();
  }
}

/** As `printVerification`, in a database that is open. */
export async function verifyIn(database: Database, options: VerifyOptions, { out }: Pick<Io, 'out'>): Promise<0 | 1> {
  const checked = checkedOptions(options);
  const { session, head, json } = checked;
  const report = json ? jsonDocument({ out }) : lines({ out, head, single: session !== null });
  const verifier = { database, reader: builtIn, slices: openCheckedSlices(database) };
  try {
    const { broken_sessions, has_head } = await verifyAll(verifier, checked, report);
    return broken_sessions > 0 || has_head === false ? 1 : 0;
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    throw new OperatorError(`Cannot verify the turns: ${error.message}`, 1, { cause: error });
  }
}

async function verifyAll(
  verifier: Verifier,
  { session, head }: VerifyOptions,
  report: VerifyReport,
): Promise<VerifyTotals> {
  const totals: VerifyTotals = {
    ...{ sessions: 0, broken_sessions: 0, outdated_sessions: 0, turns: 0, purged: 0, nodes: 0, bytes: 0 },
    has_head: head === null ? null : false,
  };
  for await (const session_id of session === null ? sessionsIn(verifier) : [session]) {
    const verified = await verifySession(verifier, session_id, head);
    if (!verified && session !== null) throw new OperatorError(`Cannot verify session '${session}': there is none`);
    if (!verified) continue; // removed since the list was read
    totals.sessions += 1;
    totals.broken_sessions += verified.breaks > 0 ? 1 : 0;
    totals.outdated_sessions += verified.outdated > 0 ? 1 : 0;
    for (const sum of ['turns', 'purged', 'nodes', 'bytes'] as const) totals[sum] += verified[sum];
    if (verified.has_head) totals.has_head = true;
    report.session(verified);
  }
  report.end(totals);
  return totals;
}

async function* sessionsIn({ database }: Verifier): AsyncGenerator<string> {
  for (let after: string | null = null, more = true; more; ) {
    const page: string[] = await database.execute('sessionIds', { after, limit: SESSIONS_AT_ONCE });
    yield* page;
    after = page.at(-1) ?? null;
    more = page.length === SESSIONS_AT_ONCE;
  }
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function checkedOptions({ session, head, json }: VerifyOptions): VerifyOptions {
  if (session !== null && !UUID.test(session))
    throw new OperatorError(`Cannot verify session '${session}': its id is no UUID`, 2);
  if (head !== null && !/^[0-9a-f]{64}$/i.test(head))
    throw new OperatorError(`Cannot look for the head '${head}': a turn's hash has 64 hexadecimal digits`, 2);
  return { session: session?.toLowerCase() ?? null, head: head?.toLowerCase() ?? null, json };
}

/** Opens the database, and makes none where there is none. */
async function openForReading({ config, folder }: LoadedConfig): Promise<OpenDatabase> {
  const { postgres_dsn: dsn, pooled } = config.storage;
  if (dsn === '' && !isMade(folder))
    throw new OperatorError(`Cannot verify anything: there is no database in '${whereData(dsn, folder)}'`);
  try {
    return await openDatabase({ dsn, pooled, folder, log: openLog(config.log.level) });
  } catch (error) {
    if (dsn !== '' || !(error instanceof OperatorError) || !/process \d+ has used it/.test(error.message)) throw error;
    const why = 'the embedded database is open to one process at a time, so it is verified while nothing serves it';
    throw new OperatorError(`${error.message}; ${why}`, 1, { cause: error });
  }
}
