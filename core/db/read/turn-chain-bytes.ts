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
  response_slice: string | null;
  request_header_template: string | null;
  request_header_values: string[];
  response_header_template: string | null;
  response_header_values: string[];
};

export const turnParts = (db: Sql, { raw_turn_ids }: { raw_turn_ids: number[] }): Promise<TurnParts[]> =>
  db.rows<TurnParts>(sql`
    select raw_turn_id, request_pages, request_page_depth, encode(response_slice, 'hex') as response_slice,
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
  const rows = await db.rows<PackedSlice & { place: number; stored: number }>(sql`
    select encode(w.slice_id, 'hex') as slice_id, w.codec, w.size_bytes, w.bytes, w.place, w.stored
      from (select w.place, s.*, count(*) over () as stored,
                   sum(octet_length(s.bytes)) over (order by w.place) - octet_length(s.bytes) as bytes_before
              from unnest(${hexArray(ids)}::bytea[]) with ordinality as w (slice_id, place)
              join svc.all_slices s on s.slice_id = w.slice_id) w
     where w.bytes_before = 0 or w.bytes_before < ${max_bytes}::bigint
     order by w.place`);
  const slices = rows.map(
    ({ slice_id, codec, size_bytes, bytes }): PackedSlice => ({ slice_id, codec, size_bytes, bytes }),
  );
  const last = rows.at(-1);
  return { covered: last && rows.length < last.stored ? last.place : ids.length, slices };
}
