/** Text that the database returns unchanged: jsonb refuses U+0000 and lone surrogates, so U+FFFD replaces them. */

/**
 * What every text becomes when it is stored. The fold applies it to the texts by which it looks things up: a state that was stored
 * must behave like one that was not.
 *
 * @example
 * storable('a\u0000b'); // => 'a\uFFFDb'
 * storable('\uD800'); // => '\uFFFD'
 */
export const storable = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: U+0000 is the character that jsonb refuses
  text.toWellFormed().replace(/\u0000/g, '\uFFFD');
