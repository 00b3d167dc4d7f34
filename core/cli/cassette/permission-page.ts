/** The page that somebody sees before a cassette is added: all that it will be able to do, in plain words, and what is not prevented. */
import pc from 'picocolors';
import { grantsFor } from '../../cassette/admission/grants.ts';
import { environmentName } from '../../cassette/admission/manifest.ts';
import type { DeclaredSetting } from '../../cassette/admission/setting-value.ts';
import type { Grants, ListEntry } from '../../cassette/list/list.ts';
import type { Isolation } from '../../cassette/running.ts';
import { shownSource } from '../../cassette/shown-source.ts';
import { lasting, plain } from '../units.ts';
import type { Dependency } from './checked-lock.ts';
import type { SourceDescription } from './describe-source.ts';

export type Permission = SourceDescription & {
  /** Installed name. */
  name: string;
  /** The source as it will be in the list. */
  source: string;
  /** The folder or tarball that it was made from; null: it came from a registry or is an address. */
  from: string | null;
  /** `from <host>` when it came from a registry. */
  origin: string | null;
  /** Packages that were installed with it. */
  beside: readonly Dependency[];
  digest: string;
  isolation: Isolation;
  /** Settings that will be in the list. */
  config: Readonly<Record<string, unknown>>;
  /** Keys that have a value in the environment of this command; that of the service may differ. */
  fromEnvironment: readonly string[];
  /** The entry that it replaces, and whether that one is built in. */
  before: { entry: ListEntry; builtIn: boolean } | null;
};

const MOST = 400; // of a text that its author wrote
const WIDTH = 100;
const NAME = 15;

/** The page, ending with a newline; the question is printed after it. */
export function permissionPage(permission: Permission): string {
  const { document, name, digest } = permission;
  const { cassette } = document.manifest;
  const titled =
    cassette.display_name && cassette.display_name !== name ? ` (${authorText(cassette.display_name)})` : '';
  const claims = [cassette.license, cassette.homepage].flatMap((text) => (text ? [authorText(text)] : []));
  return [
    `${pc.bold(`${name} ${authorText(cassette.version)}`)}${titled}`,
    ...(cassette.description ? wrapped(authorText(cassette.description), 2) : []),
    '',
    ...row('from', plain(origin(permission))),
    ...dependencies(permission),
    ...(claims.length > 0 ? row('says', claims.join(', ')) : []),
    ...(cassette.name === name ? [] : row('calls itself', cassette.name)),
    ...row('digest', digest),
    ...replaced(permission),
    '',
    ...requests(permission),
    ...settings(permission),
    '',
    'It adds:',
    ...row('routes', `/v1/cassettes/${name}/…, ${count(operationsIn(document.document), 'operation')}`),
    ...tools(permission),
    ...offers(permission),
    '',
    ...apart(permission),
    '',
    '',
  ].join('\n');
}

function origin({ source, origin, from }: Permission): string {
  if (from !== null) return `${from}, as ${source}`;
  return origin === null ? shownSource(source) : `${source}, ${origin}`;
}

/** All packages installed with it, since they run with the same rights. */
function dependencies({ beside }: Permission): string[] {
  const origins = [...new Set(beside.map((one) => one.origin))].sort();
  return origins.flatMap((origin, i) => {
    const names = beside.filter((one) => one.origin === origin).map(named);
    return row(i === 0 ? 'with' : '', plain(`${origin}: ${[...new Set(names)].sort().join(', ')}`));
  });
}

const named = ({ name, version, alias }: Dependency): string =>
  alias === null ? `${name}@${version}` : `${alias} (${name}@${version})`;

/** Required settings that have no value yet. */
export const missingSettings = ({ document, config, fromEnvironment }: Permission): DeclaredSetting[] =>
  document.manifest.config.filter(
    ({ key, required, default: fallback }) =>
      required === true && fallback === undefined && !Object.hasOwn(config, key) && !fromEnvironment.includes(key),
  );

export const variableOf = (name: string, key: string): string =>
  `SVC_CASSETTE_${name.toUpperCase().replaceAll('-', '_')}_${environmentName(key)}`;

function replaced({ before }: Permission): string[] {
  if (!before) return [];
  const what = before.builtIn ? 'the one that comes with svc' : plain(shownSource(before.entry.source));
  return row('instead of', what);
}

const VIEWS: Readonly<Record<string, string>> = {
  sessions: 'titles, folders, models, times, tokens and costs of all sessions',
  span_turns: 'every prompt, and how its answer begins',
  spans: 'every step in full: prompts, answers, tool calls and their results',
  span_links: 'which step led to which',
  session_changes: 'which sessions changed or were deleted, and when, and how many wait to be derived',
};

