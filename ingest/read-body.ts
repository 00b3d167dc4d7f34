/** How is a body taken in whole, when its length is only what the sender says? Counted as it comes, before any of it is kept. */

/** How many bytes of bodies may be held at once, over all requests. */
export type Room = {
  /** False when there is not so much left; then nothing was taken. */
  take(bytes: number): boolean;
  give(bytes: number): void;
};

export const openRoom = (bytes: number): Room => {
  let left = bytes;
  return {
    take: (wanted) => {
      if (wanted > left) return false;
      left -= wanted;
      return true;
    },
    give: (back) => {
      left += back;
    },
  };
};

/**
 * `whole`: the bytes own their buffer, and hold their length of the room until it is given back. The others hold nothing.
 * `oversize`: past the limit. `busy`: no room left. `cut`: it ended before its end.
 */
export type Body = { kind: 'whole'; bytes: Uint8Array<ArrayBuffer> } | { kind: 'oversize' | 'busy' | 'cut' };

type Reading = { declared: number | null; limit: number; room: Room };

/** Room for a declared length is taken before the first byte is read, any other as it is needed. */
export async function readBody(source: AsyncIterable<Uint8Array>, { declared, limit, room }: Reading): Promise<Body> {
  if (declared !== null && declared > limit) return { kind: 'oversize' };
  let held = new Uint8Array(0); // one buffer that grows: chunks of a byte each would cost a hundred times their length
  let length = 0;
  const grow = (size: number): boolean => {
    if (!room.take(size - held.byteLength)) return false;
    const larger = new Uint8Array(size);
    larger.set(held.subarray(0, length));
    held = larger;
    return true;
  };
  const give = (kind: 'oversize' | 'busy' | 'cut'): Body => {
    room.give(held.byteLength);
    return { kind };
  };

  if (!grow(declared ?? 0)) return give('busy');
  try {
    for await (const chunk of source) {
      const reached = length + chunk.byteLength;
      if (reached > limit) return give('oversize');
      if (reached > held.byteLength && !grow(Math.min(limit, Math.max(reached, 2 * length, SMALLEST))))
        return give('busy');
      held.set(chunk, length);
      length = reached;
    }
  } catch {
    return give('cut'); // the connection broke; nothing else in here throws
  }
  if (length < held.byteLength) {
    room.give(held.byteLength - length);
    held = held.slice(0, length);
  }
  return { kind: 'whole', bytes: held };
}

const SMALLEST = 16 * 1024;
