/** Edits of the user's list by commands: one entry at a time, and every other character stays as it was written. */
import { randomUUID } from 'node:crypto';
import { mkdir, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, relative, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import { packageRoot } from '../../package-root.ts';
import { within } from '../admission/digest.ts';
import { type PlacedJson, placedJson, type TextRange } from './json-places.ts';
import { LIST_FILE } from './read-list.ts';

/** An entry as a command writes it; members that have their default are left out. */
export type WrittenEntry = { name: string } & Readonly<Record<string, unknown>>;

/**
 * The text with this entry instead of the one with the same name, else at the end.
 * @param text of a valid list, or null when there is none yet
 * @param schema the address of the JSON Schema, written into a new list
 */
export function withEntry(text: string | null, entry: WrittenEntry, schema: string): string {
  if (text === null) return `${JSON.stringify({ $schema: schema, cassettes: [entry] }, null, 2)}\n`;
  const json = placedJson(text);
  const entries = namesIn(json);
  const index = entries.indexOf(entry.name);
  const step = indentStep(text);
  const list = rangeOf(json, ['cassettes']);
  if (index >= 0) {
    const range = rangeOf(json, ['cassettes', index]);
    return spliced(text, range, indented(entry, step, indentAt(text, range.start)));
  }
  const last = json.place(['cassettes', entries.length - 1]);
  const indent = last ? indentAt(text, last.start) : indentAt(text, list.start) + step;
  const added = `\n${indent}${indented(entry, step, indent)}`;
  if (last) return spliced(text, { start: last.end, end: last.end }, `,${added}`);
  return spliced(text, list, `[${added}\n${indentAt(text, list.start)}]`);
}

/** The text without the entry of that name; the same text where there is none. */
export function withoutEntry(text: string, name: string): string {
  const json = placedJson(text);
  const entries = namesIn(json);
  const index = entries.indexOf(name);
  if (index < 0) return text;
  const range = rangeOf(json, ['cassettes', index]);
  if (entries.length === 1) return spliced(text, rangeOf(json, ['cassettes']), '[]');
  if (index > 0) return spliced(text, { start: rangeOf(json, ['cassettes', index - 1]).end, end: range.end }, '');
  return spliced(text, { start: range.start, end: rangeOf(json, ['cassettes', 1]).start }, '');
}

/** Writes atomically, for every reader; a symlink stays one, and the file that it leads to is written. */
export async function writeList(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const target = await realpath(file).catch(() => file);
  const mode = (await stat(target).catch(() => null))?.mode ?? 0o644;
  const temporary = `${target}.${randomUUID()}.new`;
  try {
    const handle = await open(temporary, 'wx', mode & 0o777);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, target);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** The user's list as a command finds it: the first file that exists, else one in the `.svc` in use; `text` null: it does not exist yet. */
export async function usersList(candidates: readonly string[]): Promise<{ file: string; text: string | null }> {
  for (const file of candidates) {
    const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
      throw error;
    });
    if (text !== null) return { file, text };
  }
  return { file: candidates.at(-1) ?? LIST_FILE, text: null };
}

/** The path or address of the list's JSON Schema, relative to the list. */
export function schemaFrom(file: string): string {
  const schema = join(packageRoot(), 'core/cassette/list.schema.json');
  const path = relative(dirname(file), schema);
  const near =
    within(packageRoot(), file) ||
    path.startsWith(`node_modules${sep}`) ||
    path.startsWith(join('..', `node_modules${sep}`));
  return !near ? pathToFileURL(schema).href : path.startsWith('.') ? path : `./${path}`;
}

const namesIn = ({ value }: PlacedJson): string[] =>
  (value as { cassettes: { name: string }[] }).cassettes.map(({ name }) => name);

function rangeOf(json: PlacedJson, path: readonly (string | number)[]): TextRange {
  const range = json.place(path);
  if (!range) throw new Error(`Cannot find ${path.join('.')} in the list`);
  return range;
}

const spliced = (text: string, { start, end }: Pick<TextRange, 'start' | 'end'>, replacement: string) =>
  text.slice(0, start) + replacement + text.slice(end);

/** The indentation of the line at that offset. */
const indentAt = (text: string, offset: number): string =>
  /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', offset - 1) + 1))?.[0] ?? '';

/** One level of indentation, as this text has it. */
const indentStep = (text: string): string => /\n([ \t]+)\S/.exec(text)?.[1] ?? '  ';

const indented = (entry: WrittenEntry, step: string, indent: string) =>
  JSON.stringify(entry, null, step).replaceAll('\n', `\n${indent}`);
