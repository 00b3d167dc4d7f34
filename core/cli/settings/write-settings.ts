/** `svc config set` and `unset`: changes one line of the configuration file, once it is certain that the file stays valid. */
import { readFileSync } from 'node:fs';
import { parse } from 'smol-toml';
import type { ConfigKey } from '../../config/keys.ts';
import { knownKey, problemsOfFile, typed, unreadable, valueProblem } from '../../config/load.ts';
import { OperatorError } from '../../errors.ts';
import type { Io } from '../io.ts';
import { type TomlValue, tomlLiteral, withoutSetting, withSetting } from './edit-toml.ts';
import { writeSettings } from './settings-file.ts';
import { fileToWrite, outranking } from './which-file.ts';

type WriteOptions = { isHome: boolean; force: boolean; json: boolean };

/**
 * @param values several are the items of a list; none: a secret is read from `secretInput`
 * @throws {OperatorError} status 2: no such key, or a value that it cannot have; 1: the file cannot be changed
 */
export async function setSetting(
  path: string,
  values: readonly string[],
  options: WriteOptions,
  io: Io,
  secretInput: (prompt: string) => Promise<string>,
): Promise<void> {
  const key = knownKey(path);
  const words = values.length === 0 && key.secret ? [(await secretInput(`${path}: `)).trim()] : values;
  if (words.length === 0) throw new OperatorError(`Cannot set ${path}: its value is missing`, 2);
  if (words.length > 1 && key.type !== 'list')
    throw new OperatorError(`Cannot set ${path}: it takes one value, not ${words.length}`, 2);
  const value = typed(key, words.join(','));
  const problem = valueProblem(key, value, 'flag');
  if (problem !== null) throw new OperatorError(`Cannot set ${path}: it ${problem}`, 2);
  const literal = value as TomlValue; // its schema has accepted it
  const isSecret = key.secret && literal !== '';
  const edit = (text: string) => withSetting(text || 'version = 0\n', path, literal);
  const file = changeFile(key, edit, { ...options, isSecret }, io);
  const shown = key.secret ? '[redacted]' : tomlLiteral(literal);
  if (options.json) io.out(`${JSON.stringify({ key: path, value: key.secret ? shown : literal, file }, null, 2)}\n`);
  else io.out(`Set ${path} = ${shown} in ${file}\n`);
  remarks(key, file, io);
}

/** @throws {OperatorError} as above */
export function unsetSetting(path: string, options: WriteOptions, io: Io): void {
  const key = knownKey(path);
  let isThere = false;
  const file = changeFile(
    key,
    (text) => {
      const after = withoutSetting(text, path);
      isThere = after !== text;
      return after;
    },
    { ...options, isSecret: false },
    io,
  );
  if (options.json) io.out(`${JSON.stringify({ key: path, removed: isThere, file }, null, 2)}\n`);
  else if (isThere) io.out(`Removed ${path} from ${file}\n`);
  if (isThere) remarks(key, file, io);
  else io.err(`${path} is not set in ${file}: nothing to remove\n`);
}

/** @param edit null: the text cannot be edited @returns the path of the file */
function changeFile(
  { path }: ConfigKey,
  edit: (text: string) => string | null,
  { isHome, force, isSecret }: WriteOptions & { isSecret: boolean },
  io: Io,
): string {
  const file = fileToWrite(io, isHome);
  const before = file.exists ? readText(file.path, path) : '';
  const after = edit(before);
  if (after === null)
    throw new OperatorError(`Cannot change ${path} in ${file.path} without losing some of it: change it by hand there`);
  if (after === before && !isSecret) return file.path;
  const known = new Set(problemsOfFile(before, file.path)); // a broken file can be mended setting by setting
  const problems = problemsOfFile(after, file.path).filter((problem) => !known.has(problem));
  if (problems.length > 0 && !force)
    throw new OperatorError(
      `Cannot change ${path}: svc would not start any more, since\n${problems.map((line) => `  - ${line}`).join('\n')}\n--force changes it all the same`,
      2,
    );
  writeSettings(file.path, after, isSecret, io);
  return file.path;
}

/** @throws {OperatorError} it cannot be read, or is no TOML; its text is never quoted */
function readText(file: string, path: string): string {
  try {
    const text = readFileSync(file, 'utf8');
    parse(text.replace(/^\uFEFF/, ''));
    return text;
  } catch (error) {
    throw new OperatorError(`Cannot change ${path}: ${unreadable(file, error)}`, 1);
  }
}

function remarks({ path, env }: ConfigKey, file: string, io: Io): void {
  const instead = outranking(io, file);
  if (instead !== null) io.err(`Here ${instead} is in effect, and ${file} is not read\n`);
  if (env !== null && io.env[env] !== undefined) io.err(`${env} is set in this environment and outranks the file\n`);
  if (!path.startsWith('client.')) io.err('A service that runs takes it at its next start\n');
}
