/** Where the tables, keys and values of a TOML document stand in its text. The document has been parsed: what is wrong in it is not found here. */
import { openTomlScanner, type SourceRange, type TomlScanner } from './toml-scanner.ts';

export type TomlEntry = {
  /** From the root: `['proxy', 'listen']`. */
  path: string[];
  key: SourceRange;
  /** The key's last name, as in `upstreams.openai`. */
  name: SourceRange;
  value: SourceRange;
  /** Its lines with the break that ends them; null: it stands inside an inline table. */
  lines: SourceRange | null;
  /** Whether there is a comment within its value. */
  hasComment: boolean;
};

/** `lines`: of the header. `body`: what follows up to the next header. */
export type TomlTable = { path: string[]; lines: SourceRange; body: SourceRange };

export type TomlLayout = { root: SourceRange; tables: TomlTable[]; entries: TomlEntry[] };

/** @throws {Error} the text is no TOML */
export function tomlLayout(text: string): TomlLayout {
  const root = { start: text.startsWith('\uFEFF') ? 1 : 0, end: text.length };
  const scanner = openTomlScanner(text, root.start);
  const entries: TomlEntry[] = [];
  const tables: TomlTable[] = [];
  let body = root;
  let section: string[] = [];
  while (scanner.next() !== '') {
    const lineStart = scanner.at();
    scanner.blank();
    if (/^[#\n\r]/.test(scanner.next())) scanner.lineEnd();
    else if (scanner.next() === '[') {
      section = header(scanner);
      body.end = lineStart;
      const lines = { start: lineStart, end: scanner.lineEnd() };
      body = { start: lines.end, end: text.length };
      tables.push({ path: section, lines, body });
    } else if (scanner.next() !== '') {
      const found = entry(scanner, section, entries);
      found.lines = { start: lineStart, end: scanner.lineEnd() };
    }
  }
  return { root, tables, entries };
}

/** The names in the header of a table; of an element of a list of tables, '' is the last. */
function header(scanner: TomlScanner): string[] {
  const isList = scanner.isNext('[[');
  scanner.skip(isList ? 2 : 1);
  scanner.blank();
  const { names } = scanner.key();
  scanner.blank();
  scanner.expect(isList ? ']]' : ']');
  return isList ? [...names, ''] : names;
}

/** Adds the entry, before those within its value. */
function entry(scanner: TomlScanner, above: readonly string[], entries: TomlEntry[]): TomlEntry {
  const { names, key, name } = scanner.key();
  const path = [...above, ...names];
  scanner.blank();
  scanner.expect('=');
  scanner.blank();
  const start = scanner.at();
  const found: TomlEntry = { path, key, name, value: { start, end: start }, lines: null, hasComment: false };
  entries.push(found);
  found.hasComment = value(scanner, path, entries);
  found.value.end = scanner.at();
  return found;
}

/** Past a value, with the entries of inline tables in it. @returns whether there is a comment in it */
function value(scanner: TomlScanner, path: readonly string[], entries: TomlEntry[]): boolean {
  const first = scanner.next();
  if (first === '"' || first === "'") scanner.string();
  else if (first !== '[' && first !== '{') scanner.bare();
  else {
    const close = first === '[' ? ']' : '}';
    scanner.skip(1);
    let hasComment = scanner.gap();
    while (scanner.next() !== '' && scanner.next() !== close) {
      if (first === '{') entry(scanner, path, entries);
      else if (value(scanner, [...path, ''], entries)) hasComment = true;
      if (scanner.gap()) hasComment = true;
      if (scanner.next() === ',') scanner.skip(1);
      if (scanner.gap()) hasComment = true;
    }
    scanner.expect(close);
    return hasComment;
  }
  return false;
}
