/** The stored form of a slice: under the SHA-256 of its bytes, compressed where that helps. */
import { createHash } from 'node:crypto';
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';

/** A slice as `svc.slices` holds it. `codec` 0: uncompressed; 1: brotli. */
export type PackedSlice = { slice_id: string; codec: 0 | 1; size_bytes: number; bytes: Uint8Array };

const TOO_SHORT = 64; // bytes; compressed they are hardly ever smaller

/**
 * Lower-case hex.
 * @example
 * sliceId(new Uint8Array()).slice(0, 8); // => 'e3b0c442'
 */
export const sliceId = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** `bytes` have memory of their own, so that they cross to another thread without the buffer that they were cut from. */
export const packedSlice = (slice_id: string, bytes: Uint8Array): PackedSlice => {
  const packed = packSlice(bytes);
  return { slice_id, size_bytes: bytes.byteLength, codec: packed.codec, bytes: new Uint8Array(packed.bytes) };
};

export function packSlice(bytes: Uint8Array): Pick<PackedSlice, 'codec' | 'bytes'> {
  if (bytes.byteLength < TOO_SHORT || isCompressed(bytes)) return { codec: 0, bytes };
  const compressed = brotliCompressSync(bytes, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: 5,
      [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT,
      [constants.BROTLI_PARAM_SIZE_HINT]: bytes.byteLength,
    },
  });
  return compressed.byteLength < bytes.byteLength ? { codec: 1, bytes: compressed } : { codec: 0, bytes };
}

export const unpackSlice = ({ codec, bytes }: Pick<PackedSlice, 'codec' | 'bytes'>): Uint8Array =>
  codec === 1 ? brotliDecompressSync(bytes) : bytes;

/** gzip or zstd by their first bytes: responses often come so. */
const isCompressed = (bytes: Uint8Array) =>
  (bytes[0] === 0x1f && bytes[1] === 0x8b) ||
  (bytes[0] === 0x28 && bytes[1] === 0xb5 && bytes[2] === 0x2f && bytes[3] === 0xfd);
