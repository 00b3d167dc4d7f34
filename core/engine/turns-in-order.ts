/** Reads the bytes of a page of turns, in their order: what is needed next is read along with each, and what they have in common once. */
import type { Database } from '../db/database.ts';
import { piecesOf, type RawTurnBytes, rootsOf, singleSlicesOf, turnBytesOf } from '../db/read/raw-turn-bytes.ts';
import type { TurnParts } from '../db/read/turn-chain-bytes.ts';
import type { SliceBytes } from './cached-slices.ts';

/** So many slices are known ahead; a query reads no more. */
const AHEAD = 4_096;

/** null: there is no such turn, as when it was purged since the page was read. @throws {Error} when a slice of it is missing */
export type PageBytes = (raw_turn_id: number) => Promise<RawTurnBytes | null>;

/**
 * @param turns those that may be read, in the order in which they will be; any other order takes more queries
 * @param notHeaders as for `turnBytes`
 */
export async function turnsInOrder(
  { execute }: Pick<Database, 'execute'>,
  turns: readonly { raw_turn_id: number }[],
  slices: SliceBytes,
  notHeaders?: (slice_id: string) => Error,
): Promise<PageBytes> {
  const raw_turn_ids = turns.map(({ raw_turn_id }) => raw_turn_id);
  const found = turns.length > 0 ? await execute('turnParts', { raw_turn_ids }) : [];
  const byId = new Map(found.map((parts) => [parts.raw_turn_id, parts]));
  const page = raw_turn_ids.flatMap((raw_turn_id) => byId.get(raw_turn_id) ?? []);
  const pages = page.filter(({ request_page_depth }) => request_page_depth > 0).flatMap(rootsOf);
  const pieces = new Map<number, string[]>();

  const piecesAt = async (place: number, parts: TurnParts): Promise<string[]> => {
    const known = pieces.get(place) ?? (await piecesOf(parts, (ids) => slices(ids, pages)));
    pieces.set(place, known);
    return known;
  };

  const slicesAfter = async (place: number): Promise<string[]> => {
    const ahead: string[] = [];
    for (let next = place + 1; next < page.length && ahead.length < AHEAD; next++) {
      const parts = page[next] as TurnParts;
      const known = await piecesAt(next, parts).catch(() => []); // where it is read, that fails once more
      for (const id of known) ahead.push(id);
      ahead.push(...singleSlicesOf(parts));
    }
    return ahead;
  };

  return async (raw_turn_id) => {
    const place = page.findIndex((parts) => parts.raw_turn_id === raw_turn_id);
    const parts = page[place];
    if (!parts) return null;
    const own = await piecesAt(place, parts);
    const ahead = await slicesAfter(place);
    pieces.delete(place);
    return turnBytesOf(parts, own, (ids) => slices(ids, ahead), notHeaders);
  };
}
