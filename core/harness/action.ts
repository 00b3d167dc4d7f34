/** The normal form of an action. A permission check shows a tool's input in words of its own; in this form the two can be compared. */

const LONGEST = 2000;

/**
 * Lower case, without a leading `$ `, without `$` and `"`, white space collapsed; at most 2,000 characters, well-formed.
 */
export const normalAction = (action: string): string =>
  action
    .slice(0, 2 * LONGEST) // a huge input costs no more than a long one
    .trim()
    .toLowerCase()
    .replace(/^\$ /, '')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: U+0000 is the character that the database refuses
    .replace(/[$"\u0000]/g, '')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, LONGEST)
    .toWellFormed();
