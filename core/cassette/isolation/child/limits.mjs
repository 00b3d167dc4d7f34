/** What do both ends of a channel agree on? Twin of `CHANNEL` in channel.ts. */

export const LIMITS = {
  settings: { enablePush: false, initialWindowSize: 262_144, maxHeaderListSize: 65_536 },
  maxSessionMemory: 256,
  maxHeaderListPairs: 512,
};

/** What a header block may hold; a longer one would end the stream without a word. */
export const HEADER_BYTES = 60_000;

/** With what this process ends when nothing caught an exception, nothing handled a rejection, the channel broke. (life.ts) */
export const UNCAUGHT = 82;
export const UNHANDLED = 83;
export const CHANNEL_BROKE = 84;
