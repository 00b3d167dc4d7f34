/** Loads the configuration: flags over `SVC_*` variables over `.svc/config.toml` over defaults, with the source of each value. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import { OperatorError } from '../errors.ts';
import { isObject } from '../parse-json.ts';
import type { Environment } from './environment.ts';
import { type ConfigKey, keyOf, keys, nested } from './keys.ts';
import { listenersClash, parseListen } from './listen.ts';
import { nearest } from './nearest.ts';
import { Config } from './schema.ts';
import { foreignVariable, OTHER_VARIABLES } from './variables.ts';

/** Flags of the command line, by the path of their key; true: a flag without a value. */
export type Flags = Readonly<Record<string, string | true>>;

export type ConfigSource = 'flag' | 'environment' | 'file' | 'default';

export type LoadedConfig = {
  config: Config;
  folder: string; // the `.svc` in effect; it need not exist yet
  homeFolder: string; // the user's own `.svc`, where the service that 'svc start' shares is
  file: string | null; // the configuration file that was read
  source: Readonly<Record<string, ConfigSource>>; // by the path of the key
};

type Inputs = { flags: Flags; env: Environment; cwd: string; home: string };

/** A value as the operator set it; `where` is the name of the flag, variable or file entry. */
type SettingInput = { key: ConfigKey; value: unknown; where: string; source: ConfigSource };

type Findings = { settings: SettingInput[]; problems: string[] };

/** @throws {OperatorError} status 2, naming everything that is wrong at once, and what would be right. */
export function loadConfig({ flags, env, cwd, home }: Inputs): LoadedConfig {
  const file = configFile(cwd, home);
  const { config, source, problems } = checked([fromFile(file), fromEnvironment(env), fromFlags(flags)]); // the last one wins
  if (problems.length > 0) {
    throw new OperatorError(`Cannot use this configuration:\n${problems.map((line) => `  - ${line}`).join('\n')}`, 2);
  }
  return { config, folder: folderInEffect(cwd, home), homeFolder: join(home, '.svc'), file, source };
}

/** What keeps a service from starting with this text in its configuration file, whatever flags and environment say; empty: nothing. */
export const problemsOfFile = (text: string, path: string): string[] => checked([fromText(text, path)]).problems;

function checked(found: readonly Findings[]): Pick<LoadedConfig, 'config' | 'source'> & { problems: string[] } {
  const problems = found.flatMap((findings) => findings.problems);
  const values = new Map<string, unknown>();
  const source: Record<string, ConfigSource> = Object.fromEntries(keys.map((key) => [key.path, 'default']));
  const invalid = new Set<string>();
  for (const setting of found.flatMap((findings) => findings.settings)) {
    const result = setting.key.schema.safeParse(setting.value);
    if (result.success) {
      values.set(setting.key.path, result.data);
      source[setting.key.path] = setting.source;
    } else {
      problems.push(`${setting.where}: ${reason(setting, result.error.issues[0]?.message ?? '')}`);
      invalid.add(setting.key.path);
    }
  }
  const config = Config.parse(nested(values)); // each value has been checked, so this cannot throw
  return { config, source, problems: [...problems, ...contradictions(config, invalid)] };
}

/** Why a key cannot have this value, as the end of a sentence that begins with the key; null: it can. */
export function valueProblem(key: ConfigKey, value: unknown, source: 'flag' | 'file'): string | null {
  const result = key.schema.safeParse(value);
  if (result.success) return null;
  return reason({ key, value, where: '', source }, result.error.issues[0]?.message ?? '');
}

/** @throws {OperatorError} status 2, with the key that was likely meant */
export function knownKey(path: string): ConfigKey {
  const key = keyOf(path);
  if (key) return key;
  const section = keys.some((known) => known.path.startsWith(`${path}.`));
  throw new OperatorError(
    section
      ? `Cannot use '${path}' as a setting: it is a section; 'svc config list ${path}' shows its settings`
      : `Cannot use '${path}' as a setting: ${noSuch(path)}`,
    2,
  );
}

function noSuch(path: string): string {
  const near = nearest(path, [...keys.map((known) => known.path), ...sections.filter((section) => section !== '')]);
  return `there is no such setting${near ? `; did you mean '${near}'?` : ''}`;
}

