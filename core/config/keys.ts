/** All configuration keys, with their names as a flag, as an environment variable and in the file. Read from the schema. */
import * as z from 'zod/mini';
import { about, Config } from './schema.ts';

export type KeyType = 'string' | 'boolean' | 'integer' | 'number' | 'choice' | 'list';

export type ConfigKey = {
  path: string; // proxy.listen
  type: KeyType;
  choices: readonly string[]; // of a choice, else empty
  range: string; // of an integer or number, in words, else empty
  default: string | number | boolean | readonly string[] | undefined;
  example: number | boolean | undefined; // of a key without a default
  description: string;
  flag: string | null; // --proxy-listen; null: in the file only
  env: string | null; // SVC_PROXY_LISTEN
  secret: boolean; // its value is never shown
  /** A list's entries, of tables of the file that say the same; null: it has no such form. */
  tablesAsList: ((tables: Record<string, unknown>) => string[]) | null;
  schema: z.ZodMiniType;
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

function keysOf(schema: z.ZodMiniType, path: readonly string[]): ConfigKey[] {
  const inner = unwrapped(schema);
  if (!(inner instanceof z.ZodMiniObject)) return [keyFrom(schema, inner, path)];
  return Object.entries(inner.shape as Record<string, z.ZodMiniType>).flatMap(([name, child]) =>
    keysOf(child, [...path, name]),
  );
}

function keyFrom(schema: z.ZodMiniType, inner: z.ZodMiniType, names: readonly string[]): ConfigKey {
  const path = names.join('.');
  const word = names.join('_');
  const named = !FILE_ONLY.has(path);
  const { description = '', secret = false, example, tablesAsList = null } = about.get(schema) ?? {};
  return {
    path,
    ...typeOf(inner, path),
    default: schema instanceof z.ZodMiniDefault ? (schema.def.defaultValue as ConfigKey['default']) : undefined,
    example,
    description,
    flag: named ? `--${word.replaceAll('_', '-')}` : null,
    env: named ? `SVC_${word.toUpperCase()}` : null,
    secret,
    tablesAsList,
    schema,
  };
}

function typeOf(inner: z.ZodMiniType, path: string): Pick<ConfigKey, 'type' | 'choices' | 'range'> {
  const none = { choices: [], range: '' };
  if (inner instanceof z.ZodMiniEnum) return { ...none, type: 'choice', choices: inner.options.map(String) };
  if (inner instanceof z.ZodMiniBoolean) return { ...none, type: 'boolean' };
  if (inner instanceof z.ZodMiniArray) return { ...none, type: 'list' };
  if (inner instanceof z.ZodMiniLiteral)
    return { ...none, type: 'integer', range: inner.def.values.map(String).join(' or ') };
  if (inner instanceof z.ZodMiniNumberFormat)
    return { ...none, type: 'integer', range: `an integer ${rangeOf(inner)}` };
  if (inner instanceof z.ZodMiniNumber) return { ...none, type: 'number', range: `a number ${rangeOf(inner)}` };
  if (inner instanceof z.ZodMiniString) return { ...none, type: 'string' };
  throw new Error(`Cannot offer '${path}' as a setting: its schema is none of the types a key may have`);
}

function rangeOf(number: z.ZodMiniNumber): string {
  const bounds = new Map(
    number.def.checks?.map(({ _zod: { def } }) => [def.check, (def as { value?: unknown }).value]),
  );
  const [minimum, maximum] = [bounds.get('greater_than'), bounds.get('less_than')];
  return maximum === undefined ? `from ${minimum} on` : `from ${minimum} to ${maximum}`;
}

function unwrapped(schema: z.ZodMiniType): z.ZodMiniType {
  return schema instanceof z.ZodMiniDefault ||
    schema instanceof z.ZodMiniPrefault ||
    schema instanceof z.ZodMiniOptional
    ? unwrapped(schema.def.innerType as z.ZodMiniType)
    : schema;
}
