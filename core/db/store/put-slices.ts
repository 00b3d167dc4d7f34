/** Stores slices: each distinct one once, under its hash. */
import { sql } from 'drizzle-orm';
import type { PackedSlice } from '../../capture/slice-codec.ts';
import { hexArray, pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';

/**
 * In the order of their ids, so that two writers with common slices never deadlock. Their bytes come as one text: PostgreSQL reads an array of
 * them character by character, which takes as long as all the rest of the statement.
 */
export async function putSlices(tx: Sql, slices: readonly PackedSlice[]): Promise<void> {
  if (slices.length === 0) return;
  const rows = [...slices].sort((a, b) => (a.slice_id < b.slice_id ? -1 : 1));
  const starts: number[] = [];
  let end = 0;
  for (const { bytes } of rows) {
    starts.push(end + 1);
    end += bytes.length;
  }
  await tx.rows(sql`
    with packed as materialized (
      select decode(${Buffer.concat(rows.map((row) => row.bytes)).toString('hex')}, 'hex') as bytes)
    insert into svc.slices (slice_id, codec, size_bytes, bytes)
    select r.slice_id, r.codec, r.size_bytes, substring(p.bytes from r.start for r.length)
      from packed p,
           unnest(${hexArray(rows.map((row) => row.slice_id))}::bytea[],
                  ${pgArray(rows.map((row) => row.codec))}::smallint[],
                  ${pgArray(rows.map((row) => row.size_bytes))}::integer[],
                  ${pgArray(starts)}::integer[],
                  ${pgArray(rows.map((row) => row.bytes.length))}::integer[]) as r (slice_id, codec, size_bytes, start, length)
    on conflict do nothing`);
}
