/** Finds the slices that are stored already, so that they are not compressed and sent again. */
import { sql } from 'drizzle-orm';
import { hexArray } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { storingTo } from './purge-count.ts';

/** Those of the ids that are stored for the turns of now, in no order; valid as long as the count of purges is `purges`. */
export async function knownSlices(db: Sql, { ids }: { ids: string[] }): Promise<{ known: string[]; purges: string }> {
  const { purges, partition_no } = await storingTo(db); // first, so that a purge between the two is noticed
  if (ids.length === 0) return { known: [], purges };
  const rows = await db.rows<{ slice_id: string }>(sql`
    select encode(s.slice_id, 'hex') as slice_id
      from unnest(${hexArray(ids)}::bytea[]) as requested (slice_id)
      join svc.slices s on s.slice_id = requested.slice_id and s.partition_no = ${partition_no}`);
  return { known: rows.map((row) => row.slice_id), purges };
}
