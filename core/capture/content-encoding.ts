/** Decodes a body's content coding. Only the copy is decoded; the bytes that passed on the wire are stored as they came. */
import zlib from 'node:zlib';
import { inflateZstd } from './zstd.ts';

/** The most bytes that one coding may produce: 48 MiB. A body of exactly that size is accepted. */
export const maxDecodedBytes = 50_331_648;

/** More stacked codings than any client sends. */
const maxLayers = 8;

/** `salvaged`: the body ended early, and `bytes` is what it had delivered until then. */
export type DecodedBody = { bytes: Uint8Array; salvaged: boolean };

/**
 * A body whose coding cannot be decoded: `unsupported` (no such coding here), `oversize` (the decoded body exceeds the cap),
 * `undecodable` (not valid in its coding, or cut before any byte came out).
 */
export class Undecodable extends Error {
  override readonly name = 'Undecodable';
  readonly kind: 'unsupported' | 'oversize' | 'undecodable';
  constructor(kind: 'unsupported' | 'oversize' | 'undecodable', message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}

/**
 * Decodes `gzip`, `x-gzip`, `deflate` (with zlib's frame or raw), `br` and `zstd`, stacked codings from right to left. The cap
 * holds for each of them and is enforced while it inflates. Without a coding the bytes are returned as they are, whatever their size.
 * An empty body under a coding is `undecodable`, so callers decode only bodies that have bytes.
 * @throws {Undecodable}
 */
export function decodeBodySync(
  bytes: Uint8Array,
  contentEncoding: string | null,
  capBytes = maxDecodedBytes,
): DecodedBody {
  const header = contentEncoding ?? '';
  const codings = header
    .split(',')
    .map((token) => token.trim().toLowerCase())
    .filter((token) => token !== '' && token !== 'identity');
  const layers = codings.map((coding) => ({ coding, inflate: inflaterOf(coding, header) }));
  if (layers.length > maxLayers) {
    throw new Undecodable('unsupported', `Cannot decode a body: more than ${maxLayers} content codings are stacked`);
  }
  let body: DecodedBody = { bytes, salvaged: false };
  for (const { coding, inflate } of layers.reverse()) {
    const layer = decodedLayer(coding, inflate, body.bytes, capBytes);
    body = { bytes: layer.bytes, salvaged: body.salvaged || layer.salvaged };
  }
  return body;
}

type Inflater = (bytes: Uint8Array, capBytes: number) => DecodedBody;

function inflaterOf(coding: string, header: string): Inflater {
  switch (coding) {
    case 'gzip':
    case 'x-gzip':
      return inflated(zlib.gunzipSync, zlib.constants.Z_SYNC_FLUSH);
    case 'deflate':
      return (bytes, cap) => (hasZlibFrame(bytes) ? zlibOrRaw(bytes, cap) : raw(bytes, cap));
    case 'br':
      return inflated(zlib.brotliDecompressSync, zlib.constants.BROTLI_OPERATION_FLUSH);
    case 'zstd':
      return inflateZstd;
    default:
      throw new Undecodable(
        'unsupported',
        `Cannot decode a body: content coding '${coding}' of '${header}' is not supported`,
      );
  }
}

function decodedLayer(coding: string, inflate: Inflater, bytes: Uint8Array, capBytes: number): DecodedBody {
  if (bytes.length === 0) throw new Undecodable('undecodable', `Cannot decode a body: no bytes under '${coding}'`);
  let layer: DecodedBody;
  try {
    layer = inflate(bytes, capBytes);
  } catch (cause) {
    if (cause instanceof Undecodable) throw cause;
    if ((cause as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') {
      throw new Undecodable('oversize', `Cannot decode a body: more than ${capBytes} bytes under '${coding}'`, {
        cause,
      });
    }
    throw new Undecodable('undecodable', `Cannot decode a body: it is not valid '${coding}'`, { cause });
  }
  if (layer.salvaged && layer.bytes.length === 0) {
    throw new Undecodable('undecodable', `Cannot decode a body: '${coding}' ends before anything came out`);
  }
  return layer;
}

type ZlibSync = (
  bytes: Uint8Array,
  options: { maxOutputLength: number; chunkSize: number; finishFlush?: number },
) => Uint8Array;

/** Node inflates chunk by chunk and stops at `maxOutputLength`. A truncated body is inflated again, as far as it goes. */
const inflated =
  (inflate: ZlibSync, flushIfTruncated: number): Inflater =>
  (bytes, capBytes) => {
    const options = { maxOutputLength: capBytes, chunkSize: 65_536 };
    try {
      return { bytes: inflate(bytes, options), salvaged: false };
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'Z_BUF_ERROR') throw cause;
      return { bytes: inflate(bytes, { ...options, finishFlush: flushIfTruncated }), salvaged: true };
    }
  };

const framed = inflated(zlib.inflateSync, zlib.constants.Z_SYNC_FLUSH);
const raw = inflated(zlib.inflateRawSync, zlib.constants.Z_SYNC_FLUSH);

/** By chance, raw deflate may begin with the same bytes as a zlib frame. */
function zlibOrRaw(bytes: Uint8Array, capBytes: number): DecodedBody {
  try {
    return framed(bytes, capBytes);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'Z_DATA_ERROR') throw cause;
    return raw(bytes, capBytes);
  }
}

const hasZlibFrame = ([method = 0, flags = 0]: Uint8Array) => (method & 15) === 8 && ((method << 8) | flags) % 31 === 0;
