/** Which text comes back from the database as it went in? jsonb refuses U+0000 and lone surrogates, so U+FFFD takes their place. */

/**
 * What every text becomes on its way in. The fold applies it to texts by which it finds things again: a state that was stored must
 * answer like one that never was.
 */
export const storable = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: U+0000 is the character that jsonb refuses
  text.toWellFormed().replace(/\u0000/g, '\uFFFD');
