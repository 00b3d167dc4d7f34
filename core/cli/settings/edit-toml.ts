/** Changes one setting in the text of a TOML document, so that comments, order and formatting of all the rest stay as they are. */
import { isDeepStrictEqual } from 'node:util';
import { parse, stringify } from 'smol-toml';
import { isObject } from '../../parse-json.ts';
import { type TomlLayout, tomlLayout } from './toml-entries.ts';
import type { SourceRange } from './toml-scanner.ts';

export type TomlValue = string | number | boolean | readonly string[];

/** The value as TOML writes it. */
export function tomlLiteral(value: TomlValue): string {
  if (typeof value === 'string') return stringify({ value }).slice('value = '.length).trimEnd();
  return typeof value === 'object' ? `[${value.map(tomlLiteral).join(', ')}]` : String(value);
}

/**
 * The document with the value at this path. A new setting stands beside its neighbours: below its own commented-out line, else after the
 * last setting of its table, else in a table of its own at the end.
 * @param path dotted, such as `proxy.listen` @returns null: the document is written in a way that cannot be edited safely
 */
export function withSetting(text: string, path: string, value: TomlValue): string | null {
  const names = path.split('.');
  const expected = parsed(text);
  const name = names.at(-1) ?? path;
  let table = expected;
  for (const each of names.slice(0, -1)) {
    if (!isObject(table[each])) table[each] = {};
    table = table[each] as Record<string, unknown>;
  }
  table[name] = value;
  const document = { text, layout: tomlLayout(text), lineBreak: text.includes('\r\n') ? '\r\n' : '\n' };
  return firstThatReads(edits(document, names, tomlLiteral(value)), expected);
}

/**
 * The document without the setting, and without the comment on its line.
 * @returns null as above, and where tables or several keys set it; the same text where it is not set
 */
export function withoutSetting(text: string, path: string): string | null {
  const names = path.split('.');
  const expected = parsed(text);
  const parents = names.slice(0, -1).reduce<unknown>((at, each) => (isObject(at) ? at[each] : undefined), expected);
  if (!isObject(parents)) return text;
  const name = names.at(-1) ?? path;
  const isSet = name in parents && Object.keys(pruned({ [name]: parents[name] })).length > 0;
  delete parents[name];
  const found = tomlLayout(text).entries.find((entry) => isDeepStrictEqual(entry.path, names));
  if (!found) return isSet ? null : text;
  return firstThatReads([without(text, found.lines ?? member(text, found.key.start, found.value.end))], expected);
}

/** A change is made only if the document then says what it said, and the change. */
function firstThatReads(candidates: Iterable<string>, expected: Record<string, unknown>): string | null {
  for (const text of candidates) {
    try {
      if (isDeepStrictEqual(pruned(parsed(text)), pruned(expected))) return text;
    } catch {} // no TOML: the next one
  }
  return null;
}

const parsed = (text: string): Record<string, unknown> => parse(text.replace(/^\uFEFF/, ''));

/** Without empty tables: a header without settings says nothing. */
const pruned = (table: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(table).flatMap(([name, value]) => {
      if (!isObject(value) || value instanceof Date) return [[name, value]];
      const inner = pruned(value);
      return Object.keys(inner).length === 0 ? [] : [[name, inner]];
    }),
  );

type TomlDocument = { text: string; layout: TomlLayout; lineBreak: string };

