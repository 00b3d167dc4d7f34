/** Deletes turns that were set aside with their bytes. Nothing refers to them, and coverage has counted them. */
import { sql } from 'drizzle-orm';
import { pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';

/** @returns how many there were */
export async function purgeParked(db: Sql, { ids }: { ids: readonly string[] }): Promise<number> {
  const gone = await db.rows(sql`
    delete from svc.parked_turns where svc_proxy_request_id = any(${pgArray(ids)}::text[]) returning 1 as one`);
  return gone.length;
}
