/** Reads and checks both lists: ours, which comes with the package, and the user's. */
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { z } from 'zod';
import { nearest } from '../../config/nearest.ts';
import { packageRoot } from '../../package-root.ts';
import { type JsonPath, lineAndColumn, NoJson, type PlacedJson, placedJson } from './json-places.ts';
import { Grants, ListEntry, ListFile, merged } from './list.ts';

export const LIST_FILE = 'cassette.manifest.json';

/** As an entry's source: the built-in entry of the same name, whose members fill in those that the entry does not have. */
export const BUILT_IN = 'built-in';

/** `candidates`: the first that exists is the user's. */
export type ListFiles = { builtIn: string; candidates: readonly string[] };

/** @param folder the `.svc` in effect @param built_in whether our list is used */
export function listFiles({
  cwd,
  folder,
  built_in = true,
}: {
  cwd: string;
  folder: string;
  built_in?: boolean;
}): ListFiles {
  const ours = join(packageRoot(), LIST_FILE);
  const builtIn = built_in ? ours : join(packageRoot(), 'none', LIST_FILE);
  const candidates = [join(cwd, LIST_FILE), join(folder, LIST_FILE)];
  return { builtIn, candidates: candidates.filter((path) => path !== ours) }; // in our own folder the first candidate is our list
}

export type ReadLists = {
  /** The entries of both lists, sorted by name. */
  list: ListEntry[];
  /** The user's file; null when there is none. */
  file: string | null;
  /** The folder to which the relative source of an entry refers. */
  folderOf(entry: ListEntry): string;
};

/** A list that cannot be used; the message names file, line and column, and what would be valid. */
export class BadList extends Error {
  override readonly name = 'BadList';
}

/** The texts of both files as they are now; null where there is none. @throws {BadList} one may not be read */
export async function listTexts({ builtIn, candidates }: ListFiles): Promise<ListTexts> {
  const ours = { file: builtIn, text: await textOf(builtIn) };
  for (const file of candidates) {
    const text = await textOf(file);
    if (text !== null) return { ours, users: { file, text } };
  }
  return { ours, users: { file: null, text: null } };
}

type FileText<File> = { file: File; text: string | null };
export type ListTexts = { ours: FileText<string>; users: FileText<string | null> };

async function textOf(file: string): Promise<string | null> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw new BadList(`Cannot read the list of cassettes '${file}': ${code ?? 'unknown error'}`);
  }
}

/** @throws {BadList} */
export function readLists({ ours, users }: ListTexts): ReadLists {
  const { file, text } = users;
  const builtInEntries = ours.text === null ? [] : entriesOf(ours.text, ours.file, []);
  const userEntries = file === null || text === null ? [] : entriesOf(text, file, builtInEntries);
  const list = merged(
    builtInEntries.map(({ entry }) => entry),
    userEntries.map(({ entry }) => entry),
  );
  const ownNames = new Set(userEntries.filter(({ inherits }) => !inherits).map(({ entry }) => entry.name));
  const folderOf = ({ name }: ListEntry) => dirname(file !== null && ownNames.has(name) ? file : ours.file);
  return { list, file, folderOf };
}

type ReadEntry = { entry: ListEntry; written: Record<string, unknown>; inherits: boolean };

function entriesOf(text: string, file: string, builtIn: readonly ReadEntry[]): ReadEntry[] {
  const json = parsed(text, file);
  const inherits: boolean[] = [];
  const resolved = withBuiltIn(json.value, (written, index) => {
    inherits[index] = written.source === BUILT_IN;
    if (!inherits[index]) return written;
    const ours = builtIn.find(({ entry }) => entry.name === written.name);
    if (ours) return { ...ours.written, ...written, source: ours.entry.source };
    const names = builtIn.map(({ entry }) => `'${entry.name}'`).join(', ');
    const which = names === '' ? 'there is none' : `there are ${names}`;
    throw bad(file, text, json, ['cassettes', index, 'source'], `no cassette of that name is built in; ${which}`);
  });
  const result = ListFile.safeParse(resolved);
  if (!result.success) throw bad(file, text, json, ...firstProblem(result.error, json));
  const { cassettes } = result.data;
  cassettes.forEach(({ name }, index) => {
    if (cassettes.findIndex((other) => other.name === name) === index) return;
    const why = `'${name}' stands in this list twice; take one away, or give it another name`;
    throw bad(file, text, json, ['cassettes', index, 'name'], why);
  });
  const writtenEntries = (resolved as { cassettes: Record<string, unknown>[] }).cassettes;
  return cassettes.map((entry, i) => ({ entry, written: writtenEntries[i] ?? {}, inherits: inherits[i] ?? false }));
}

