/** Stores slices: each distinct one once, under its hash. */
import { sql } from 'drizzle-orm';
import type { PackedSlice } from '../../capture/slice-codec.ts';
import { bytesArray, hexArray, pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';

/** In the order of their ids, so that two writers with common slices never deadlock. */
export async function putSlices(tx: Sql, slices: readonly PackedSlice[]): Promise<void> {
  if (slices.length === 0) return;
  const rows = [...slices].sort((a, b) => (a.slice_id < b.slice_id ? -1 : 1));
  await tx.rows(sql`
    insert into svc.slices (slice_id, codec, size_bytes, bytes)
    select * from unnest(${hexArray(rows.map((row) => row.slice_id))}::bytea[],
                         ${pgArray(rows.map((row) => row.codec))}::smallint[],
                         ${pgArray(rows.map((row) => row.size_bytes))}::integer[],
                         ${bytesArray(rows.map((row) => row.bytes))}::bytea[])
    on conflict do nothing`);
}
