/** One page of what several cassettes list: each list is an operation of a cassette, with pages of its own. */
import { z } from 'zod';
import type { ListOperation } from '../../cassette/openapi/offers.ts';
import { Refusal } from '../../errors.ts';
import { readCursor, writeCursor } from '../../http/cursor.ts';
import { isObject } from '../../parse-json.ts';
import { cassetteAnswer, jsonObject, type Limits } from './cassette-answer.ts';

const ENOUGH = 250; // entries of a page: most clients read the first page only
const MOST_ITEMS = 1_000; // of one response of a cassette
const MOST_CURSOR = 2_048;
const MOST_REQUESTS = 20; // to one list for a page: whose entries are not valid would never fill it

export type ListedBy<Entry> = {
  /** Installed name. */
  cassette: string;
  list: ListOperation;
  /** null: the item is not valid. */
  entryOf(item: Record<string, unknown>): Entry | null;
};

/** `problems`: sentences about the lists that could not be read, and about entries that were left out. */
export type ListPage<Entry> = { entries: Entry[]; next: string | undefined; problems: string[] };

/** Where a page begins: a list, by its cassette and path, and the cassette's own cursor. */
const Place = z.object({ at: z.string(), cursor: z.string().optional() });

const placeOf = <Entry>({ cassette, list }: ListedBy<Entry>): string => `${cassette} ${list.path}`;

/**
 * A list that cannot be read is left out and named in `problems`, so that one cassette does not hide what the others offer.
 * @param what such as `list prompts`, which names the page's cursor too
 * @param first entries that are known without a request; they are on the first page
 * @throws {Refusal} bad-request: the cursor is broken, or belongs to another list
 */
export async function listPage<Entry>(
  what: string,
  { lists, first, cursor }: { lists: readonly ListedBy<Entry>[]; first: readonly Entry[]; cursor: string | undefined },
  limits: Limits,
): Promise<ListPage<Entry>> {
  const scope = { route: what };
  const from = readCursor(scope, cursor, Place);
  const entries: Entry[] = from === null ? [...first] : [];
  const problems: string[] = [];
  const sorted = [...lists].sort((one, other) => (placeOf(one) < placeOf(other) ? -1 : 1));
  for (const listed of sorted) {
    const at = placeOf(listed);
    if (from !== null && at < from.at) continue;
    let own = from?.at === at ? from.cursor : undefined;
    const before = entries.length;
    let requests = 0;
    do {
      if (requests === MOST_REQUESTS && entries.length === before) {
        problems.push(`Cannot ${what}: ${requests} pages of ${listed.cassette} in a row have no valid entry`);
        break; // its cursor would hide the lists behind it, from an agent that reads on without end
      }
      const isFull = entries.length >= ENOUGH || requests === MOST_REQUESTS;
      if (isFull) return { entries, next: writeCursor(scope, { at, cursor: own }), problems };
      requests++;
      try {
        const page = await ownPage(what, listed, own, limits);
        entries.push(...page.entries);
        if (page.left > 0) problems.push(`Cannot ${what}: ${page.left} of ${listed.cassette} are not valid`);
        own = page.next;
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        problems.push(error.message);
        own = undefined;
      }
    } while (own !== undefined);
  }
  return { entries, next: undefined, problems };
}

async function ownPage<Entry>(
  what: string,
  { cassette, list, entryOf }: ListedBy<Entry>,
  cursor: string | undefined,
  limits: Limits,
): Promise<{ entries: Entry[]; left: number; next: string | undefined }> {
  const path = cursor === undefined ? list.path : `${list.path}?${new URLSearchParams({ cursor })}`;
  const request = { cassette, path, what: `${what} of ${cassette}`, init: { headers: { accept: 'application/json' } } };
  const { items, next_cursor } = jsonObject(await cassetteAnswer(request, limits), request);
  if (!Array.isArray(items))
    throw new Refusal('cassette-broken', `Cannot ${request.what}: it answered without a list "items"`);
  const entries = items
    .slice(0, MOST_ITEMS)
    .map((item: unknown) => (isObject(item) ? entryOf(item) : null))
    .filter((entry) => entry !== null);
  const hasMore =
    list.pages &&
    typeof next_cursor === 'string' &&
    next_cursor !== '' &&
    next_cursor.length <= MOST_CURSOR &&
    next_cursor !== cursor &&
    items.length > 0; // else an agent would read pages without end
  return { entries, left: items.length - entries.length, next: hasMore ? next_cursor : undefined };
}

/** A text of an item, cut to size; undefined: it has none. */
export function textOf(value: unknown, most: number): string | undefined {
  if (typeof value !== 'string' || value.trim() === '') return undefined;
  return value.length > most ? `${value.slice(0, most - 1).replace(/[\ud800-\udbff]$/, '')}…` : value;
}

/** A value as one segment of a path; null: it cannot be one. */
export function segmentOf(value: unknown): string | null {
  const text = typeof value === 'number' ? String(value) : value;
  if (typeof text !== 'string' || text === '' || text === '.' || text === '..' || text.length > 512) return null;
  return /\p{Surrogate}/u.test(text) ? null : encodeURIComponent(text);
}
