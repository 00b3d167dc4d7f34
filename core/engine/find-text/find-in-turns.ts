/** Looks for a text in the bytes of raw turns. Slices that many turns share are looked through once. */

import { decodeBodySync, maxDecodedBytes } from '../../capture/content-encoding.ts';
import { headersFrom } from '../../capture/header-template.ts';
import { idsIn, readRecipe } from '../../capture/recipe.ts';
import type { TurnParts } from '../../db/read/turn-chain-bytes.ts';
import { lruCache } from '../../lru-cache.ts';
import { contentCoding, type HeaderList } from '../../model/headers.ts';
import { BadSlice, type CheckedSlices } from '../verify/checked-slices.ts';

export type SearchedSide = 'request' | 'response' | 'request_headers' | 'response_headers';

export type TurnSearch = (parts: TurnParts) => Promise<SearchedSide[]>;

/** What is remembered of a slice: whether the text is in it, and its ends, in which another slice may complete it. */
type Looked = { found: boolean; head: Buffer; tail: Buffer; bytes: number };

const REMEMBERED = 100_000;
const AT_ONCE = 64;

/** @param forms each of these is the text. A turn of which bytes are missing counts by what is left of it */
export function openTurnSearch(slices: CheckedSlices, forms: readonly string[]): TurnSearch {
  const needles = forms.map((form) => Buffer.from(form));
  const longest = Math.max(0, ...needles.map((needle) => needle.length));
  const looked = lruCache<string, Looked>(REMEMBERED);
  const isIn = (bytes: Buffer): boolean => needles.some((needle) => bytes.includes(needle));

  const read = async (ids: readonly string[]): Promise<Buffer[]> =>
    (await slices(ids)).map((bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));

  const look = async (ids: readonly string[]): Promise<Looked[]> => {
    const unread = [...new Set(ids)].filter((id) => !looked.has(id));
    const fresh = new Map<string, Looked>();
    const bodies = await read(unread);
    unread.forEach((id, i) => {
      const bytes = bodies[i] ?? Buffer.alloc(0);
      const ends = { head: Buffer.from(bytes.subarray(0, longest - 1)), tail: Buffer.from(tailOf(bytes, longest - 1)) };
      const one = { found: isIn(bytes), ...ends, bytes: bytes.length };
      fresh.set(id, one);
      looked.set(id, one);
    });
    return ids.flatMap((id) => fresh.get(id) ?? looked.get(id) ?? []);
  };

  /** Whether the text is in the bytes that these slices make up one after the other. */
  const inPieces = async (ids: readonly string[]): Promise<boolean> => {
    let carried: Buffer = Buffer.alloc(0);
    for (let from = 0; from < ids.length; from += AT_ONCE) {
      for (const { found, head, tail, bytes } of await look(ids.slice(from, from + AT_ONCE))) {
        if (found || isIn(Buffer.concat([carried, head]))) return true;
        carried = bytes >= longest - 1 ? tail : tailOf(Buffer.concat([carried, tail]), longest - 1);
      }
    }
    return false;
  };

  const inDecoded = async (ids: readonly string[], coding: string): Promise<boolean> => {
    const body = Buffer.concat(await read(ids));
    if (isIn(body)) return true;
    try {
      return isIn(Buffer.from(decodeBodySync(body, coding, maxDecodedBytes).bytes));
    } catch {
      return false; // nobody can read it either
    }
  };

  const headersOf = async (id: string | null, values: readonly string[]): Promise<HeaderList> => {
    if (id === null) return [];
    const [template] = await read([id]);
    return template ? headersFrom(template, [...values]) : [];
  };

  return async (parts) => {
    const sides: SearchedSide[] = [];
    const search = async (side: SearchedSide, work: () => Promise<boolean>) => {
      if (await work().catch(missing)) sides.push(side);
    };
    const headers = {
      request: await headersOf(parts.request_header_template, parts.request_header_values).catch(noHeaders),
      response: await headersOf(parts.response_header_template, parts.response_header_values).catch(noHeaders),
    };
    const inBody = async (ids: readonly string[], coding: string | null) =>
      coding === null || ids.length === 0 ? inPieces(ids) : inDecoded(ids, coding);
    await search('request', async () => {
      const recipe = { roots: idsIn(parts.request_pages), depth: parts.request_page_depth };
      return inBody(await readRecipe(recipe, slices), contentCoding(headers.request));
    });
    await search('response', () =>
      inBody(parts.response_slice === null ? [] : [parts.response_slice], contentCoding(headers.response)),
    );
    for (const side of ['request', 'response'] as const)
      await search(`${side}_headers`, async () => isIn(Buffer.from(headers[side].flat().join('\n'))));
    return sides;
  };
}

const tailOf = (bytes: Buffer, length: number): Buffer => bytes.subarray(Math.max(0, bytes.length - length));

function missing(error: unknown): false {
  if (error instanceof BadSlice) return false;
  throw error;
}

function noHeaders(error: unknown): HeaderList {
  missing(error);
  return [];
}
