/** Settings files of harnesses, which are only read: what is missing, or cannot be read, holds nothing. */
import { readFileSync } from 'node:fs';
import { parse } from 'smol-toml';
import { isObject, parseJson } from '../../../parse-json.ts';

type Settings = Record<string, unknown>;

export function jsonSettings(path: string): Settings {
  try {
    const found: unknown = parseJson(readFileSync(path, 'utf8'));
    return isObject(found) ? found : {};
  } catch {
    return {};
  }
}

export function tomlSettings(path: string): Settings {
  try {
    return parse(readFileSync(path, 'utf8'));
  } catch {
    return {};
  }
}

/** The member at this path; undefined: there is none. */
export const memberOf = (settings: unknown, ...path: string[]): unknown =>
  path.reduce<unknown>((value, name) => (isObject(value) ? value[name] : undefined), settings);

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