function requests({ document, isolation, before }: Permission): string[] {
  const { manifest } = document;
  const { views, extensions, bindings } = grantsFor(manifest);
  const previousGrants = before && !before.builtIn ? before.entry.grants : null;
  const newMark = (kind: keyof Grants, one: string) =>
    previousGrants && !previousGrants[kind].some((granted) => granted === one) ? pc.yellow(' (new)') : '';
  const tables = manifest.tables.map(({ name }) => name).join(', ');
  const local = isolation !== 'remote';
  const bindingRows: Partial<Record<string, string[]>> = {
    ...(local && {
      db: row('stores', `in a schema of its own${tables === '' ? '' : `: ${tables}`}${newMark('bindings', 'db')}`),
      core: row('asks', `the read API, for anything that it answers: all conversations${newMark('bindings', 'core')}`),
      network: row('connects', `to other machines, with all that it has read${newMark('bindings', 'network')}`),
    }),
    forward_auth: row(
      'is given',
      `the credentials of who calls it (authorization, cookies, keys), and their name${newMark('bindings', 'forward_auth')}`,
    ),
  };
  const lines = [
    ...(local
      ? views.flatMap((view) => row('reads', `${view}: ${VIEWS[view] ?? 'a view of svc_v1'}${newMark('views', view)}`))
      : []),
    ...bindings.flatMap((binding) => bindingRows[binding] ?? []),
    ...(local
      ? extensions.flatMap((name) => row('needs', `the PostgreSQL extension ${name}${newMark('extensions', name)}`))
      : []),
    ...(local && manifest.schedule ? row('runs', whenItRuns(manifest.schedule)) : []),
  ];
  return lines.length > 0 ? ['It asks for this, and is handed nothing else:', ...lines] : ['It asks for nothing.'];
}

function settings(permission: Permission): string[] {
  const { document, name, config, fromEnvironment } = permission;
  if (document.manifest.config.length === 0) return [];
  const missing = missingSettings(permission);
  return [
    '',
    'Its settings:',
    ...document.manifest.config.flatMap((setting) => {
      const { key, secret, description, default: fallback } = setting;
      const how = secret ? variableOf(name, key) : `--config ${key}=…`;
      const value = fromEnvironment.includes(key)
        ? `set by ${variableOf(name, key)}`
        : Object.hasOwn(config, key)
          ? shown(config[key])
          : fallback !== undefined
            ? `${shown(fallback)}, unless ${how}`
            : missing.includes(setting)
              ? pc.yellow(`missing: set ${how}${secret ? ' where svc runs' : ''}`)
              : `not set; ${how}`;
      return [...row(key, value), ...(description ? wrapped(authorText(description), NAME + 3).map(pc.dim) : [])];
    }),
  ];
}

const shown = (value: unknown): string => authorText(JSON.stringify(value));

function tools({ document }: Permission): string[] {
  return document.tools.flatMap(({ full_name, title, description, annotations }) => {
    const changes = annotations.readOnlyHint === true ? '' : ' (may change things)';
    return row('tool', `${full_name}${changes}: ${authorText(description || title)}`);
  });
}

function offers({ document }: Permission): string[] {
  return [
    ...document.resources.flatMap(({ uri, description }) => row('resource', `${uri}: ${authorText(description)}`)),
    ...document.prompts.flatMap(({ full_name, list, description }) =>
      row('prompt', `${full_name}${list ? '…' : ''}: ${authorText(description)}`),
    ),
  ];
}

const ISOLATION: Readonly<Record<Isolation, string>> = {
  inline: 'It runs inside the service:',
  process: 'It runs in a process of its own:',
  remote: 'It runs elsewhere:',
};

function apart({ isolation, confinement }: Permission): string[] {
  return [
    ISOLATION[isolation],
    ...confinement.stops.flatMap((one, i) => row(i === 0 ? 'kept from' : '', one)),
    ...confinement.does_not_stop.flatMap((one, i) => row(i === 0 ? 'not kept from' : '', one)),
  ];
}

const operationsIn = ({ paths }: { paths?: unknown }): number =>
  Object.values((paths ?? {}) as Record<string, object>).flatMap((path) =>
    Object.keys(path).filter((method) => METHODS.includes(method)),
  ).length;
const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'];

const count = (many: number, noun: string) => `${many} ${noun}${many === 1 ? '' : 's'}`;

/** A text of its author, on one line and without what could move the cursor. */
function authorText(text: string): string {
  const line = plain(text.replace(/\s+/g, ' ').trim());
  return line.length > MOST ? `${line.slice(0, MOST)}…` : line;
}

function row(name: string, value: string): string[] {
  const [first = '', ...others] = wrapped(value, NAME + 3);
  return [`  ${pc.cyan(name.padEnd(NAME))} ${first.trimStart()}`, ...others];
}

function wrapped(text: string, indent: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length + 1 <= WIDTH) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(' '.repeat(indent) + word);
  }
  return lines;
}

const whenItRuns = ({ every_seconds, on_change }: { every_seconds: number; on_change?: boolean | undefined }): string =>
  `by itself every ${lasting(every_seconds)}${on_change ? ', and when a session has changed' : ''}`;
