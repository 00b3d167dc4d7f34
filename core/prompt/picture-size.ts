/** The size of a picture in pixels, from the head of its data: PNG, GIF, JPEG and WebP, which are the formats that providers take. */
import type { PictureSize } from '../provider/prompt-shape.ts';

const HEAD = 262_144; // characters of base64: a JPEG may hold a preview and profiles before its size

/** null: it is in none of these formats, or cut off before the size. */
export function pictureSize(base64: string): PictureSize | null {
  const head = Buffer.from(base64.length > HEAD ? base64.slice(0, HEAD) : base64, 'base64');
  const size = png(head) ?? gif(head) ?? webp(head) ?? jpeg(head);
  return size && size.width > 0 && size.height > 0 ? size : null;
}

const starts = (bytes: Buffer, text: string, at = 0): boolean =>
  bytes.length >= at + text.length && bytes.toString('latin1', at, at + text.length) === text;

const png = (bytes: Buffer): PictureSize | null =>
  starts(bytes, '\x89PNG') && bytes.length >= 24
    ? { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
    : null;

const gif = (bytes: Buffer): PictureSize | null =>
  starts(bytes, 'GIF8') && bytes.length >= 10 ? { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) } : null;

/** Its three forms: lossy, lossless, and extended. */
function webp(bytes: Buffer): PictureSize | null {
  if (!starts(bytes, 'RIFF') || !starts(bytes, 'WEBP', 8) || bytes.length < 30) return null;
  if (starts(bytes, 'VP8 ', 12))
    return { width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff };
  if (starts(bytes, 'VP8L', 12)) {
    const bits = bytes.readUInt32LE(21);
    return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
  }
  return starts(bytes, 'VP8X', 12) ? { width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 } : null;
}

/** In the segment that begins a frame (SOF), which may come behind any number of others. */
function jpeg(bytes: Buffer): PictureSize | null {
  if (bytes[0] !== 0xff || bytes[1] !== 0xd8) return null;
  for (let at = 2; at + 9 <= bytes.length; ) {
    const marker = bytes[at + 1] ?? 0;
    if (bytes[at] !== 0xff) return null;
    if (marker === 0xff)
      at++; // fill
    else if (FRAMES.test(marker.toString(16)))
      return { height: bytes.readUInt16BE(at + 5), width: bytes.readUInt16BE(at + 7) };
    else at += 2 + bytes.readUInt16BE(at + 2);
  }
  return null;
}

const FRAMES = /^c(?:[0-3]|[5-7]|[9ab]|[d-f])$/;
