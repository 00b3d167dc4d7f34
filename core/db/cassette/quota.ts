/** What one cassette may have under way in its database, in this process, however often it was started. */
import type { Logger } from '../../log.ts';
import { openSemaphore, type Semaphore } from '../../semaphore.ts';
import { busy } from './refused.ts';
import { openTroubles, type Troubles } from './troubles.ts';

export type Quota = {
  /** Statements. */
  atOnce: number;
  statements: Semaphore;
  streams: Semaphore;
  troubles: Troubles;
};

/** Everybody waits while a statement runs on the embedded database; a server has so many connections for a cassette. */
const STATEMENTS = { embedded: 1, server: 4 };
const STREAMS = 4;
/** Of those that come with the service: an export is read by people, as slowly as they like, and several at a time. */
const BUILT_IN_STREAMS = 64;
const MOST_WAITING = 1_000;

type Deps = { name: string; kind: 'embedded' | 'server'; builtIn: boolean; log: Logger; now?: () => number };

export function openQuota({ name, kind, builtIn, log, now = Date.now }: Deps): Quota {
  const full = (what: string) => () => busy(`${MOST_WAITING} other ${what} of '${name}' wait`);
  return {
    atOnce: STATEMENTS[kind],
    statements: openSemaphore(STATEMENTS[kind], MOST_WAITING, full('statements')),
    streams: openSemaphore(builtIn ? BUILT_IN_STREAMS : STREAMS, MOST_WAITING, full('streams')),
    troubles: openTroubles({ name, log, now }),
  };
}
