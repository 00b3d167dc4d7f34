/**
 * Decodes zstd. `fzstd` decodes the blocks; the frames are walked here, because `fzstd` has no bounds of its own: it allocates
 * what a header declares, moves its whole window for each block, recurses for each frame, ignores dictionaries and discards what it
 * had when a stream ends early. Checksums are not verified. (RFC 8878.) Node's own decoder, two to ten times as fast, comes
 * with 22.15 and refuses a wrong checksum: what a call holds must not depend on the version of Node that reads it.
 */
import { Decompress } from 'fzstd';

/** The largest window that is allocated, whatever comes out in the end. */
const maxWindowBytes = 50_331_648;

/** The largest block that the format allows. */
const maxBlockBytes = 131_072;

/** Bytes that fzstd may move within its windows for one body: some seconds, and more than 48 MiB in whole blocks need. */
const maxMovedBytes = 2 ** 35;

const frameMagic = 0xfd2fb528;

/** A frame as its headers describe it. `end` is where it ends, or where its last whole block ends when it is torn. */
type Frame = {
  start: number;
  end: number;
  torn: boolean;
  windowByteAt: number | null; // of the window descriptor; null for a single segment
  windowBytes: number;
  contentBytes: number | null; // as declared
  lastBlockAt: number | null;
  blocks: number;
  maxBytes: number; // what its blocks can produce at most
  blocksEnd: number;
};

/**
 * The bytes under one or more frames; skippable frames produce none. A torn body yields what its whole blocks hold, `salvaged`.
 * @throws {RangeError} with code ERR_BUFFER_TOO_LARGE past the cap; any other error when the bytes are not zstd
 */
export function inflateZstd(bytes: Uint8Array, capBytes: number): { bytes: Uint8Array; salvaged: boolean } {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const pieces: Uint8Array[] = [];
  let total = 0;
  let movedBytes = 0;
  let at = 0;
  while (at < bytes.length) {
    const skipped = endOfSkippable(view, at);
    if (skipped !== null) {
      if (skipped > bytes.length) return { bytes: Buffer.concat(pieces, total), salvaged: true };
      at = skipped;
      continue;
    }
    const frame = readFrame(view, at);
    if (frame === null) return { bytes: Buffer.concat(pieces, total), salvaged: true };
    if (frame.contentBytes !== null && total + frame.contentBytes > capBytes) throw oversize(capBytes);
    const window = smallestWindow(frame);
    movedBytes += window.bytes * (frame.blocks + 1);
    if (movedBytes > maxMovedBytes) throw broken('it is cut into too many blocks');
    const before = total;
    inflateFrame(bytes, frame, window.descriptor, (piece) => {
      total += piece.length;
      if (total > capBytes) throw oversize(capBytes);
      pieces.push(piece);
    });
    if (frame.torn) return { bytes: Buffer.concat(pieces, total), salvaged: true };
    if (frame.contentBytes !== null && total - before !== frame.contentBytes)
      throw broken('its length is not as declared');
    at = frame.end;
  }
  return { bytes: Buffer.concat(pieces, total), salvaged: false };
}

const broken = (reason: string) => new Error(`Cannot decode zstd: ${reason}`);

/** The same error as node:zlib's. */
const oversize = (capBytes: number) =>
  Object.assign(new RangeError(`Cannot decode zstd: more than ${capBytes} bytes`), { code: 'ERR_BUFFER_TOO_LARGE' });

/** Null when no skippable frame begins here. Torn ones end beyond the bytes. */
function endOfSkippable(view: DataView, at: number): number | null {
  if (view.byteLength < at + 4 || (view.getUint32(at, true) & 0xfffffff0) >>> 0 !== 0x184d2a50) return null;
  return view.byteLength < at + 8 ? at + 8 : at + 8 + view.getUint32(at + 4, true);
}

