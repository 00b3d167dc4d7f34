/** WebSocket frames and compressed messages, written by hand for tests of what reads them. */
import { constants, deflateRawSync } from 'node:zlib';

export const TEXT = 1;
export const BINARY = 2;
export const CLOSE = 8;
export const PING = 9;

type Frame = { mask?: boolean; fin?: boolean; compressed?: boolean; opcode?: number };

const MASK = Buffer.from('a1b2c3d4', 'hex');

/** @param mask as clients send */
export function frame(
  content: string | Buffer,
  { mask = false, fin = true, compressed = false, opcode = TEXT }: Frame = {},
) {
  const payload = Buffer.from(content as string);
  const { length } = payload;
  const long = length > 65_535 ? 127 : length > 125 ? 126 : length;
  const head = Buffer.alloc(2 + (long === 127 ? 8 : long === 126 ? 2 : 0));
  head[0] = (fin ? 0x80 : 0) | (compressed ? 0x40 : 0) | opcode;
  head[1] = (mask ? 0x80 : 0) | long;
  if (long === 126) head.writeUInt16BE(length, 2);
  if (long === 127) head.writeBigUInt64BE(BigInt(length), 2);
  if (!mask) return Buffer.concat([head, payload]);
  return Buffer.concat([head, MASK, payload.map((byte, i) => byte ^ (MASK[i % 4] ?? 0))]);
}

/** A message under `permessage-deflate`, by itself. */
export const deflated = (text: string): Buffer =>
  deflateRawSync(Buffer.from(text), { finishFlush: constants.Z_SYNC_FLUSH }).subarray(0, -4);
