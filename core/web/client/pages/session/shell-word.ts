/** Words of a shell command, quoted so that a shell takes them as they are and a terminal shows nothing but printable characters. */

/** A variable in a word: it stays outside of the quotes. */
export type Variable = { variable: string };

const PLAIN = /^[\w%+=:,./@-]+$/;
const PRINTABLE = /^[\x20-\x7e]*$/;

/** One word of the literal parts and the variables, without a blank between them. */
export function shellWord(...parts: (string | Variable)[]): string {
  let word = '';
  let literal = '';
  for (const part of [...parts, '']) {
    if (typeof part === 'string') literal += part;
    else {
      word += `${literal && quoted(literal)}"$${part.variable}"`;
      literal = '';
    }
  }
  return word + (literal && quoted(literal)) || "''";
}

function quoted(text: string): string {
  if (PLAIN.test(text)) return text;
  return PRINTABLE.test(text) ? `'${text.replaceAll("'", `'\\''`)}'` : ansiQuoted(latin1(text));
}

/** Text as it is in single quotes: only for what is known to be printable, in whatever script. */
export const quotedText = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** `$'…'` of bash and zsh: all that is not printable ASCII as a byte in hex, so that the locale does not matter. */
function ansiQuoted(bytes: readonly number[]): string {
  const characters = bytes.map((byte) => {
    const character = String.fromCharCode(byte);
    if (character === "'" || character === '\\') return `\\${character}`;
    return byte >= 0x20 && byte < 0x7f ? character : `\\x${byte.toString(16).padStart(2, '0')}`;
  });
  return `$'${characters.join('')}'`;
}

/** The bytes of a header's value: HTTP gives one byte a character, and what has no such byte came by another way, as UTF-8. */
const latin1 = (text: string): number[] =>
  /^[\0-\xff]*$/.test(text)
    ? [...text].map((character) => character.charCodeAt(0))
    : [...new TextEncoder().encode(text)];