/** Null when the bytes end within the header. @throws {Undecodable} when no frame that we can decode begins here */
function readFrame(view: DataView, start: number): Frame | null {
  const left = view.byteLength - start;
  for (let i = 0; i < Math.min(4, left); i++) {
    if (view.getUint8(start + i) !== ((frameMagic >>> (8 * i)) & 255))
      throw broken('a frame does not begin as it must');
  }
  if (left < 5) return null;
  const descriptor = view.getUint8(start + 4);
  if (descriptor & 8) throw broken('a reserved bit is set');
  const singleSegment = (descriptor & 32) !== 0;
  const dictionaryBytes = [0, 1, 2, 4][descriptor & 3] ?? 0;
  const contentSizeBytes = [singleSegment ? 1 : 0, 2, 4, 8][descriptor >> 6] ?? 0;
  const dictionaryAt = start + (singleSegment ? 5 : 6);
  const blocksAt = dictionaryAt + dictionaryBytes + contentSizeBytes;
  // the window is checked as soon as its descriptor is there, however little follows
  const windowBytes = singleSegment ? 0 : left < 6 ? null : windowOf(view.getUint8(start + 5));
  if (windowBytes === null) return null;
  if (windowBytes > maxWindowBytes) throw broken(`its window is larger than ${maxWindowBytes} bytes`);
  if (view.byteLength < blocksAt) return null;
  if (littleEndian(view, dictionaryAt, dictionaryBytes) !== 0) throw broken('it needs a dictionary');
  const contentBytes =
    contentSizeBytes === 0
      ? null
      : littleEndian(view, dictionaryAt + dictionaryBytes, contentSizeBytes) + (contentSizeBytes === 2 ? 256 : 0);
  const window = singleSegment ? (contentBytes ?? 0) : windowBytes;
  const checksumBytes = descriptor & 4 ? 4 : 0;
  return {
    start,
    windowByteAt: singleSegment ? null : 5,
    windowBytes: window,
    contentBytes,
    ...walkBlocks(view, blocksAt, checksumBytes, Math.min(window, maxBlockBytes)),
  };
}

function walkBlocks(view: DataView, blocksAt: number, checksumBytes: number, largestBlock: number) {
  let at = blocksAt;
  let lastBlockAt: number | null = null;
  let blocks = 0;
  let maxBytes = 0;
  const blocksUpTo = (end: number, torn: boolean) => ({ end, torn, lastBlockAt, blocks, maxBytes, blocksEnd: at });
  for (;;) {
    if (view.byteLength < at + 3) return blocksUpTo(at, true);
    const header = littleEndian(view, at, 3);
    const type = (header >> 1) & 3;
    const size = header >> 3;
    if (type === 3) throw broken('a block has a reserved type');
    if (size > largestBlock) throw broken('a block is larger than its window');
    const end = at + 3 + (type === 1 ? 1 : size);
    if (view.byteLength < end) return blocksUpTo(at, true);
    lastBlockAt = at;
    blocks++;
    maxBytes += type === 2 ? largestBlock : size;
    at = end;
    if (header & 1)
      return blocksUpTo(Math.min(at + checksumBytes, view.byteLength), view.byteLength < at + checksumBytes);
  }
}

const littleEndian = (view: DataView, at: number, length: number): number => {
  let value = 0;
  for (let i = length - 1; i >= 0; i--) value = value * 256 + view.getUint8(at + i);
  return value;
};

const windowOf = (descriptor: number) => 2 ** (10 + (descriptor >> 3)) * (1 + (descriptor & 7) / 8);

/** A window need not be larger than the frame's content, and fzstd moves all of it for each block. */
function smallestWindow({ windowByteAt, windowBytes, maxBytes }: Frame): { bytes: number; descriptor: number | null } {
  const needed = Math.max(maxBytes, maxBlockBytes);
  if (windowByteAt === null || needed >= windowBytes) return { bytes: windowBytes, descriptor: null };
  const log = Math.max(10, Math.ceil(Math.log2(needed)));
  return 2 ** log < windowBytes
    ? { bytes: 2 ** log, descriptor: (log - 10) << 3 }
    : { bytes: windowBytes, descriptor: null };
}

/** Passes fzstd a frame that ends with its last whole block, without a checksum to wait for. */
function inflateFrame(
  bytes: Uint8Array,
  { start, blocksEnd, lastBlockAt, windowByteAt }: Frame,
  windowDescriptor: number | null,
  emit: (piece: Uint8Array) => void,
): void {
  if (lastBlockAt === null) return;
  const copy = new Uint8Array(bytes.subarray(start, blocksEnd)); // a Buffer's own slice would share its bytes
  copy[4] = (copy[4] ?? 0) & ~4;
  if (windowByteAt !== null && windowDescriptor !== null) copy[windowByteAt] = windowDescriptor;
  copy[lastBlockAt - start] = (copy[lastBlockAt - start] ?? 0) | 1;
  new Decompress(emit).push(copy, true);
}
