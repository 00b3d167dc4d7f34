/** Marks sessions that older rules derived to be derived again, behind everything that is new. */
import type { Database } from '../../db/database.ts';
import { DERIVE_VERSION } from '../../derive/version.ts';
import type { QueryRetry } from './query-retry.ts';

const OUTDATED_AT_ONCE = 500;

/** @returns how many sessions were marked */
export async function markOutdated(database: Database, withRetry: QueryRetry, signal: AbortSignal): Promise<number> {
  let after: string | null = null;
  let marked = 0;
  do {
    const from: string | null = after;
    const result: { last: string | null; marked: number } | null = await withRetry(() =>
      database.execute('markOutdated', { derive_version: DERIVE_VERSION, after: from, limit: OUTDATED_AT_ONCE }),
    );
    after = result?.last ?? null;
    marked += result?.marked ?? 0;
  } while (after !== null && !signal.aborted);
  return marked;
}
