/** Reads a whole body whose length is only what the sender declares: bytes are counted as they come, before any of them is kept. */

/** A semaphore of bytes: it limits what may be held of bodies at once, over all requests. */
export type ByteSemaphore = {
  /** False when fewer bytes are available; then none were taken. */
  acquire(bytes: number): boolean;
  release(bytes: number): void;
};

export const openByteSemaphore = (bytes: number): ByteSemaphore => {
  let available = bytes;
  return {
    acquire: (requested) => {
      if (requested > available) return false;
      available -= requested;
      return true;
    },
    release: (returned) => {
      available += returned;
    },
  };
};

/**
 * `whole`: the bytes own their buffer, and take up their length of the room until the caller gives it back. The others take up nothing.
 * `oversize`: over the limit. `busy`: no room available. `cut`: the connection broke before the end of the body.
 */
export type Body = { kind: 'whole'; bytes: Uint8Array<ArrayBuffer> } | { kind: 'oversize' | 'busy' | 'cut' };

type ReadOptions = { declared: number | null; limit: number; room: ByteSemaphore };

/** Takes room for a declared length before the first byte is read, and room for a chunked body as it is needed. */
export async function readBody(
  source: AsyncIterable<Uint8Array>,
  { declared, limit, room }: ReadOptions,
): Promise<Body> {
  if (declared !== null && declared > limit) return { kind: 'oversize' };
  let buffer = new Uint8Array(0); // one buffer that grows: chunks of a byte each would cost a hundred times their length
  let length = 0;
  const grow = (size: number): boolean => {
    if (!room.acquire(size - buffer.byteLength)) return false;
    const larger = new Uint8Array(size);
    larger.set(buffer.subarray(0, length));
    buffer = larger;
    return true;
  };
  const fail = (kind: 'oversize' | 'busy' | 'cut'): Body => {
    room.release(buffer.byteLength);
    return { kind };
  };

  if (!grow(declared ?? 0)) return fail('busy');
  try {
    for await (const chunk of source) {
      const reached = length + chunk.byteLength;
      if (reached > limit) return fail('oversize');
      if (reached > buffer.byteLength && !grow(Math.min(limit, Math.max(reached, 2 * length, MIN_BUFFER_BYTES))))
        return fail('busy');
      buffer.set(chunk, length);
      length = reached;
    }
  } catch {
    return fail('cut'); // the connection broke; nothing else in here throws
  }
  if (length < buffer.byteLength) {
    room.release(buffer.byteLength - length);
    buffer = buffer.slice(0, length);
  }
  return { kind: 'whole', bytes: buffer };
}

const MIN_BUFFER_BYTES = 16 * 1024;
