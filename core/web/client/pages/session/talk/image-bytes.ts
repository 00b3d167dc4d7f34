/** The bytes of a recorded image: which kind they are by how they begin, and how large it is, before anything decodes them. */

export type ImageFacts = {
  type: 'image/png' | 'image/jpeg' | 'image/gif' | 'image/webp';
  width: number;
  height: number;
};

const MOST_BYTES = 32 * 1024 * 1024;
const MOST_PIXELS = 64_000_000;

/** Why an image is not shown. */
export type ImageRefusal = 'no image that is shown' | 'too many bytes' | 'too many pixels' | 'damaged';

export function imageFacts(bytes: Uint8Array): ImageFacts | ImageRefusal {
  if (bytes.length > MOST_BYTES) return 'too many bytes';
  const facts = factsOf(bytes, new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  if (facts === null) return 'no image that is shown';
  if (!(facts.width > 0 && facts.height > 0)) return 'damaged';
  return facts.width * facts.height > MOST_PIXELS ? 'too many pixels' : facts;
}

/** The bytes of a base64 text; null: it is none. */
export function base64Bytes(text: string): Uint8Array<ArrayBuffer> | null {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

function factsOf(bytes: Uint8Array, view: DataView): ImageFacts | null {
  const begins = (...start: number[]) => start.every((byte, i) => bytes[i] === byte);
  const word = (at: number, text: string) =>
    [...text].every((character, i) => bytes[at + i] === character.charCodeAt(0));
  if (begins(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a) && bytes.length >= 24)
    return { type: 'image/png', width: view.getUint32(16), height: view.getUint32(20) };
  if ((word(0, 'GIF87a') || word(0, 'GIF89a')) && bytes.length >= 10)
    return { type: 'image/gif', width: view.getUint16(6, true), height: view.getUint16(8, true) };
  if (begins(0xff, 0xd8, 0xff)) return { type: 'image/jpeg', ...jpegSize(view) };
  if (word(0, 'RIFF') && word(8, 'WEBP') && bytes.length >= 30) return { type: 'image/webp', ...webpSize(view, word) };
  return null;
}

/** The size stands in the first frame header; the segments before it are passed over by their lengths. */
function jpegSize(view: DataView): { width: number; height: number } {
  for (let at = 2; at + 9 < view.byteLength && view.getUint8(at) === 0xff; at += 2 + view.getUint16(at + 2)) {
    const marker = view.getUint8(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame) return { height: view.getUint16(at + 5), width: view.getUint16(at + 7) };
  }
  return { width: 0, height: 0 };
}

function webpSize(view: DataView, word: (at: number, text: string) => boolean): { width: number; height: number } {
  const uint24 = (at: number) => view.getUint16(at, true) + view.getUint8(at + 2) * 65_536;
  if (word(12, 'VP8X')) return { width: uint24(24) + 1, height: uint24(27) + 1 };
  if (word(12, 'VP8L')) {
    const bits = view.getUint32(21, true);
    return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
  }
  return { width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff };
}
