/** Where the tables, keys and values of a TOML document stand in its text. The document has been parsed: what is wrong in it is not found here. */

/** From the first character up to, and without, the last. */
export type SourceRange = { start: number; end: number };

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
  const entries: TomlEntry[] = [];
  const tables: TomlTable[] = [];
  const root = { start: text.startsWith('\uFEFF') ? 1 : 0, end: text.length };
  let body = root;
  let section: string[] = [];
  let at = root.start;

  const comment = () => {
    while (at < text.length && text[at] !== '\n') at++;
  };
  const blank = () => {
    while (text[at] === ' ' || text[at] === '\t') at++;
  };
  const expect = (sign: string) => {
    if (!text.startsWith(sign, at)) throw new Error(`Cannot read TOML: no '${sign}' at ${at}`);
    at += sign.length;
  };
  /** Past white space, line breaks and comments; whether there was a comment. */
  const gap = (): boolean => {
    const start = at;
    let found = false;
    for (;;) {
      while (/\s/.test(text[at] ?? '')) at++;
      if (text[at] !== '#') return found && at > start;
      found = true;
      comment();
    }
  };

  const string = () => {
    const sign = text[at] ?? '';
    const long = text.startsWith(sign.repeat(3), at);
    const end = long ? sign.repeat(3) : sign;
    at += end.length;
    while (at < text.length && !text.startsWith(end, at)) at += sign === '"' && text[at] === '\\' ? 2 : 1;
    expect(end);
    for (let more = 0; long && more < 2 && text[at] === sign; more++) at++; // quotes right before the closing ones
  };

  const keyName = (): string => {
    const start = at;
    if (text[at] === '"' || text[at] === "'") {
      const isBasic = text[at] === '"';
      string();
      const written = text.slice(start, at);
      return isBasic ? (JSON.parse(written) as string) : written.slice(1, -1);
    }
    while (/[A-Za-z0-9_-]/.test(text[at] ?? '')) at++;
    if (at === start) throw new Error(`Cannot read TOML: no key at ${at}`);
    return text.slice(start, at);
  };

  const key = () => {
    const start = at;
    const names: string[] = [];
    for (;;) {
      const name = { start: at, end: at };
      names.push(keyName());
      name.end = at;
      const end = at;
      blank();
      if (text[at] !== '.') return { names, key: { start, end }, name };
      at++;
      blank();
    }
  };

  /** Past a value; whether there is a comment in it. */
  const value = (path: string[]): boolean => {
    let hasComment = false;
    const first = text[at];
    if (first === '"' || first === "'") string();
    else if (first === '[' || first === '{') {
      const close = first === '[' ? ']' : '}';
      at++;
      hasComment = gap();
      while (at < text.length && text[at] !== close) {
        if (first === '[') hasComment = value([...path, '']) || hasComment;
        else entry(path, null);
        hasComment = gap() || hasComment;
        if (text[at] === ',') at++;
        hasComment = gap() || hasComment;
      }
      expect(close);
    } else {
      const start = at;
      while (at < text.length && !/[,\]}#\n\r]/.test(text[at] ?? '')) at++;
      while (at > start && /[ \t]/.test(text[at - 1] ?? '')) at--;
    }
    return hasComment;
  };

  const entry = (above: string[], lineStart: number | null) => {
    const { names, key: written, name } = key();
    const path = [...above, ...names];
    blank();
    expect('=');
    blank();
    const start = at;
    const place = entries.push({ path, key: written, name, value: written, lines: null, hasComment: false }) - 1;
    const hasComment = value(path);
    const found = { path, key: written, name, value: { start, end: at }, lines: null, hasComment };
    entries[place] = lineStart === null ? found : { ...found, lines: { start: lineStart, end: lineEnd() } };
  };

  const lineEnd = () => {
    blank();
    comment();
    if (text[at] === '\n') at++;
    return at;
  };

  while (at < text.length) {
    const lineStart = at;
    blank();
    if (text[at] === '#' || text[at] === '\n' || text[at] === '\r') lineEnd();
    else if (text[at] === '[') {
      const isList = text.startsWith('[[', at);
      at += isList ? 2 : 1;
      blank();
      section = isList ? [...key().names, ''] : key().names;
      blank();
      expect(isList ? ']]' : ']');
      body.end = lineStart;
      const lines = { start: lineStart, end: lineEnd() };
      body = { start: lines.end, end: text.length };
      tables.push({ path: section, lines, body });
    } else if (at < text.length) entry(section, lineStart);
  }
  return { root, tables, entries };
}
