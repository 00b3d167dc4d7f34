/** Work that one process of a database does at a time, under a lease that is renewed while it goes on. */
import { randomUUID } from 'node:crypto';
import type { Database } from '../db/database.ts';

const LEASE_MS = 60_000;
const RENEW_MS = 15_000;

export type ExclusiveWork = 'retention' | 'gc' | 'find' | 'cache' | 'backup';

/**
 * The signal of `task` is given when the caller's is, or the lease is lost. A process that stands still learns of that too late: what must
 * not be written then is fenced by the token, in its own transaction (core/db/work-lease.ts).
 * @returns null: another process does it now
 */
export async function exclusively<T>(
  execute: Database['execute'],
  work: ExclusiveWork,
  signal: AbortSignal,
  task: (signal: AbortSignal, token: string) => Promise<T>,
): Promise<T | null> {
  const lease = await openWorkLease(execute, work);
  if (lease === null) return null;
  try {
    return await task(AbortSignal.any([signal, lease.lost]), lease.token);
  } finally {
    await lease.release();
  }
}

/** A lease that is renewed until it is released. `lost`: another process may do the work by now. */
export type WorkLease = { token: string; lost: AbortSignal; release(): Promise<void> };

/** @returns null: another process has it */
export async function openWorkLease(execute: Database['execute'], work: ExclusiveWork): Promise<WorkLease | null> {
  const lease = { work, token: randomUUID() };
  if (!(await execute('leaseWork', { ...lease, ms: LEASE_MS }))) return null;
  const lost = new AbortController();
  let renewedAt = performance.now();
  const renew = async () => {
    if (await execute('leaseWork', { ...lease, ms: LEASE_MS })) renewedAt = performance.now();
    else lost.abort();
  };
  const timer = setInterval(() => {
    if (performance.now() - renewedAt > LEASE_MS - RENEW_MS) lost.abort(); // another may have it by now
    renew().catch(() => undefined); // tried again, as long as the lease lasts
  }, RENEW_MS).unref();
  return {
    token: lease.token,
    lost: lost.signal,
    async release() {
      clearInterval(timer);
      await execute('releaseWork', lease);
    },
  };
}
