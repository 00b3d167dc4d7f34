/** Moves over the text of a TOML document, past one of its parts after the other. What is no TOML is noticed only where it stands in the way. */

/** From the first character up to, and without, the last. */
export type SourceRange = { start: number; end: number };

/** `name`: of its last part, as in `upstreams.openai`. */
export type TomlKey = { names: string[]; key: SourceRange; name: SourceRange };

export type TomlScanner = {
  /** Of the next character. */
  at(): number;
  /** '' at the end. */
  next(): string;
  isNext(text: string): boolean;
  skip(characters: number): void;
  /** @throws {Error} something else is next */
  expect(text: string): void;
  /** Past blanks and tabs. */
  blank(): void;
  /** Past white space, line breaks and comments. @returns whether there was a comment */
  gap(): boolean;
  /** To the end of the line, past a comment and the line break. @returns where the next line begins */
  lineEnd(): number;
  key(): TomlKey;
  string(): void;
  /** Past a value that is no string, list or inline table. */
  bare(): void;
};

export function openTomlScanner(text: string, from: number): TomlScanner {
  let at = from;

  const pass = (pattern: RegExp) => {
    while (at < text.length && pattern.test(text[at] ?? '')) at++;
  };
  const blank = () => pass(/[ \t]/);
  const comment = () => pass(/[^\n]/);
  const expect = (sign: string) => {
    if (!text.startsWith(sign, at)) throw new Error(`Cannot read TOML: no '${sign}' at ${at}`);
    at += sign.length;
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
    pass(/[A-Za-z0-9_-]/);
    if (at === start) throw new Error(`Cannot read TOML: no key at ${at}`);
    return text.slice(start, at);
  };

  return {
    ...{ expect, blank, string },
    at: () => at,
    next: () => text[at] ?? '',
    isNext: (expected) => text.startsWith(expected, at),
    skip: (characters) => {
      at += characters;
    },
    gap: () => {
      for (let hasComment = false; ; hasComment = true) {
        pass(/\s/);
        if (text[at] !== '#') return hasComment;
        comment();
      }
    },
    lineEnd: () => {
      blank();
      comment();
      if (text[at] === '\n') at++;
      return at;
    },
    key: () => {
      const start = at;
      const names: string[] = [];
      for (;;) {
        const nameStart = at;
        names.push(keyName());
        const end = at;
        blank();
        if (text[at] !== '.') return { names, key: { start, end }, name: { start: nameStart, end } };
        at++;
        blank();
      }
    },
    bare: () => {
      const start = at;
      pass(/[^,\]}#\n\r]/);
      while (at > start && /[ \t]/.test(text[at - 1] ?? '')) at--;
    },
  };
}
