/**
 * Which messages pass over a WebSocket? Read from a copy of its bytes, which may fall behind while messages are inflated and may be given
 * up; the bytes themselves are never touched. Both directions are read in one row, in the order in which they passed: a long request that
 * has yet to be inflated is heard before the short answer to it.
 */
import type { Writable } from 'node:stream';
import * as ws from 'ws';
import type { Outcome } from '../core/model/coverage.ts';

export type Side = 'client' | 'server';

/** Why reading ended before the socket did. */
export type Lost = Outcome & ('over_limit' | 'undecodable');

/** Called in the order of passing, never after `lost`. */
export type FrameListener = {
  /** A text message, whole, and when its first byte passed. */
  message(side: Side, message: Buffer, at: string): void;
  /** Once: which side was the first to end it, by a closing frame or by its connection. */
  left(side: Side): void;
  /** Once. */
  lost(why: Lost): void;
};

export type FrameReader = {
  /** Copies what it keeps. */
  passed(side: Side, bytes: Uint8Array): void;
  /** The connection to that side has ended. */
  gone(side: Side): void;
};

/** Parts of `ws` that its types leave out. */
type Deflate = { params: object | null; accept(offers: readonly unknown[]): object; cleanup(): void };
const { Receiver, PerMessageDeflate, extension } = ws as unknown as {
  Receiver: new (options: object) => Writable;
  PerMessageDeflate: new (options: object) => Deflate;
  extension: { parse(header: string): Record<string, unknown[]> };
};
const DEFLATE = 'permessage-deflate';

const MAX_WAITING_BYTES = 16_777_216; // of both directions, while a message is inflated
const MAX_PARTS = 16_384; // frames of a message, or chunks of a frame: each is an object as long as its message is not whole
const MAX_OVERHEAD_BYTES = 1_048_576; // what may pass beside a message's own bytes until it is whole: pings, each frame's head
const LIMITS = new Set([
  'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH',
  'WS_ERR_UNSUPPORTED_DATA_PAYLOAD_LENGTH',
  'WS_ERR_TOO_MANY_BUFFERED_PARTS',
]);

/**
 * @param extensions what both ends have agreed on, as the upstream's `Sec-WebSocket-Extensions` says; null when it says nothing
 * @param maxMessageBytes of one message, inflated
 * @returns null: they speak an extension that is unknown here
 */
export function readFrames(
  extensions: string | null,
  { maxMessageBytes, now, listener }: { maxMessageBytes: number; now: () => string; listener: FrameListener },
): FrameReader | null {
  const agreed = agreedDeflate(extensions);
  if (!agreed) return null;
  const maxPayload = Math.min(maxMessageBytes, 0x7fff_ffff); // it counts in 32 bits
  const row: { side: Side; bytes: Buffer | null; at: string }[] = []; // null: that side has gone
  let waiting = 0;
  let reading = false;
  let over = false;
  let first: Side | null = null; // to leave

  /** A bug in who listens costs the copy, not the process. */
  const tell = (what: () => void) => {
    try {
      what();
    } catch {
      lose('undecodable');
    }
  };
  const leave = (side: Side) => {
    if (over || first) return;
    first = side;
    tell(() => listener.left(side));
  };
  const lose = (why: Lost) => {
    if (over) return;
    finish();
    listener.lost(why);
  };
  const finish = () => {
    over = true;
    row.length = 0;
    if (!reading) release(); // else what is being inflated comes to its end first
  };
  const release = () => {
    for (const { deflate } of [sides.client, sides.server]) deflate?.cleanup();
  };

  const openSide = (side: Side) => {
    const fromClient = side === 'client'; // its frames are masked
    const deflate = agreed.params && new PerMessageDeflate({ isServer: fromClient, maxPayload });
    if (deflate) deflate.params = agreed.params;
    const receiver = new Receiver({
      isServer: fromClient,
      extensions: deflate ? { [DEFLATE]: deflate } : {},
      maxPayload,
      maxFragments: MAX_PARTS,
      maxBufferedChunks: MAX_PARTS,
      skipUTF8Validation: true, // who reads it later copes with what is none
    });
    /** `at`: when the chunk that is read passed; `since`: the first one of a message that is not whole. */
    const state = { receiver, deflate, closed: false, unfinished: 0, at: '', since: '' };
    receiver.on('message', (message: Buffer, isBinary: boolean) => {
      const began = state.since || state.at;
      Object.assign(state, { unfinished: 0, since: '' });
      if (!over && !isBinary) tell(() => listener.message(side, message, began));
    });
    for (const control of ['ping', 'pong']) {
      receiver.on(control, () => {
        state.since = '';
      });
    }
    receiver.on('conclude', () => {
      state.closed = true;
      leave(side);
    });
    receiver.on('error', () => {}); // who wrote has heard of it
    return state;
  };
  const sides = { client: openSide('client'), server: openSide('server') };

  const read = (error?: NodeJS.ErrnoException | null) => {
    reading = false;
    if (over) release();
    else if (error) lose(LIMITS.has(error.code ?? '') ? 'over_limit' : 'undecodable');
    else next();
  };
  const next = () => {
    for (let turn = row.shift(); turn; turn = row.shift()) {
      const { side, bytes, at } = turn;
      if (!bytes) {
        leave(side);
        continue;
      }
      waiting -= bytes.length;
      const state = sides[side];
      if (state.closed) continue; // nothing counts after a closing frame
      state.since ||= at;
      state.at = at;
      state.unfinished += bytes.length;
      if (state.unfinished > maxPayload + MAX_OVERHEAD_BYTES) return lose('over_limit');
      reading = true;
      state.receiver.write(bytes, read);
      return;
    }
    if (first) finish();
  };
  const enter = (side: Side, bytes: Buffer | null) => {
    row.push({ side, bytes, at: now() });
    if (!reading) next();
  };

  return {
    passed(side, bytes) {
      if (over) return;
      waiting += bytes.length;
      if (waiting > MAX_WAITING_BYTES || row.length >= MAX_PARTS) lose('over_limit');
      else enter(side, Buffer.from(bytes)); // a mask is taken off in place, where the tunnel has yet to send the bytes
    },
    gone(side) {
      if (!over) enter(side, null);
    },
  };
}

/** `params` null: messages are not compressed. */
function agreedDeflate(extensions: string | null): { params: object | null } | null {
  if (extensions === null) return { params: null };
  try {
    const { [DEFLATE]: deflate, ...others } = extension.parse(extensions);
    if (Object.keys(others).length > 0) return null;
    return { params: deflate ? new PerMessageDeflate({ isServer: false }).accept(deflate) : null };
  } catch {
    return null;
  }
}
