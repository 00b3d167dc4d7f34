/** Reads JSON with the range of each value in the text, so that a message can name a line, and an edit leaves the rest as it was. */
import { parseJson } from '../../parse-json.ts';

/** Offsets into the text, `end` behind the last character; `key`: where the member's name begins, in an object. */
export type TextRange = { start: number; end: number; key: number | null };

export type JsonPath = readonly (string | number)[];

export type PlacedJson = {
  value: unknown;
  place(path: JsonPath): TextRange | undefined;
  /** Names that occur twice in one object, where JSON readers take the last. */
  repeated: readonly { name: string; offset: number }[];
};

/** The text is no JSON; `offset` is the position of the error. */
export class NoJson extends Error {
  override readonly name = 'NoJson';
  readonly offset: number;
  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

const SPACE = /[ \t\r\n]*/y;
const STRING = /"[^"\\\p{Cc}]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\p{Cc}]*)*"/uy;
const SCALAR = /(?:-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)(?![\w.+-])/y;
const DEEPEST = 100;

/** @throws {NoJson} */
export function placedJson(text: string): PlacedJson {
  const ranges = new Map<string, TextRange>();
  const repeated: { name: string; offset: number }[] = [];
  let at = text.startsWith('\uFEFF') ? 1 : 0;

  const token = (pattern: RegExp): string | null => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0] ?? null;
    at += found?.length ?? 0;
    return found;
  };
  const sign = (character: string): boolean => {
    token(SPACE);
    const matches = text[at] === character;
    if (matches) at += 1;
    return matches;
  };

  const members = (path: JsonPath, depth: number): void => {
    const names = new Set<string>();
    if (sign('}')) return;
    do {
      token(SPACE);
      const key = at;
      const quoted = token(STRING);
      if (quoted === null) throw new NoJson(`a name in double quotes must stand here${misplaced(text, at)}`, at);
      const name = JSON.parse(quoted) as string;
      if (names.has(name)) repeated.push({ name, offset: key });
      names.add(name);
      if (!sign(':')) throw new NoJson(`a ":" must stand behind the name "${name}"`, at);
      value([...path, name], depth, key);
    } while (sign(','));
    if (!sign('}')) throw new NoJson(`a "," or a "}" must stand here${misplaced(text, at)}`, at);
  };

  const elements = (path: JsonPath, depth: number): void => {
    if (sign(']')) return;
    let index = 0;
    do value([...path, index++], depth, null);
    while (sign(','));
    if (!sign(']')) throw new NoJson(`a "," or a "]" must stand here${misplaced(text, at)}`, at);
  };

  const value = (path: JsonPath, depth: number, key: number | null): void => {
    if (depth > DEEPEST) throw new NoJson('it nests too deeply', at);
    token(SPACE);
    const start = at;
    if (sign('{')) members(path, depth + 1);
    else if (sign('[')) elements(path, depth + 1);
    else if (token(STRING) === null && token(SCALAR) === null)
      throw new NoJson(`a value must stand here${misplaced(text, at)}`, at);
    ranges.set(JSON.stringify(path), { start, end: at, key });
  };

  value([], 0, null);
  token(SPACE);
  if (at < text.length) throw new NoJson('the text must end here', at);
  return {
    value: parseJson(text.replace(/^\uFEFF/, '')),
    place: (path) => ranges.get(JSON.stringify(path)),
    repeated,
  };
}

/** A hint for common mistakes in hand-written JSON. */
function misplaced(text: string, at: number): string {
  if (at >= text.length) return ', where the text ends';
  if (text.startsWith('//', at) || text.startsWith('/*', at)) return '; there are no comments in JSON';
  if (text[at] === "'") return '; strings stand in double quotes';
  STRING.lastIndex = at;
  if (text[at] === '"' && !STRING.test(text))
    return '; a string ends on the line where it begins, and "\\" only stands before what it may';
  const before = text.slice(0, at).trimEnd();
  if (before.endsWith(',') && /[}\]]/.test(text[at] ?? '')) return '; take the "," before it away';
  return '';
}

/** Both count from 1; a column counts UTF-16 units. */
export function lineAndColumn(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
}
