/** Limits on a cassette's concurrent work in its database, for this process, however often the cassette was started. */
import type { Logger } from '../../log.ts';
import { openSemaphore, type Semaphore } from '../../semaphore.ts';
import { openPenalties, type Penalties } from './penalties.ts';
import { busy } from './statement-refusals.ts';

export type Quota = {
  /** How many statements run at once. */
  atOnce: number;
  statements: Semaphore;
  streams: Semaphore;
  penalties: Penalties;
};

/** On the embedded database everything waits while a statement runs; on a server a cassette has so many connections. */
const STATEMENTS = { embedded: 1, server: 4 };
const STREAMS = 4;
/** For built-in cassettes: people read several exports at a time, as slowly as they like. */
const BUILT_IN_STREAMS = 64;
const MOST_WAITING = 1_000;

type Deps = { name: string; kind: 'embedded' | 'server'; builtIn: boolean; log: Logger; now?: () => number };

export function openQuota({ name, kind, builtIn, log, now = Date.now }: Deps): Quota {
  const full = (what: string) => () => busy(`${MOST_WAITING} other ${what} of '${name}' wait`);
  return {
    atOnce: STATEMENTS[kind],
    statements: openSemaphore(STATEMENTS[kind], MOST_WAITING, full('statements')),
    streams: openSemaphore(builtIn ? BUILT_IN_STREAMS : STREAMS, MOST_WAITING, full('streams')),
    penalties: openPenalties({ name, log, now }),
  };
}
