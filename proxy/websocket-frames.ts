/**
 * Reads the messages that pass over a WebSocket from a copy of its bytes. The copy may fall behind while messages are inflated and may be
 * given up; the bytes themselves are never touched. Both directions share one queue, in the order in which they passed: a long request
 * that has yet to be inflated is reported before the short response to it. `ws` reads the frames; its own sockets would answer pings and
 * closing frames, so here it is handed the copy.
 */
import type { Writable } from 'node:stream';
import * as ws from 'ws';
import type { Outcome } from '../core/model/coverage.ts';

export type Side = 'client' | 'server';

/** Why reading ended before the socket did. */
export type Lost = Outcome & ('over_limit' | 'undecodable');

/** Called in the order in which messages passed, never after `lost`. */
export type FrameListener = {
  /** A text message, whole, and when its first byte passed. */
  message(side: Side, message: Buffer, at: string): void;
  /** Called once, for the side that was the first to end the socket, by a closing frame or by its connection. */
  left(side: Side): void;
  /** Called once: reading has ended before the socket did. */
  lost(why: Lost): void;
};

export type FrameReader = {
  /** Copies the bytes that it keeps. */
  received(side: Side, bytes: Uint8Array): void;
  /** The connection to that side has ended. */
  ended(side: Side): void;
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
const MAX_PARTS = 16_384; // frames of a message, or chunks of a frame: each is an object in memory until its message is whole
const MAX_OVERHEAD_BYTES = 1_048_576; // what may pass besides a message's own bytes until it is whole: pings, frame headers
const LIMITS = new Set([
  'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH',
  'WS_ERR_UNSUPPORTED_DATA_PAYLOAD_LENGTH',
  'WS_ERR_TOO_MANY_BUFFERED_PARTS',
]);

/**
 * @param extensions what both ends have agreed on: the upstream's `Sec-WebSocket-Extensions`; null when it is absent
 * @param maxMessageBytes of one message, inflated
 * @returns null: the extension is unknown here
 */
export function readFrames(
  extensions: string | null,
  { maxMessageBytes, now, listener }: { maxMessageBytes: number; now: () => string; listener: FrameListener },
): FrameReader | null {
  const agreed = agreedDeflate(extensions);
  if (!agreed) return null;
  const maxPayload = Math.min(maxMessageBytes, 0x7fff_ffff); // `ws` counts in 32 bits
  const queue: { side: Side; bytes: Buffer | null; at: string }[] = []; // null: that side has gone
  let queuedBytes = 0;
  let reading = false;
  let over = false;
  let first: Side | null = null; // the side that ended first

  /** A bug in the listener costs the copy, not the process. */
  const notify = (callback: () => void) => {
    try {
      callback();
    } catch {
      abandon('undecodable');
    }
  };
  const leave = (side: Side) => {
    if (over || first) return;
    first = side;
    notify(() => listener.left(side));
  };
  const abandon = (why: Lost) => {
    if (over) return;
    finish();
    listener.lost(why);
  };
  const finish = () => {
    over = true;
    queue.length = 0;
    if (!reading) release(); // else the message that is being inflated is finished first
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
      skipUTF8Validation: true, // later readers cope with invalid UTF-8
    });
    /** `at`: when the current chunk passed; `since`: when the first chunk of the unfinished message passed. */
    const state = { receiver, deflate, closed: false, unfinished: 0, at: '', since: '' };
    receiver.on('message', (message: Buffer, isBinary: boolean) => {
      const began = state.since || state.at;
      Object.assign(state, { unfinished: 0, since: '' });
      if (!over && !isBinary) notify(() => listener.message(side, message, began));
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
    receiver.on('error', () => {}); // the callback of `write` gets it too
    return state;
  };
  const sides = { client: openSide('client'), server: openSide('server') };

  const read = (error?: NodeJS.ErrnoException | null) => {
    reading = false;
    if (over) release();
    else if (error) abandon(LIMITS.has(error.code ?? '') ? 'over_limit' : 'undecodable');
    else next();
  };
  const next = () => {
    for (let chunk = queue.shift(); chunk; chunk = queue.shift()) {
      const { side, bytes, at } = chunk;
      if (!bytes) {
        leave(side);
        continue;
      }
      queuedBytes -= bytes.length;
      const state = sides[side];
      if (state.closed) continue; // nothing after a closing frame is read
      state.since ||= at;
      state.at = at;
      state.unfinished += bytes.length;
      if (state.unfinished > maxPayload + MAX_OVERHEAD_BYTES) return abandon('over_limit');
      reading = true;
      state.receiver.write(bytes, read);
      return;
    }
    if (first) finish();
  };
  const enqueue = (side: Side, bytes: Buffer | null) => {
    queue.push({ side, bytes, at: now() });
    if (!reading) next();
  };

  return {
    received(side, bytes) {
      if (over) return;
      queuedBytes += bytes.length;
      if (queuedBytes > MAX_WAITING_BYTES || queue.length >= MAX_PARTS) abandon('over_limit');
      else enqueue(side, Buffer.from(bytes)); // copied: unmasking works in place, and the tunnel has yet to send the bytes
    },
    ended(side) {
      if (!over) enqueue(side, null);
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
