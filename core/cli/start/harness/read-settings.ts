/** Settings files of harnesses, which are only read. One that is there and says what svc cannot read is no empty one: it may name an address. */
import { readFileSync } from 'node:fs';
import { parse, TomlError } from 'smol-toml';
import { OperatorError } from '../../../errors.ts';
import { isObject } from '../../../parse-json.ts';
import { systemProblem } from '../../system-error.ts';
import { parseJsonWithComments } from './json-with-comments.ts';

type Settings = Record<string, unknown>;

/**
 * JSON, with comments and trailing commas where a harness allows them; {} where there is no such file, or an empty one.
 * @throws {OperatorError} it cannot be read, or holds something else
 */
export const jsonSettings = (path: string): Settings => settingsIn(path, parseJsonWithComments, 'a JSON object');

/** TOML; else as `jsonSettings`. */
export const tomlSettings = (path: string): Settings => settingsIn(path, parse, 'TOML');

/** For hints alone: {} as well where the file cannot be read. @param read such as `jsonSettings` */
export function settingsOrNone(read: (path: string) => Settings, path: string): Settings {
  try {
    return read(path);
  } catch {
    return {};
  }
}

function settingsIn(path: string, parsed: (text: string) => unknown, what: string): Settings {
  const text = settingsText(path);
  if (text === null || text.trim() === '') return {};
  const settings = parsedSettings(path, () => parsed(text), what);
  if (!isObject(settings)) throw unreadable(path, `it is not ${what}`);
  return settings;
}

/** The parser's own message is not repeated: it quotes the file, which may hold a key. */
function parsedSettings(path: string, parsed: () => unknown, what: string): unknown {
  try {
    return parsed();
  } catch (error) {
    throw unreadable(path, `it is not ${what}${error instanceof TomlError ? `, in line ${error.line}` : ''}`);
  }
}

/**
 * The text of a settings file, without a byte order mark; null: there is no such file.
 * @throws {OperatorError} it is there and cannot be read
 */
export function settingsText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').replace(/^\uFEFF/, '');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw new OperatorError(systemProblem(error) ?? `Cannot use '${path}': it cannot be read (${code})`);
  }
}

const unreadable = (path: string, why: string) => new OperatorError(`Cannot read the settings in '${path}': ${why}`);

/** The member at this path; undefined: there is none. */
export const memberOf = (settings: unknown, ...path: string[]): unknown =>
  path.reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), settings);

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
