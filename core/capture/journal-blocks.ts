/**
 * The journal's records that are not on disk yet, in blocks of memory. Chunks are copied on the way in: the caller may reuse its
 * buffer at once, and a chunk of 60 bytes does not retain the 64 KB socket buffer that it is a view of.
 */
import { beginRecord, KIND, RECORD_HEADER_BYTES, type RecordKind, sealRecords } from './journal-record.ts';

export const BLOCK_BYTES = 262_144; // also the longest record of body bytes
const SPARE_BLOCKS = 16;

/** `ended`: it holds the end of a call. */
export type JournalBlock = { bytes: Buffer; used: number; ended: boolean };

export type Blocks = {
  filling: JournalBlock | null;
  full: JournalBlock[]; // sealed, oldest first
  spare: JournalBlock[]; // written and empty again
  pending: number; // bytes of records appended and not yet written
  appended: number; // the same since the start, written or not
  written: number;
};

export const emptyBlocks = (): Blocks => ({
  filling: null,
  full: [],
  spare: [],
  pending: 0,
  appended: 0,
  written: 0,
});

/** Adds a record. `payloadBytes` is the length of the payload in UTF-8. */
export function addRecord(
  blocks: Blocks,
  kind: RecordKind,
  call: number,
  payload: Uint8Array | string,
  payloadBytes: number,
): void {
  const bytes = RECORD_HEADER_BYTES + payloadBytes;
  const block = blockWithRoom(blocks, bytes);
  const at = block.used + RECORD_HEADER_BYTES;
  if (typeof payload === 'string') block.bytes.write(payload, at, 'utf8');
  else block.bytes.set(payload, at);
  block.used = beginRecord(block.bytes, block.used, kind, call, payloadBytes);
  block.ended ||= kind === KIND.closed || kind === KIND.counted;
  blocks.pending += bytes;
  blocks.appended += bytes;
}

function blockWithRoom(blocks: Blocks, bytes: number): JournalBlock {
  const { filling } = blocks;
  if (filling && filling.used + bytes <= filling.bytes.length) return filling;
  sealFilling(blocks);
  let block = blocks.spare.pop() ?? newBlock(BLOCK_BYTES);
  if (bytes > block.bytes.length) block = newBlock(bytes);
  blocks.filling = block;
  return block;
}

const newBlock = (bytes: number): JournalBlock => ({ bytes: Buffer.allocUnsafeSlow(bytes), used: 0, ended: false });

/** Makes the block that is being filled ready to be written, although there is room in it. */
export function sealFilling(blocks: Blocks): void {
  const { filling } = blocks;
  if (!filling || filling.used === 0) return;
  sealRecords(filling.bytes, 0, filling.used);
  blocks.full.push(filling);
  blocks.filling = null;
}

/** Takes the oldest `count` blocks out, which are on disk now. @returns whether one of them held the end of a call */
export function dropWritten(blocks: Blocks, count: number): boolean {
  let ended = false;
  for (const block of blocks.full.splice(0, count)) {
    blocks.pending -= block.used;
    blocks.written += block.used;
    ended ||= block.ended;
    block.used = 0;
    block.ended = false;
    if (blocks.spare.length < SPARE_BLOCKS && block.bytes.length === BLOCK_BYTES) blocks.spare.push(block);
  }
  return ended;
}
