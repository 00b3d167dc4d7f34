/** Starts threads for the embedded database. */
import type { Worker } from 'node:worker_threads';
import { startWorker } from '../../start-worker.ts';
import type { StartThread } from './embedded-host.ts';
import type { HostCommand } from './ports.ts';

const ENTRY = 'db/client/embedded-worker';

/**
 * PostgreSQL refuses too deep nesting before its stack overflows, but measures another stack than the one in use here. With a smaller
 * one, a deep value breaks the engine, which then gives wrong results.
 */
export const THREAD_LIMITS = { stackSizeMb: 64 };

export const startDatabaseThread: StartThread = (data, transfer) => startWorker(ENTRY, data, transfer, THREAD_LIMITS);

/** Starts one before it is known what it will open, since it takes a while to load; it is the first that the result starts. */
export function startDatabaseThreadEarly(): StartThread {
  let early: Worker | null = startWorker(ENTRY, null, [], THREAD_LIMITS);
  early.once('exit', () => {
    early = null;
  });
  early.on('error', () => {}); // another is started in its place, which says why
  return (data, transfer) => {
    if (early === null) return startDatabaseThread(data, transfer);
    const thread = early.removeAllListeners();
    early = null;
    thread.postMessage({ open: data } satisfies HostCommand, transfer);
    return thread;
  };
}
