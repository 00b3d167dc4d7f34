/** Whether a role is ready for work, as probes read it at `/ready` of the internal listener, and why not. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Readiness } from '../../api/internal.ts';
import { whyUnavailable } from '../../db/client/why-unavailable.ts';
import type { Database } from '../../db/database.ts';
import type { ProcessState } from '../../model/status.ts';

const REPLY_MS = 3_000;
const FRESH_MS = 1_000;

type DatabaseChecks = {
  execute: Database['execute'];
  /** Why the database was not reached yet; null: it was. Absent: the role starts with it. */
  closedBecause?: () => string | null;
  /** Whether the role is of no use while the database takes no writes. */
  writes: boolean;
};

/** Returns the check of a role that needs the database: null, or why it cannot be used. Probes within a second share a query. */
export function databaseReadiness({ execute, closedBecause = () => null, writes }: DatabaseChecks) {
  let last: { at: number; why: Promise<string | null> } | null = null;
  const query = async (): Promise<string | null> => {
    const late = new AbortController();
    try {
      const found = execute('ping', {}, { limitMs: REPLY_MS });
      found.catch(() => {}); // also when it comes late
      const state = await Promise.race([found, sleep(REPLY_MS, null, { signal: late.signal })]);
      if (state === null) return 'the database does not answer in time';
      return writes && !state.takes_writes ? 'the database takes no writes' : null;
    } catch (error) {
      return whyUnavailable(error);
    } finally {
      late.abort();
    }
  };
  return async (): Promise<string | null> => {
    const closed = closedBecause();
    if (closed !== null) return closed;
    if (!last || performance.now() - last.at > FRESH_MS) last = { at: performance.now(), why: query() };
    return last.why;
  };
}

export type RoleState = {
  /** Null, or why the database cannot be used. Absent: the role serves without it. */
  database?: () => Promise<string | null>;
  processes: readonly ProcessState[];
  /** Whether the required cassettes are admitted. Absent: none run here. */
  cassettesReady?: boolean;
  /** The journal of a role that has one. */
  journal: { bytes: number; maxBytes: number; oldestSeconds: number; fault: string | null } | null; // `fault`: with which it cannot be read
};

/** Above it, calls wait for longer than intake ever takes by itself. */
const LATE_SECONDS = 10;

/** A capture proxy passes calls whatever becomes of the database and the journal, so these make remarks and not unready. */
export async function readinessOf({ database, processes, cassettesReady, journal }: RoleState): Promise<Readiness> {
  const why = database ? await database() : null;
  const reasons = [
    ...(why === null ? [] : [why]),
    ...(processes.some(({ name, state }) => name === 'proxy' && state !== 'up')
      ? ['the capture proxy does not run']
      : []),
    ...(cassettesReady === false ? ['a required cassette is not admitted'] : []),
  ];
  const remarks = journal === null ? [] : remarksOn(journal);
  return { ready: reasons.length === 0, reasons, remarks };
}

function remarksOn({ bytes, maxBytes, oldestSeconds, fault }: NonNullable<RoleState['journal']>): string[] {
  return [
    ...(fault === null ? [] : [`the journal cannot be read (${fault}): calls wait in it, and the log says more`]),
    ...(fault === null && oldestSeconds > LATE_SECONDS
      ? ['calls wait in the journal: the database does not take them']
      : []),
    ...(bytes >= maxBytes ? ['the journal is full: calls pass and are not recorded'] : []),
  ];
}
