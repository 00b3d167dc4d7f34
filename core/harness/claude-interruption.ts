/** What Claude Code writes in a person's name where that person interrupted it: a message of its own, sent with their next words. */

/** Matches a whole message only: in any other, a prompt may follow these words. */
export const INTERRUPTED = /^\[Request interrupted by user[^\]\n]{0,40}\]$/;

/** The same before a person's words. */
export const INTERRUPTED_BEFORE = /^\[Request interrupted by user[^\]\n]{0,40}\]\n/;

/** While the model answered. For a tool that was stopped it is `[Request interrupted by user for tool use]`. */
export const ANSWER_INTERRUPTED = '[Request interrupted by user]';
