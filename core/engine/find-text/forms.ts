/** The forms in which a text stands in what was recorded: as it is, within JSON, within JSON in JSON, and in an address. */

/**
 * @example
 * textForms('a"b').bytes; // => ['a"b', 'a\\"b', 'a\\\\\\"b', 'a%22b']
 * textForms('plain').bytes; // => ['plain']
 */
export function textForms(text: string): { bytes: string[]; json: string[] } {
  const once = escaped(text);
  const ascii = once.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  const inJson = [once, escaped(once)];
  const encoded = inAddress(text);
  const bytes = [...new Set([text, ...inJson, ascii, escaped(ascii), ...encoded])];
  // A column's JSON is JSON once more around what the bodies hold.
  const json = [...new Set([...inJson, escaped(escaped(once)), ascii, escaped(ascii), ...encoded.map(escaped)])];
  return { bytes, json };
}

const escaped = (text: string): string => JSON.stringify(text).slice(1, -1);

/** None for half a character, which no address can hold. */
function inAddress(text: string): string[] {
  try {
    return [encodeURIComponent(text)];
  } catch {
    return [];
  }
}
