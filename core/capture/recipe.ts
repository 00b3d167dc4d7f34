/** Recipes: a body's pieces by their ids in order, in pages that are slices themselves, to put the body together again. */
import { sliceId } from './slice-codec.ts';
import type { Section } from './slices.ts';

/**
 * `roots` are up to 64 ids. With `depth` 0 they are the pieces themselves, with 1 pages that list pieces, with 2 pages of pages,
 * and so on. A page is up to 64 ids of 32 bytes in a row.
 */
export type Recipe = { roots: string[]; depth: number };
export type RecipePage = { slice_id: string; bytes: Uint8Array };

const PAGE = 64;
/** The tail of a growing section has smaller pages, so that one more message rewrites a page of 8 ids and not one of 64. */
const LEAF = 8;
/** Up to so many pieces need no pages. */
const INLINE = 16;
const ID_BYTES = 32;

/** A page ends where the section changes: an unchanged list of tools stays the same page, whatever comes before it. */
export function makeRecipe(
  pieces: readonly { section: Section | null; slice_id: string }[],
): Recipe & { pages: RecipePage[] } {
  const ids = pieces.map((piece) => piece.slice_id);
  if (ids.length <= INLINE) return { pages: [], roots: ids, depth: 0 };
  const pages: RecipePage[] = [];
  const pageOf = (listed: readonly string[]): string => {
    const bytes = Buffer.from(listed.join(''), 'hex');
    const slice_id = sliceId(bytes);
    pages.push({ slice_id, bytes });
    return slice_id;
  };
  let roots = runs(pieces).flatMap((run) => parts(run).map(pageOf));
  let depth = 1;
  for (; roots.length > PAGE; depth++) roots = parts(roots).map(pageOf);
  return { pages, roots, depth };
}

/** The ids of the pieces in order. `pagesOf` returns the bytes of slices, in the order of their ids. */
export async function readRecipe(
  { roots, depth }: Recipe,
  pagesOf: (ids: readonly string[]) => Promise<readonly Uint8Array[]>,
): Promise<string[]> {
  let ids = [...roots];
  for (let level = depth; level > 0; level--) {
    const pages = await pagesOf(ids);
    ids = pages.flatMap(idsIn);
  }
  return ids;
}

/** The ids in a page, or in a column that holds them in a row. */
export function idsIn(page: Uint8Array): string[] {
  const hex = Buffer.from(page.buffer, page.byteOffset, page.byteLength).toString('hex');
  return Array.from({ length: page.byteLength / ID_BYTES }, (_, i) => hex.slice(i * 64, i * 64 + 64));
}

function runs(pieces: readonly { section: Section | null; slice_id: string }[]): string[][] {
  const out: string[][] = [];
  let before: Section | null | undefined;
  for (const { section, slice_id } of pieces) {
    if (section === before) out.at(-1)?.push(slice_id);
    else out.push([slice_id]);
    before = section;
  }
  return out;
}

/** Full pages first, then pages of 8, then the rest. */
function parts(ids: readonly string[]): string[][] {
  const out: string[][] = [];
  let at = 0;
  for (const size of [PAGE, LEAF]) {
    for (; ids.length - at >= size; at += size) out.push(ids.slice(at, at + size));
  }
  if (at < ids.length) out.push(ids.slice(at));
  return out;
}