/** The configuration file in effect; null: there is none. */
export const configFile = (cwd: string, home: string): string | null =>
  [cwd, home].map((folder) => join(folder, '.svc', 'config.toml')).find((path) => existsSync(path)) ?? null;

/** The `.svc` in effect; it need not exist yet. */
export function folderInEffect(cwd: string, home: string): string {
  const local = join(cwd, '.svc');
  if (statSync(local, { throwIfNoEntry: false })?.isDirectory()) return local;
  return existsSync(join(home, '.svc', 'config.toml')) ? join(home, '.svc') : local;
}

function fromFlags(flags: Flags): Findings {
  const settings = Object.entries(flags).flatMap(([path, value]): SettingInput[] => {
    const key = keyOf(path);
    return key?.flag ? [{ key, value: typed(key, value), where: key.flag, source: 'flag' }] : [];
  });
  return { settings: settings, problems: [] };
}

function fromEnvironment(env: Environment): Findings {
  const byName = new Map(keys.map((key) => [key.env, key]));
  const names = [...byName.keys(), ...OTHER_VARIABLES].filter((name) => name !== null);
  const findings: Findings = { settings: [], problems: [] };
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith('SVC_') || value === undefined) continue;
    const key = byName.get(name);
    if (key) findings.settings.push({ key, value: typed(key, value), where: name, source: 'environment' });
    else if (!foreignVariable(name, value)) {
      const near = nearest(
        name.slice(4),
        names.map((known) => known.slice(4)),
      ); // without the common prefix
      findings.problems.push(`${name}: there is no such setting${near ? `; did you mean 'SVC_${near}'?` : ''}`);
    }
  }
  return findings;
}

function fromFile(path: string | null): Findings {
  if (path === null) return { settings: [], problems: [] };
  try {
    return fromText(readFileSync(path, 'utf8'), path);
  } catch (error) {
    return { settings: [], problems: [unreadable(path, error)] };
  }
}

function fromText(text: string, path: string): Findings {
  try {
    return fromTable(parse(text.replace(/^\uFEFF/, '')), '', path);
  } catch (error) {
    return { settings: [], problems: [unreadable(path, error)] };
  }
}

/** Why a file cannot be read, without the excerpt that the parser's message ends with: it may hold a password. */
export function unreadable(path: string, error: unknown): string {
  if (error instanceof TomlError) {
    const [message = ''] = error.message.replace('Invalid TOML document: ', '').split('\n');
    return `${path}, line ${error.line}, column ${error.column}: is not TOML: ${message}`;
  }
  return `${path}: cannot be read: ${(error as NodeJS.ErrnoException).code ?? 'unknown error'}`;
}

function fromTable(table: Record<string, unknown>, prefix: string, file: string): Findings {
  const findings: Findings = { settings: [], problems: [] };
  for (const [name, value] of Object.entries(table)) {
    const path = prefix + name;
    const where = `${path} in ${file}`;
    const key = keyOf(path);
    if (key) findings.settings.push({ key, value: asList(key, value), where, source: 'file' });
    else if (!keys.some((known) => known.path.startsWith(`${path}.`))) {
      findings.problems.push(`${where}: ${noSuch(path)}`);
    } else if (isTable(value)) {
      const inner = fromTable(value, `${path}.`, file);
      findings.settings.push(...inner.settings);
      findings.problems.push(...inner.problems);
    } else findings.problems.push(`${where}: must be a table, '[${path}]' with its settings below`);
  }
  return findings;
}

const sections = [
  ...new Set(keys.flatMap(({ path }) => path.split('.').map((_, i, names) => names.slice(0, i).join('.')))),
];

/** Such as `[budget.projects.atlas]` with `daily_usd = 10`. */
const asList = ({ tablesAsList }: ConfigKey, value: unknown): unknown =>
  tablesAsList && isTable(value) ? tablesAsList(value) : value;

const isTable = (value: unknown): value is Record<string, unknown> => isObject(value) && !(value instanceof Date);

