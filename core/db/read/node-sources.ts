/** What the content of nodes is read from: the slices of messages, and the responses of calls. */
import { sql } from 'drizzle-orm';
import type { PackedBytes } from '../derive/derive-turns.ts';
import { hexArray, pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';

/** `responses` by raw_turn_id: without a stored body `bytes` is null. `slices` by id, in hex. What is larger than the limit is missing. */
export type NodeSources = {
  responses: Record<string, ResponseSource>;
  slices: Record<string, PackedBytes>;
};

export type ResponseSource = {
  raw_turn_id: number;
  response_slice: string | null;
  response_header_template: string | null;
  response_header_values: string[];
};

/** @param max_bytes of one slice, unpacked */
export async function nodeSources(
  db: Sql,
  { slice_ids, raw_turn_ids, max_bytes }: { slice_ids: string[]; raw_turn_ids: number[]; max_bytes: number },
): Promise<NodeSources> {
  const responses = await db.rows<ResponseSource>(sql`
    select raw_turn_id, encode(response_slice, 'hex') as response_slice,
           encode(response_header_template, 'hex') as response_header_template, response_header_values
      from svc.raw_turns
     where raw_turn_id = any(${pgArray(raw_turn_ids)}::bigint[])`);
  const ofResponses = responses.flatMap((one) => [one.response_slice, one.response_header_template]);
  const ids = new Set([...slice_ids, ...ofResponses.filter((id) => id !== null)]);
  const slices = await db.rows<PackedBytes & { slice_id: string }>(sql`
    select encode(slice_id, 'hex') as slice_id, codec, bytes
      from svc.slices
     where slice_id = any(${hexArray([...ids])}::bytea[]) and size_bytes <= ${max_bytes}`);
  return {
    responses: Object.fromEntries(responses.map((one) => [one.raw_turn_id, one])),
    slices: Object.fromEntries(slices.map(({ slice_id, codec, bytes }) => [slice_id, { codec, bytes }])),
  };
}
