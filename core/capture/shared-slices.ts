/** Reuses the pieces of the body before: only what lies between the common beginning and the common end of both is scanned. */
import { bufferOf } from './json-scan.ts';
import { type Cut, cutOf, type Piece, type Section } from './slices.ts';

export type KnownCut = Cut & { body: Uint8Array };

/** `same[i]` is the index in `previous` of a piece with the bytes of piece i; -1 when it has to be hashed. */
export type SharedCut = Cut & { same: number[] };

/** Cuts exactly as `sliceBody` does, in the time that it takes to compare the two bodies and to scan what is new. */
export function cutAfter(body: Uint8Array, previous: KnownCut | null): SharedCut {
  const reusable = previous?.regular ? previous : null;
  const cut = reusable && resumed(body, reusable);
  if (cut) return cut;
  const fresh = cutOf(body);
  return { ...fresh, same: fresh.pieces.map(() => -1) };
}

function resumed(body: Uint8Array, previous: KnownCut): SharedCut | null {
  const prefix = commonPrefix(body, previous.body);
  const last = previous.pieces.findLastIndex(
    ({ section, end }) => section !== null && (end < prefix || (end === prefix && isClosed(body[end - 1]))),
  );
  if (last === -1) return null;
  const suffixStart = body.byteLength - commonSuffix(body, previous.body);
  const shift = body.byteLength - previous.body.byteLength;
  let rejoinedAt = -1; // index among this body's pieces
  let rejoinedFrom = -1; // index among the previous ones
  let repeated = false; // a key of the rest, which is still to come: no cut can be resumed, so nothing more is compared

  const rejoin = (section: Section, at: number, before: readonly Piece[]): Piece[] | null => {
    if (repeated || at < suffixStart) return null;
    const index = indexOfEnd(previous.pieces, at - shift);
    if (previous.pieces[index]?.section !== section) return null;
    const rest = previous.pieces.slice(index + 1);
    const cutBefore = new Set(before.map((piece) => piece.section));
    repeated = rest.some((piece) => piece.section && piece.section !== section && cutBefore.has(piece.section));
    if (repeated) return null;
    rejoinedAt = before.length;
    rejoinedFrom = index + 1;
    return rest.map(({ section, start, end }) => ({ section, start: start + shift, end: end + shift }));
  };

  const known = previous.pieces.slice(0, last + 1).map((piece) => ({ ...piece }));
  const cut = cutOf(body, known, rejoin);
  if (!cut.regular) return null;
  const same = cut.pieces.map((_, index) => {
    if (index <= last) return index;
    return rejoinedAt !== -1 && index >= rejoinedAt ? rejoinedFrom + index - rejoinedAt : -1;
  });
  return { ...cut, same };
}

/** After a bracket or a quote the element has ended; a number could continue. */
const isClosed = (byte: number | undefined) => byte === 0x7d || byte === 0x5d || byte === 0x22;

/** Index of the piece that ends at `end`, or -1. */
function indexOfEnd(pieces: readonly Piece[], end: number): number {
  let low = 0;
  let high = pieces.length - 1;
  while (low <= high) {
    const middle = (low + high) >>> 1;
    const found = pieces[middle]?.end ?? 0;
    if (found === end) return middle;
    if (found < end) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}

const BLOCK = 4096;

function commonPrefix(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.byteLength, b.byteLength);
  const [left, right] = [bufferOf(a), bufferOf(b)];
  let at = 0;
  while (at < length) {
    const end = Math.min(at + BLOCK, length);
    if (left.compare(right, at, end, at, end) !== 0) break;
    at = end;
  }
  while (at < length && left[at] === right[at]) at++;
  return at;
}

function commonSuffix(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.byteLength, b.byteLength);
  const [left, right] = [bufferOf(a), bufferOf(b)];
  let found = 0;
  while (found < length) {
    const next = Math.min(found + BLOCK, length);
    const [l, r] = [left.length - next, right.length - next];
    if (left.compare(right, r, right.length - found, l, left.length - found) !== 0) break;
    found = next;
  }
  while (found < length && left[left.length - found - 1] === right[right.length - found - 1]) found++;
  return found;
}
