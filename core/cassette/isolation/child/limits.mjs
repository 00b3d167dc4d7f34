// @ts-check
/** Limits, exit codes and words that the service and its cassettes' processes share. */

/**
 * Settings of both ends of a channel. Each stream is read ahead up to a limit, so that one that nobody reads does not block the
 * others. A header block has at most 64 KiB.
 */
export const LIMITS = {
  settings: { enablePush: false, initialWindowSize: 262_144, maxHeaderListSize: 65_536 },
  maxSessionMemory: 256,
  maxHeaderListPairs: 512,
};

/** The most that a header block may hold; a longer one would end the stream without an error. */
export const HEADER_BYTES = 60_000;

/** Exit codes of a cassette's process: an uncaught exception, an unhandled rejection, a broken channel. */
export const UNCAUGHT = 82;
export const UNHANDLED = 83;
export const CHANNEL_BROKE = 84;

/** The argument of a process that may use no network. */
export const WITHOUT_NETWORK = 'without-network';

/** What a cassette reads where an exchange ends early. */
export const GONE = 'The service has gone';
