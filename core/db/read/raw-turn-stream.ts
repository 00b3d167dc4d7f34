/** A raw turn whose request is known to be text: its bytes come as they are read, so that a reader need not wait for the last of them. */
import {
  besideRequest,
  joined,
  piecesOf,
  type RawTurnBytes,
  type ReadSlices,
  singleSlicesOf,
} from './raw-turn-bytes.ts';
import type { TurnParts } from './turn-chain-bytes.ts';

/** `request` can be read once. It throws where a slice is missing. */
export type RawTurnStream = Omit<RawTurnBytes, 'request'> & { request: AsyncIterable<Uint8Array> };

/** Few pieces at first, so that a reader sees something soon, then more at a time, since each query costs a round trip. */
const FIRST_PIECES = 64;
const MOST_PIECES = 1_024;

/** Reads all but the rest of the request. @throws {Error} when a slice of that is missing */
export async function rawTurnStream(parts: TurnParts, slices: ReadSlices): Promise<RawTurnStream> {
  const pieces = await piecesOf(parts, slices);
  const first = pieces.slice(0, FIRST_PIECES);
  const bytes = await slices([...first, ...singleSlicesOf(parts)]);
  return {
    request: inWindows(bytes.slice(0, first.length), pieces.slice(first.length), slices),
    ...besideRequest(parts, bytes.slice(first.length)),
  };
}

async function* inWindows(
  first: readonly Uint8Array[],
  rest: readonly string[],
  slices: ReadSlices,
): AsyncGenerator<Uint8Array, void> {
  yield joined(first);
  let size = FIRST_PIECES * 2;
  for (let at = 0; at < rest.length; at += size, size = Math.min(size * 2, MOST_PIECES))
    yield joined(await slices(rest.slice(at, at + size)));
}
