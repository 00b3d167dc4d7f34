/** The stored form of a slice: under the SHA-256 of its bytes, compressed where that helps. */
import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { type BrotliOptions, brotliCompress, brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';

/** A slice as `svc.slices` holds it. `codec` 0: uncompressed; 1: brotli. */
export type PackedSlice = { slice_id: string; codec: 0 | 1; size_bytes: number; bytes: Uint8Array };

const TOO_SHORT = 64; // bytes; compressed they are hardly ever smaller

/**
 * Lower-case hex.
 * @example
 * sliceId(new Uint8Array()).slice(0, 8); // => 'e3b0c442'
 */
export const sliceId = (bytes: Uint8Array): string => hash('sha256', bytes, 'hex');

/** `bytes` have memory of their own, so that they cross to another thread without the buffer that they were cut from. */
export const packedSlice = (slice_id: string, bytes: Uint8Array): PackedSlice =>
  owned(slice_id, bytes, packSlice(bytes));

/**
 * How much time compressing may take. `fast`: a fifth of the time for a sixth more bytes, where very much comes at once and its sender waits.
 * (`npm run bench -- intake:transcripts`)
 */
export type Effort = 'usual' | 'fast';
const QUALITY: Record<Effort, number> = { usual: 5, fast: 1 };

/** From so many bytes on, to compress takes longer than to hand over to another thread. */
const LONG = 16_384;
const compressElsewhere = promisify<Uint8Array, BrotliOptions, Buffer>(brotliCompress);

/** The same; a long slice is compressed on another thread, while this one goes on. The bytes may not change meanwhile. */
export async function packedElsewhere(
  slice_id: string,
  bytes: Uint8Array,
  effort: Effort = 'usual',
): Promise<PackedSlice> {
  if (bytes.byteLength < LONG || isCompressed(bytes)) return owned(slice_id, bytes, packSlice(bytes, effort));
  return owned(slice_id, bytes, smaller(bytes, await compressElsewhere(bytes, optionsFor(bytes, effort))));
}

export function packSlice(bytes: Uint8Array, effort: Effort = 'usual'): Packed {
  if (bytes.byteLength < TOO_SHORT || isCompressed(bytes)) return { codec: 0, bytes };
  return smaller(bytes, brotliCompressSync(bytes, optionsFor(bytes, effort)));
}

type Packed = Pick<PackedSlice, 'codec' | 'bytes'>;

/**
 * The smallest window (RFC 7932, section 9.1) with which brotli looks back over all of a slice of up to 65,520 bytes. Under a larger one
 * it takes memory by the megabyte for each slice, however short, which under `ALLOCATOR` (service-flags.ts) costs more than compressing.
 */
const SHORT_WINDOW = { bits: 16, bytes: 65_520 };

const optionsFor = ({ byteLength }: Uint8Array, effort: Effort): BrotliOptions => ({
  params: {
    [constants.BROTLI_PARAM_QUALITY]: QUALITY[effort],
    [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
    [constants.BROTLI_PARAM_SIZE_HINT]: byteLength,
    [constants.BROTLI_PARAM_LGWIN]:
      byteLength <= SHORT_WINDOW.bytes ? SHORT_WINDOW.bits : constants.BROTLI_DEFAULT_WINDOW,
  },
});

const smaller = (bytes: Uint8Array, compressed: Uint8Array): Packed =>
  compressed.byteLength < bytes.byteLength ? { codec: 1, bytes: compressed } : { codec: 0, bytes };

const owned = (slice_id: string, { byteLength }: Uint8Array, { codec, bytes }: Packed): PackedSlice => ({
  ...{ slice_id, size_bytes: byteLength, codec },
  bytes: new Uint8Array(bytes),
});

/**
 * A slice's bytes, in memory of their own: zlib cuts a short result from a buffer of 16 KB, and a database's client from one of 8, which
 * stays as long as the slice is cached.
 */
export const unpackSlice = ({ codec, bytes }: Pick<PackedSlice, 'codec' | 'bytes'>): Uint8Array => {
  const unpacked = codec === 1 ? brotliDecompressSync(bytes) : bytes;
  return unpacked.byteLength === unpacked.buffer.byteLength ? unpacked : new Uint8Array(unpacked);
};

/** gzip or zstd by their first bytes: responses often come so. */
const isCompressed = (bytes: Uint8Array) =>
  (bytes[0] === 0x1f && bytes[1] === 0x8b) ||
  (bytes[0] === 0x28 && bytes[1] === 0xb5 && bytes[2] === 0x2f && bytes[3] === 0xfd);