/** Text of a flag or variable as its key's type; what does not fit stays text, so that the schema refuses it. */
export function typed(key: ConfigKey, text: string | true): unknown {
  if (text === true) return true;
  const word = text.trim().toLowerCase();
  switch (key.type) {
    case 'boolean':
      return ['true', '1', 'yes'].includes(word) ? true : ['false', '0', 'no'].includes(word) ? false : text;
    case 'integer':
      return /^[+-]?\d+$/.test(word) ? Number(word) : text;
    case 'number':
      return /^[+-]?\d+(\.\d+)?$/.test(word) ? Number(word) : text;
    case 'list':
      return text
        .split(',')
        .map((entry) => entry.trim())
        .filter((entry) => entry !== '');
    default:
      return text;
  }
}

/** What is wrong with a value that its schema refused. */
function reason({ key, value, source }: SettingInput, message: string): string {
  const near = key.type === 'choice' && typeof value === 'string' ? nearest(value, key.choices) : null;
  const requirement = message.startsWith('must ') ? message : mustBe(key, source);
  return requirement + shown(key, value) + (near ? `; did you mean '${near}'?` : '');
}

function mustBe(key: ConfigKey, source: ConfigSource): string {
  if (key.type === 'boolean') return 'must be true or false';
  if (key.type === 'choice') return `must be one of ${key.choices.join(', ')}`;
  if (key.type === 'list')
    return source === 'file' ? 'must be a list of strings' : 'must be a list with commas between';
  if (key.type === 'string') return 'must be a string';
  return `must be ${key.range}`;
}

/** The value that was refused, when it is short, plain, and nobody's secret. */
function shown(key: ConfigKey, value: unknown): string {
  if (key.secret || value === null || typeof value === 'object') return '';
  if (typeof value !== 'string') return `, not ${String(value)}`;
  return value.length > 200 ? '' : `, not '${value.replace(/\/\/.*@/g, '//[redacted]@')}'`;
}

/** Contradictions between settings that are each valid; those with an invalid setting are not reported again. */
function contradictions(config: Config, invalid: ReadonlySet<string>): string[] {
  const { brokers, topic } = config.publisher.stream;
  const stream = ['publisher.stream.brokers', 'publisher.stream.topic'] as const;
  const found: { paths: readonly string[]; text: string }[] = [];
  if (brokers.length > 0 !== (topic !== '')) {
    const [present, missing] = topic === '' ? stream : stream.toReversed();
    found.push({ paths: stream, text: `${missing}: must be set, since ${present} is` });
  }
  const { postgres_dsn, distributed, partitioned } = config.storage;
  if (distributed !== '' && postgres_dsn === '')
    found.push({
      paths: ['storage.postgres_dsn', 'storage.distributed'],
      text: 'storage.postgres_dsn: must be set, since storage.distributed is: the embedded database is one process',
    });
  if (partitioned !== '' && postgres_dsn === '')
    found.push({
      paths: ['storage.postgres_dsn', 'storage.partitioned'],
      text: 'storage.postgres_dsn: must be set, since storage.partitioned is: the embedded database has one partition',
    });
  if (partitioned !== '' && distributed !== '')
    found.push({
      paths: ['storage.distributed', 'storage.partitioned'],
      text: 'storage.partitioned: must not be set, since storage.distributed is: retention deletes the rows of distributed tables',
    });
  const { token, read_token } = config.api;
  const tokens = ['api.token', 'api.read_token'];
  if (read_token !== '' && token === '')
    found.push({
      paths: tokens,
      text: 'api.token: must be set, since api.read_token is: without it nobody needs a token',
    });
  if (read_token !== '' && token === read_token)
    found.push({ paths: tokens, text: 'api.token, api.read_token: must differ' });
  const listeners = ['proxy', 'api', 'ingest'] as const;
  for (const [i, a] of listeners.entries()) {
    for (const b of listeners.slice(i + 1)) {
      const paths = [`${a}.listen`, `${b}.listen`];
      if (!listenersClash(parseListen(config[a].listen), parseListen(config[b].listen))) continue;
      found.push({
        paths,
        text: `${a}.listen, ${b}.listen: must differ, not '${config[a].listen}' and '${config[b].listen}'`,
      });
    }
  }
  return found.filter(({ paths }) => !paths.some((path) => invalid.has(path))).map(({ text }) => text);
}
