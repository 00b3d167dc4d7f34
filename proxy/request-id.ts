/** The id of a call: a UUIDv7, so that ids sort by time; its randomness is drawn for many calls at once. */
import { randomFillSync, randomInt } from 'node:crypto';
import { v7 } from 'uuid';

const ID_BYTES = 16;
const pool = new Uint8Array(ID_BYTES * 256);
let used = pool.length;
let sequence = -1; // two processes begin at different numbers

/** An id that sorts after every earlier one of this process, as long as the clock is not set back. */
export function requestId(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    if (sequence < 0) sequence = randomInt(2 ** 31);
    used = 0;
  }
  sequence = (sequence + 1) >>> 0;
  used += ID_BYTES;
  return v7({ random: pool.subarray(used - ID_BYTES, used), seq: sequence });
}
