/** zstd on a Node that cannot compress it: frames of raw blocks, which are valid zstd that saves nothing. */

/** One frame without checksum and content size, its window 8 MiB by default (a window descriptor, RFC 8878 section 3.1.1.1.2). */
export function zstdStored(plaintext: Uint8Array, { blockBytes = 131_072, window = 0x68 } = {}): Buffer {
  const pieces: Buffer[] = [Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0, window])];
  let at = 0;
  do {
    const block = plaintext.subarray(at, at + blockBytes);
    at += block.length;
    pieces.push(blockHeader(block.length, 0, at >= plaintext.length), Buffer.from(block));
  } while (at < plaintext.length);
  return Buffer.concat(pieces);
}

/** A block's header: 24 bits, little endian: size, type (0 raw, 1 one byte repeated, 2 compressed), whether it is the last. */
export function blockHeader(size: number, type: 0 | 1 | 2 | 3, isLast: boolean): Buffer {
  const header = Buffer.alloc(3);
  header.writeUIntLE((size << 3) | (type << 1) | (isLast ? 1 : 0), 0, 3);
  return header;
}