function parsed(text: string, file: string): PlacedJson {
  try {
    const json = placedJson(text);
    const [twice] = json.repeated;
    if (twice) throw new NoJson(`"${twice.name}" stands in this object twice`, twice.offset);
    return json;
  } catch (error) {
    if (!(error instanceof NoJson)) throw error;
    throw new BadList(`${at(file, text, error.offset)}: ${error.message}`);
  }
}

/** Each entry that is an object, changed by `change`; everything else stays for the schema to refuse. */
function withBuiltIn(
  value: unknown,
  change: (written: Record<string, unknown>, index: number) => Record<string, unknown>,
): unknown {
  if (!isObject(value) || !Array.isArray(value.cassettes)) return value;
  return {
    ...value,
    cassettes: value.cassettes.map((written: unknown, index) => (isObject(written) ? change(written, index) : written)),
  };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function firstProblem({ issues }: z.ZodError, json: PlacedJson): [JsonPath, string] {
  const issue = issues.find(({ code }) => code === 'unrecognized_keys') ?? issues[0]; // a typo explains why another member is missing
  if (!issue) return [[], 'is no list of cassettes'];
  const path = issue.path.map((part) => (typeof part === 'symbol' ? String(part) : part));
  if (issue.code === 'unrecognized_keys') {
    const unknown = issue.keys[0] ?? '';
    const near = nearest(unknown, membersAt(path));
    const known = near ? `did you mean "${near}"?` : `there are ${membersAt(path).join(', ')}`;
    return [
      [...path, unknown],
      `there is no member "${unknown}"${path.length > 0 ? ` in ${named(path)}` : ''}; ${known}`,
    ];
  }
  if (issue.code === 'invalid_type' && json.place(path) === undefined) return [path, `${named(path)} is missing`];
  return [path, `${named(path)} ${problemText(issue.message)}`];
}

const problemText = (message: string) =>
  message
    .replace(/^Invalid input: expected (\w+), received \w+$/, 'must be of type $1')
    .replace(/^Invalid option: expected one of /, 'must be one of ')
    .replace(/^Too small: .*/, 'must not be empty');

function membersAt(path: JsonPath): string[] {
  const schema = path.length === 0 ? ListFile : path.at(-1) === 'grants' ? Grants : ListEntry;
  return Object.keys(schema.shape);
}

/** `cassettes[2].grants.views` */
const named = (path: JsonPath): string =>
  path.length === 0
    ? 'the whole'
    : path.map((part, i) => (typeof part === 'number' ? `[${part}]` : i === 0 ? part : `.${part}`)).join('');

/** An error at the value, or at the nearest existing value around it. */
function bad(file: string, text: string, json: PlacedJson, path: JsonPath, why: string): BadList {
  for (let inner = path; ; inner = inner.slice(0, -1)) {
    const range = json.place(inner);
    if (range) return new BadList(`${at(file, text, (inner === path ? range.key : null) ?? range.start)}: ${why}`);
    if (inner.length === 0) return new BadList(`Cannot use the list of cassettes '${file}': ${why}`);
  }
}

function at(file: string, text: string, offset: number): string {
  const { line, column } = lineAndColumn(text, offset);
  return `Cannot use the list of cassettes '${file}', line ${line}, column ${column}`;
}
