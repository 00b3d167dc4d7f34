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
  const sized = await db.rows<{ place: number; bytes_before: number }>(sql`
    select w.place, (sum(octet_length(s.bytes)) over (order by w.place) - octet_length(s.bytes))::bigint as bytes_before
      from unnest(${hexArray(ids)}::bytea[]) with ordinality as w (slice_id, place)
      join svc.slices s on s.slice_id = w.slice_id
     order by w.place`);
  const beyond = sized.find(({ bytes_before }, i) => i > 0 && bytes_before >= max_bytes);
  const covered = beyond ? beyond.place - 1 : ids.length;
  const slices = await db.rows<PackedSlice>(sql`
    select encode(slice_id, 'hex') as slice_id, codec, size_bytes, bytes from svc.slices
     where slice_id = any(${hexArray(ids.slice(0, covered))}::bytea[])`);
  return { covered, slices };
}
