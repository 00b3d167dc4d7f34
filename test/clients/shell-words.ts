/** What do the provider of the real clients and their tests both know? What a shell is asked, what it prints, and what is said of that. */

/** What the shell is asked to do. Only a shell can tell what it prints: the product stands in no request. */
export const COMMAND = 'echo "made of $((6 * 7))"';
export const PRINTED = 'made of 42';
/** The answer to a shell that said so. */
export const ANSWER = `The shell says: ${PRINTED}.`;
