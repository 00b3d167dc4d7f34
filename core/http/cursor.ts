/** Keyset cursors of lists: opaque, versioned, and bound to the list and the parameters that they were issued for. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { Refusal } from '../errors.ts';

const CursorContent = z.tuple([z.literal(1), z.string(), z.unknown()]);

/** What a cursor is bound to: a route and those of its parameters that shape the list. The page size does not. */
export type CursorScope = { route: string; parameters?: Record<string, string | undefined> };

export const writeCursor = (list: CursorScope, key: unknown): string =>
  Buffer.from(JSON.stringify([1, scopeHash(list), key])).toString('base64url');

/**
 * The key that a cursor holds; null without a cursor.
 * @throws {Refusal} bad-request, when it is broken or belongs elsewhere
 *
 * @example
 * const list = { route: 'sessions', parameters: { sort: 'name' } };
 * const cursor = writeCursor(list, ['atlas', 7]);
 * readCursor(list, cursor, z.tuple([z.string(), z.number()])); // => ['atlas', 7]
 * readCursor(list, undefined, z.unknown()); // => null
 * readCursor({ route: 'traces' }, cursor, z.unknown()); // => throws Refusal
 */
export function readCursor<Key>(list: CursorScope, cursor: string | undefined, key: z.ZodType<Key>): Key | null {
  if (cursor === undefined) return null;
  const content = CursorContent.safeParse(decoded(cursor));
  if (!content.success) throw new Refusal('bad-request', 'Cannot read the page: the cursor is broken');
  const [, name, value] = content.data;
  if (name !== scopeHash(list))
    throw new Refusal('bad-request', 'Cannot read the page: the cursor belongs to another list or other parameters');
  const parsedKey = key.safeParse(value);
  if (!parsedKey.success) throw new Refusal('bad-request', 'Cannot read the page: the cursor is broken');
  return parsedKey.data;
}

const scopeHash = ({ route, parameters = {} }: CursorScope): string =>
  createHash('sha256')
    .update(
      JSON.stringify([
        route,
        Object.entries(parameters)
          .filter(([, value]) => value !== undefined)
          .sort(),
      ]),
    )
    .digest('base64url')
    .slice(0, 16);

const decoded = (cursor: string): unknown => {
  try {
    return /^[\w-]+$/.test(cursor) ? JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')) : null;
  } catch {
    return null;
  }
};