/** The document with the setting at each place where it may stand, the best first. */
function* edits(document: TomlDocument, names: readonly string[], literal: string): Generator<string> {
  const { text, layout, lineBreak } = document;
  const existing = layout.entries.find((entry) => isDeepStrictEqual(entry.path, names));
  if (existing) {
    if (!existing.hasComment) yield replaced(text, existing.value, literal);
    return;
  }
  const parent = names.slice(0, -1);
  const name = names.at(-1) ?? '';
  const table = layout.tables.find(({ path }) => isDeepStrictEqual(path, parent));
  const body = parent.length === 0 ? layout.root : table?.body;
  const commented = body && lineOf(text, body, name);
  if (commented) yield inserted(document, commented.end, `${indentAt(text, commented.start)}${name} = ${literal}`);

  const sibling = layout.entries.findLast(({ path }) => isDeepStrictEqual(path.slice(0, -1), parent));
  if (sibling?.lines) {
    const key = text.slice(sibling.key.start, sibling.name.start) + name;
    yield inserted(document, sibling.lines.end, `${indentAt(text, sibling.lines.start)}${key} = ${literal}`);
  } else if (sibling)
    yield replaced(text, { start: sibling.value.end, end: sibling.value.end }, `, ${name} = ${literal}`);

  if (table) yield inserted(document, table.lines.end, `${indentAt(text, table.lines.start)}${name} = ${literal}`);
  for (const { path, value } of layout.entries.toReversed()) {
    if (text[value.start] !== '{' || !isDeepStrictEqual(path, names.slice(0, path.length))) continue;
    const key = names.slice(path.length).join('.');
    const isEmpty = text.slice(value.start + 1, value.end - 1).trim() === '';
    yield replaced(
      text,
      { start: value.start + 1, end: value.start + 1 },
      isEmpty ? ` ${key} = ${literal} ` : ` ${key} = ${literal},`,
    );
  }
  if (parent.length === 0)
    yield inserted(document, endOfRoot(text, layout), `${name} = ${literal}`, layout.tables.length > 0);
  else {
    const before = text === '' || text.endsWith(lineBreak + lineBreak) ? '' : lineBreak;
    yield inserted(document, text.length, `${before}[${parent.join('.')}]${lineBreak}${name} = ${literal}`);
  }
  yield inserted(document, endOfRoot(text, layout), `${names.join('.')} = ${literal}`, layout.tables.length > 0);
}

const replaced = (text: string, { start, end }: SourceRange, by: string) => text.slice(0, start) + by + text.slice(end);
const without = (text: string, range: SourceRange) => replaced(text, range, '');

/** Lines of their own at the start of a line, or after the last one. */
function inserted({ text, lineBreak }: TomlDocument, at: number, lines: string, blankAfter = false): string {
  const before = at > 0 && !/[\n\uFEFF]/.test(text[at - 1] ?? '') ? lineBreak : '';
  return replaced(text, { start: at, end: at }, before + lines + lineBreak + (blankAfter ? lineBreak : ''));
}

const indentAt = (text: string, lineStart: number) => /^[ \t]*/.exec(text.slice(lineStart))?.[0] ?? '';

/** The line that has this setting commented out. */
function lineOf(text: string, body: SourceRange, name: string): SourceRange | null {
  return linesIn(text, body).find(({ start, end }) => COMMENTED.exec(text.slice(start, end))?.[1] === name) ?? null;
}

const COMMENTED = /^[ \t]*#[ \t]*([A-Za-z0-9_-]+)[ \t]*=/;

function linesIn(text: string, { start, end }: SourceRange): SourceRange[] {
  const lines: SourceRange[] = [];
  for (let at = start; at < end; at = lines.at(-1)?.end ?? end) {
    const next = text.indexOf('\n', at);
    lines.push({ start: at, end: next < 0 || next >= end ? end : next + 1 });
  }
  return lines;
}

/** Where a setting of no table goes: before the comments that stand right above the first table. */
function endOfRoot(text: string, { tables, root }: TomlLayout): number {
  const [first] = tables;
  if (!first) return text.length;
  const above = linesIn(text, { start: root.start, end: first.lines.start });
  const last = above.findLast(({ start, end }) => !text.slice(start, end).trimStart().startsWith('#'));
  return last?.end ?? root.start;
}

/** A member of an inline table with the comma that parts it from the next, or else from the one before. */
function member(text: string, start: number, end: number): SourceRange {
  const after = /^\s*,\s*/.exec(text.slice(end));
  if (after) return { start, end: end + after[0].length };
  const before = /,\s*$/.exec(text.slice(0, start));
  return { start: start - (before?.[0].length ?? 0), end };
}
