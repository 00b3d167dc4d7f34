/** The pieces of stored requests, each read once as long as there is room: a conversation sends the same ones again with each call. */
import { LRUCache } from 'lru-cache';
import { decodeBodySync, Undecodable } from '../../capture/content-encoding.ts';
import { headersFrom } from '../../capture/header-template.ts';
import { idsIn, readRecipe } from '../../capture/recipe.ts';
import { sliceId, unpackSlice } from '../../capture/slice-codec.ts';
import { sliceBody } from '../../capture/slices.ts';
import type { Database } from '../../db/database.ts';
import type { TurnParts } from '../../db/read/turn-chain-bytes.ts';
import { lruCache } from '../../lru-cache.ts';
import { contentCoding, type HeaderList } from '../../model/headers.ts';
import { openPiece, type ReadPiece } from '../../prompt/request-prompt.ts';
import { whenUnused } from '../when-unused.ts';

type Execute = Database['execute'];

const CACHE_BYTES = 64 * 1024 * 1024;
/** What is prepared beyond that would take the place of what is needed sooner. */
const PREPARED_BYTES = CACHE_BYTES / 2;
/** What is read of a piece: mostly one block, of which the texts stay in the bytes. (Measured: 2.7 kB of heap for a short message.) */
const READ_BYTES = 2_700;
/** A reader who goes on to the next call within this time finds its pieces; a pass over all sessions leaves them behind for nobody. */
const UNUSED_MS = 30_000;
const PAGES = 4_096;
const QUERY = { ids: 512, bytes: 4 * 1024 * 1024 };

export type StoredPieces = {
  /** Reads what these turns need beyond what is cached, in few queries, as far as there is room for it. */
  prepare(turns: readonly TurnParts[]): Promise<void>;
  /** The pieces of a request's body without its content coding, in order; null: some of it is missing, or cannot be decoded. */
  requestOf(turn: TurnParts): Promise<{ pieces: ReadPiece[]; headers: HeaderList } | null>;
  /** An answer as it is stored; null: there is none. */
  answerOf(turn: TurnParts): Promise<{ bytes: Uint8Array; slice_id: string; headers: HeaderList } | null>;
};

const opened = new WeakMap<Execute, StoredPieces>();

/** One cache per database. */
export function storedPieces(execute: Execute): StoredPieces {
  const pieces = opened.get(execute) ?? openStoredPieces(execute);
  opened.set(execute, pieces);
  return pieces;
}

class Missing extends Error {}

function openStoredPieces(execute: Execute): StoredPieces {
  const cache = new LRUCache<string, ReadPiece>({
    maxSize: CACHE_BYTES,
    sizeCalculation: ({ bytes }) => bytes.byteLength + READ_BYTES,
  });
  const listed = lruCache<string, string[]>(PAGES); // the ids in a page, or in a body under a coding
  const used = whenUnused(UNUSED_MS, () => {
    cache.clear();
    listed.clear();
  });

  /** Stored slices by their ids, up to about so many bytes. What does not fit into the cache is returned all the same. */
  const read = async (
    ids: readonly string[],
    mostBytes = Number.POSITIVE_INFINITY,
  ): Promise<Map<string, ReadPiece>> => {
    used();
    let bytes = 0;
    const found = new Map<string, ReadPiece>();
    const missing: string[] = [];
    for (const id of new Set(ids)) {
      const piece = cache.get(id);
      if (piece) found.set(id, piece);
      else missing.push(id);
    }
    for (let from = 0; from < missing.length && bytes < mostBytes; ) {
      const wanted = missing.slice(from, from + QUERY.ids);
      const { covered, slices } = await execute('slicesUpTo', { ids: wanted, max_bytes: QUERY.bytes });
      for (const slice of slices) {
        const piece = openPiece(slice.slice_id, unpackSlice(slice));
        found.set(slice.slice_id, piece);
        cache.set(slice.slice_id, piece);
        bytes += piece.bytes.byteLength;
      }
      from += covered;
    }
    return found;
  };

  /** @throws {Missing} */
  const all = async (ids: readonly string[]): Promise<ReadPiece[]> => {
    used();
    const found = ids.map((id) => cache.get(id));
    if (found.every((piece) => piece !== undefined)) return found;
    const stored = await read(ids);
    return ids.map((id) => {
      const piece = stored.get(id);
      if (!piece) throw new Missing();
      return piece;
    });
  };

  /** The ids of a request's pieces. @throws {Missing} */
  const idsOf = async ({ request_pages, request_page_depth: depth }: TurnParts): Promise<string[]> => {
    let ids = idsIn(request_pages);
    for (let level = depth; level > 0; level--) {
      const unknown = ids.filter((id) => !listed.has(id));
      const pages = await all(unknown);
      unknown.forEach((id, i) => {
        listed.set(id, idsIn(pages[i]?.bytes ?? new Uint8Array()));
      });
      const next = ids.map((id) => listed.get(id));
      ids = next.every((list) => list !== undefined)
        ? next.flat()
        : await readRecipe({ roots: ids, depth: 1 }, async (roots) => (await all(roots)).map(({ bytes }) => bytes));
    }
    return ids;
  };

  const headersOf = async (template: string | null, values: string[]): Promise<HeaderList> => {
    const [piece] = template === null ? [] : await all([template]);
    return piece ? headersFrom(piece.bytes, values) : [];
  };

  /** A body under a coding is one slice; its pieces are cut again. */
  const decoded = (whole: ReadPiece, coding: string): ReadPiece[] => {
    const key = `${coding} ${whole.id}`;
    const known = listed.get(key)?.map((id) => cache.get(id));
    if (known?.every((piece) => piece !== undefined)) return known;
    const body = decodeBodySync(whole.bytes, coding).bytes;
    const pieces = sliceBody(body).map(({ start, end }) => {
      const bytes = body.subarray(start, end);
      const id = sliceId(bytes);
      const piece = cache.get(id) ?? openPiece(id, Uint8Array.from(bytes)); // not a window into the whole body
      cache.set(id, piece);
      return piece;
    });
    listed.set(
      key,
      pieces.map(({ id }) => id),
    );
    return pieces;
  };

  return {
    async prepare(turns) {
      const ids = await Promise.all(turns.map((turn) => idsOf(turn).catch(noneMissing)));
      const templates = turns.flatMap(({ request_header_template: id }) => id ?? []);
      await read([...ids.flat(), ...templates], PREPARED_BYTES);
    },
    async requestOf(turn) {
      try {
        const headers = await headersOf(turn.request_header_template, turn.request_header_values);
        const pieces = await all(await idsOf(turn));
        const coding = contentCoding(headers);
        const [whole] = pieces;
        return { headers, pieces: coding !== null && whole && pieces.length === 1 ? decoded(whole, coding) : pieces };
      } catch (error) {
        if (error instanceof Missing || error instanceof Undecodable) return null;
        throw error;
      }
    },
    async answerOf(turn) {
      const { response_slice: slice_id } = turn;
      if (slice_id === null) return null;
      try {
        const headers = await headersOf(turn.response_header_template, turn.response_header_values);
        const [piece] = await all([slice_id]);
        return piece ? { bytes: piece.bytes, slice_id, headers } : null;
      } catch (error) {
        if (error instanceof Missing) return null;
        throw error;
      }
    },
  };
}

function noneMissing(error: unknown): string[] {
  if (error instanceof Missing) return [];
  throw error;
}
