/** The bytes of a raw turn, put together from slices that were each checked. */
import { headersFrom } from '../../capture/header-template.ts';
import { idsIn, readRecipe } from '../../capture/recipe.ts';
import type { RawTurnBytes } from '../../db/read/raw-turn-bytes.ts';
import type { TurnParts } from '../../db/read/turn-chain-bytes.ts';
import { BadSlice, type CheckedSlices } from './checked-slices.ts';

/** @throws {BadSlice} */
export async function checkedTurnBytes(parts: TurnParts, slices: CheckedSlices): Promise<RawTurnBytes> {
  const recipe = { roots: idsIn(parts.request_pages), depth: parts.request_page_depth };
  const pieces = await slices(await readRecipe(recipe, slices));
  const sliceBytes = async (id: string | null) => (id === null ? null : ((await slices([id]))[0] ?? null));
  return {
    request: joined(pieces),
    response: await sliceBytes(parts.response_slice),
    request_headers: headersIn(await sliceBytes(parts.request_header_template), parts, 'request') ?? [],
    response_headers: headersIn(await sliceBytes(parts.response_header_template), parts, 'response'),
  };
}

function headersIn(template: Uint8Array | null, parts: TurnParts, of: 'request' | 'response') {
  if (!template) return null;
  try {
    return headersFrom(template, parts[`${of}_header_values`]);
  } catch {
    throw new BadSlice(parts[`${of}_header_template`] ?? '', 'is no list of headers');
  }
}

const joined = (pieces: readonly Uint8Array[]): Uint8Array => {
  const [only] = pieces;
  return pieces.length === 1 && only ? only : new Uint8Array(Buffer.concat(pieces));
};
