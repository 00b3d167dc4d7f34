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

/** Returns the bytes of slices, in the order of their ids. */
export type ReadSlices = (ids: readonly string[]) => Promise<readonly Uint8Array[]>;

/** Puts a raw turn together. @param notHeaders makes the error for a slice that should be a list of headers and is none */
export async function turnBytes(parts: TurnParts, slices: ReadSlices, notHeaders = badHeaders): Promise<RawTurnBytes> {
  return turnBytesOf(parts, await piecesOf(parts, slices), slices, notHeaders);
}

/** The roots of the recipe of its request: pieces, or pages that list them. */
export const rootsOf = ({ request_pages }: TurnParts): string[] => idsIn(request_pages);

/** The ids of the pieces of its request. */
export const piecesOf = (parts: TurnParts, slices: ReadSlices): Promise<string[]> =>
  readRecipe({ roots: rootsOf(parts), depth: parts.request_page_depth }, slices);

/** The ids of its slices that are none of the request's pieces. */
export const singleSlicesOf = (parts: TurnParts): string[] =>
  [parts.request_header_template, parts.response_header_template, parts.response_slice].filter((id) => id !== null);

/** The same, of a turn whose pieces are known. */
export async function turnBytesOf(
  parts: TurnParts,
  pieces: readonly string[],
  slices: ReadSlices,
  notHeaders = badHeaders,
): Promise<RawTurnBytes> {
  const singleSlices = singleSlicesOf(parts);
  const bytes = await slices([...pieces, ...singleSlices]);
  return {
    request: joined(bytes.slice(0, pieces.length)),
    ...besideRequest(parts, bytes.slice(pieces.length), notHeaders),
  };
}

/** What a raw turn has beside its request. @param bytes of `singleSlicesOf` */
export function besideRequest(
  parts: TurnParts,
  bytes: readonly Uint8Array[],
  notHeaders = badHeaders,
): Omit<RawTurnBytes, 'request'> {
  const singleSlices = singleSlicesOf(parts);
  const bytesOf = (id: string | null) => (id === null ? null : (bytes[singleSlices.indexOf(id)] ?? null));
  const headersOf = (template: string | null, values: readonly string[]) => {
    const found = bytesOf(template);
    if (template === null || !found) return null;
    try {
      return headersFrom(found, values);
    } catch {
      throw notHeaders(template);
    }
  };
  return {
    response: bytesOf(parts.response_slice),
    request_headers: headersOf(parts.request_header_template, parts.request_header_values) ?? [],
    response_headers: headersOf(parts.response_header_template, parts.response_header_values),
  };
}

const badHeaders = (slice_id: string): Error =>
  new Error(`Cannot put a raw turn together: slice ${slice_id} is no list of headers`);

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
