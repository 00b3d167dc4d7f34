/** A raw turn's headers and bodies, as they were on the wire except for credentials. */
import { sql } from 'drizzle-orm';
import { headersFrom } from '../../capture/header-template.ts';
import { idsIn, readRecipe } from '../../capture/recipe.ts';
import { unpackSlice } from '../../capture/slice-codec.ts';
import type { HeaderList } from '../../model/headers.ts';
import { hexArray } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { type TurnParts, turnParts } from './turn-chain-bytes.ts';

/** Bodies are as they came, still in their content coding; `response` is null when no byte of a response was stored. */
export type RawTurnBytes = {
  request: Uint8Array;
  response: Uint8Array | null;
  request_headers: HeaderList;
  response_headers: HeaderList | null; // null: no response came
};

/** null: no such raw turn. @throws {Error} when a slice of it is missing */
export async function rawTurnBytes(db: Sql, { raw_turn_id }: { raw_turn_id: number }): Promise<RawTurnBytes | null> {
  const [parts] = await turnParts(db, { raw_turn_ids: [raw_turn_id] });
  return parts ? turnBytes(parts, (ids) => sliceBytes(db, ids)) : null;
}

/** Puts a raw turn together. `slices` returns the bytes of slices, in the order of their ids. */
export async function turnBytes(
  parts: TurnParts,
  slices: (ids: readonly string[]) => Promise<readonly Uint8Array[]>,
): Promise<RawTurnBytes> {
  const recipe = { roots: idsIn(parts.request_pages), depth: parts.request_page_depth };
  const pieces = await readRecipe(recipe, slices);
  const { request_header_template, response_header_template, response_slice } = parts;
  const singleSlices = [request_header_template, response_header_template, response_slice].filter((id) => id !== null);
  const bytes = await slices([...pieces, ...singleSlices]);
  const bytesOf = (id: string | null) =>
    id === null ? null : (bytes[pieces.length + singleSlices.indexOf(id)] ?? null);
  const [requestTemplate, responseTemplate] = [bytesOf(request_header_template), bytesOf(response_header_template)];
  return {
    request: joined(bytes.slice(0, pieces.length)),
    response: bytesOf(response_slice),
    request_headers: requestTemplate ? headersFrom(requestTemplate, parts.request_header_values) : [],
    response_headers: responseTemplate && headersFrom(responseTemplate, parts.response_header_values),
  };
}

/** The bytes of slices, in the order of `ids`; an id may repeat. */
export async function sliceBytes(db: Sql, ids: readonly string[]): Promise<Uint8Array[]> {
  if (ids.length === 0) return [];
  const rows = await db.rows<{ slice_id: string; codec: 0 | 1; bytes: Uint8Array }>(sql`
    select encode(slice_id, 'hex') as slice_id, codec, bytes from svc.slices
     where slice_id = any(${hexArray([...new Set(ids)])}::bytea[])`);
  const slices = new Map(rows.map((row) => [row.slice_id, unpackSlice(row)]));
  return ids.map((id) => {
    const bytes = slices.get(id);
    if (!bytes) throw missingSlice(id);
    return bytes;
  });
}

export const missingSlice = (slice_id: string): Error =>
  new Error(`Cannot put a raw turn together: slice ${slice_id} is not stored`);

/** A plain Uint8Array over memory of its own, so that it passes to another thread unchanged. */
export function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(pieces.reduce((sum, { byteLength }) => sum + byteLength, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.byteLength;
  }
  return whole;
}
