/** Limits that both ends of a channel share. Twin of `CHANNEL` in channel.ts. */

export const LIMITS = {
  settings: { enablePush: false, initialWindowSize: 262_144, maxHeaderListSize: 65_536 },
  maxSessionMemory: 256,
  maxHeaderListPairs: 512,
};

/** The most that a header block may hold; a longer one would end the stream without an error. */
export const HEADER_BYTES = 60_000;

/** Exit codes of this process: an uncaught exception, an unhandled rejection, a broken channel. (life.ts) */
export const UNCAUGHT = 82;
export const UNHANDLED = 83;
export const CHANNEL_BROKE = 84;
