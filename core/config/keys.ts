/** All configuration keys, with their names as a flag, as an environment variable and in the file. Read from the schema. */
import { z } from 'zod';
import { Config } from './schema.ts';

export type KeyType = 'string' | 'boolean' | 'integer' | 'choice' | 'list';

export type ConfigKey = {
  path: string; // proxy.listen
  type: KeyType;
  choices: readonly string[]; // of a choice, else empty
  range: string; // of an integer, in words, else empty
  default: string | number | boolean | readonly string[] | undefined;
  description: string;
  flag: string | null; // --proxy-listen; null: in the file only
  env: string | null; // SVC_PROXY_LISTEN
  secret: boolean; // its value is never shown
  schema: z.ZodType;
};

/** `version` is the version of the file's format, so only the file has it; `svc --version` prints another one. */
const FILE_ONLY = new Set(['version']);

/** Every key, in the order of the schema. */
export const keys: readonly ConfigKey[] = keysOf(Config, []);

const keyAt: ReadonlyMap<string, ConfigKey> = new Map(keys.map((key) => [key.path, key]));

/** The key of a dotted path; undefined when there is none. */
export const keyOf = (path: string): ConfigKey | undefined => keyAt.get(path);

/** The value that a configuration holds at a dotted path. */
export const valueAt = (config: Config, path: string): unknown =>
  path.split('.').reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], config);

/** Values by dotted path, as nested sections. */
export function nested(values: ReadonlyMap<string, unknown>): Record<string, unknown> {
  const root: Record<string, unknown> = {};
  for (const [path, value] of values) {
    const names = path.split('.');
    const last = names.pop() ?? path;
    let section = root;
    for (const name of names) {
      section[name] ??= {};
      section = section[name] as Record<string, unknown>;
    }
    section[last] = value;
  }
  return root;
}

/** The configuration as it may be shown: a secret that is set reads `[redacted]`. */
export function redacted(config: Config): Config {
  const shown = (key: ConfigKey) =>
    key.secret && valueAt(config, key.path) !== '' ? '[redacted]' : valueAt(config, key.path);
  return nested(new Map(keys.map((key) => [key.path, shown(key)]))) as Config;
}

function keysOf(schema: z.ZodType, path: readonly string[]): ConfigKey[] {
  const inner = unwrapped(schema);
  if (!(inner instanceof z.ZodObject)) return [keyFrom(schema, inner, path)];
  return Object.entries(inner.shape as z.ZodRawShape).flatMap(([name, child]) =>
    keysOf(child as z.ZodType, [...path, name]),
  );
}

function keyFrom(schema: z.ZodType, inner: z.ZodType, names: readonly string[]): ConfigKey {
  const path = names.join('.');
  const word = names.join('_');
  const named = !FILE_ONLY.has(path);
  return {
    path,
    ...typeOf(inner, path),
    default: schema instanceof z.ZodDefault ? (schema.def.defaultValue as ConfigKey['default']) : undefined,
    description: schema.description ?? '',
    flag: named ? `--${word.replaceAll('_', '-')}` : null,
    env: named ? `SVC_${word.toUpperCase()}` : null,
    secret: schema.meta()?.secret === true,
    schema,
  };
}

function typeOf(inner: z.ZodType, path: string): Pick<ConfigKey, 'type' | 'choices' | 'range'> {
  const none = { choices: [], range: '' };
  if (inner instanceof z.ZodEnum) return { ...none, type: 'choice', choices: inner.options.map(String) };
  if (inner instanceof z.ZodBoolean) return { ...none, type: 'boolean' };
  if (inner instanceof z.ZodArray) return { ...none, type: 'list' };
  if (inner instanceof z.ZodLiteral) return { ...none, type: 'integer', range: String(inner.value) };
  if (inner instanceof z.ZodNumber) return { ...none, type: 'integer', range: rangeOf(inner) };
  if (inner instanceof z.ZodString) return { ...none, type: 'string' };
  throw new Error(`Cannot offer '${path}' as a setting: its schema is none of the types a key may have`);
}

function rangeOf({ minValue, maxValue }: z.ZodNumber): string {
  const bounded = maxValue !== null && maxValue < Number.MAX_SAFE_INTEGER;
  return bounded ? `an integer from ${minValue} to ${maxValue}` : `an integer from ${minValue} on`;
}

function unwrapped(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault || schema instanceof z.ZodOptional
    ? unwrapped(schema.def.innerType as z.ZodType)
    : schema;
}
