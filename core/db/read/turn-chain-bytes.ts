/** The slices of raw turns, as ids and as stored bytes, unchecked: the caller verifies them. */
import { sql } from 'drizzle-orm';
import type { PackedSlice } from '../../capture/slice-codec.ts';
import { hexArray, pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';

/** Slice ids are hex. */
export type TurnParts = {
  raw_turn_id: number;
  request_pages: Uint8Array;
  request_page_depth: number;
  request_is_utf8: boolean | null; // null: not known
  response_slice: string | null;
  request_header_template: string | null;
  request_header_values: string[];
  response_header_template: string | null;
  response_header_values: string[];
};

export const turnParts = (db: Sql, { raw_turn_ids }: { raw_turn_ids: number[] }): Promise<TurnParts[]> =>
  db.rows<TurnParts>(sql`
    select raw_turn_id, request_pages, request_page_depth, request_is_utf8,
           encode(response_slice, 'hex') as response_slice,
           encode(request_header_template, 'hex') as request_header_template, request_header_values,
           encode(response_header_template, 'hex') as response_header_template, response_header_values
      from svc.raw_turns where raw_turn_id = any(${pgArray(raw_turn_ids)}::bigint[])`);

/**
 * The slices of distinct ids from the first on, as many as `max_bytes` allow, but at least one if it is stored.
 * `covered`: how many of the ids this page covers; those of them that are not among the slices are not stored.
 */
export type SlicesPage = { covered: number; slices: PackedSlice[] };

export async function slicesUpTo(
  db: Sql,
  { ids, max_bytes }: { ids: string[]; max_bytes: number },
): Promise<SlicesPage> {
  const sizes = await db.rows<{ slice_id: string; bytes: number }>(sql`
    select encode(slice_id, 'hex') as slice_id, octet_length(bytes) as bytes
      from svc.slices where slice_id = any(${hexArray(ids)}::bytea[])`);
  const sizeOf = new Map(sizes.map(({ slice_id, bytes }) => [slice_id, bytes]));
  const page: string[] = [];
  let bytes = 0;
  const next = ids.findIndex((id) => {
    const size = sizeOf.get(id);
    if (size === undefined) return false;
    if (page.length > 0 && bytes >= max_bytes) return true;
    page.push(id);
    bytes += size;
    return false;
  });
  const slices = await db.rows<PackedSlice>(sql`
    select encode(slice_id, 'hex') as slice_id, codec, size_bytes, bytes
      from svc.slices where slice_id = any(${hexArray(page)}::bytea[])`);
  const byId = new Map(slices.map((slice) => [slice.slice_id, slice]));
  return { covered: next === -1 ? ids.length : next, slices: page.flatMap((id) => byId.get(id) ?? []) };
}
