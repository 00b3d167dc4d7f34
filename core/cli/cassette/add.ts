/** `svc cassette add`: installs a cassette, shows what it asks for, and puts it onto the list when somebody agrees. */
import { rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { digestOf } from '../../cassette/admission/digest.ts';
import { grantsFor } from '../../cassette/admission/grants.ts';
import { environmentName } from '../../cassette/admission/manifest.ts';
import { settingsFromEnvironment } from '../../cassette/admission/settings.ts';
import { resolveSource } from '../../cassette/admission/source.ts';
import { schemaFrom, usersList, type WrittenEntry, withEntry, writeList } from '../../cassette/list/edit-list.ts';
import { CassetteName, type Grants } from '../../cassette/list/list.ts';
import {
  BadList,
  type ListFiles,
  listFiles,
  listTexts,
  type ReadLists,
  readLists,
} from '../../cassette/list/read-list.ts';
import { type Isolation, Rejection } from '../../cassette/running.ts';
import { shownSource } from '../../cassette/shown-source.ts';
import { OperatorError } from '../../errors.ts';
import type { Io } from '../io.ts';
import { plain } from '../units.ts';
import { configFromOptions } from './config-from-options.ts';
import { describeSource, type SourceDescription } from './describe-source.ts';
import { putInPlace, type Staged, stage, wantedOf } from './install.ts';
import { missingSettings, type Permission, permissionPage, variableOf } from './permission-page.ts';

export type AddOptions = {
  /** null: the name in its manifest. */
  name: string | null;
  yes: boolean;
  /** null: a process of its own; for an address: remote. */
  isolation: 'inline' | null;
  config: readonly string[];
};

type Adding = Io & {
  /** The `.svc` in effect. */
  folder: string;
  /** The files of the list, where it is not that of `cwd` and `folder`. */
  files?: ListFiles;
  /** The service that reads that list. (target.ts) Absent: it was not looked up. */
  reader?: string;
  /** null: nobody can be asked. */
  confirm: ((question: string, signal: AbortSignal) => Promise<boolean>) | null;
};

/**
 * 0: it is on the list; 1: nobody agreed. Nothing of it is in its final place before that, and all of it afterwards.
 * @throws {OperatorError} it cannot be fetched or admitted, or nobody can be asked (2)
 */
export async function addCassette(requested: string, options: AddOptions, io: Adding): Promise<0 | 1> {
  if (options.name !== null) refuseName(options.name);
  if (!options.yes && io.confirm === null)
    throw new OperatorError(
      'Cannot ask whether to add it: this is no terminal; look at what it asks for in one, or say --yes',
      2,
    );
  const { signal, release } = interruption();
  let staged: Staged | null = null;
  try {
    const lists = await listsIn(io);
    const wanted = await wantedOf(requested, io.cwd);
    if (wanted.kind === 'address' && options.isolation !== null)
      throw new OperatorError(`Cannot run an address as '${options.isolation}': it runs where it is`, 2);
    const cassettes = join(io.folder, 'cassettes');
    if (wanted.kind === 'package') {
      if (!wanted.local) io.err(`Getting ${wanted.spec} …\n`);
      staged = await stage(wanted, { cassettes, env: io.env, signal });
    }
    const source = wanted.kind === 'address' ? wanted.address : (staged?.source ?? '');
    const from = wanted.kind === 'package' && wanted.local ? wanted.spec : null;
    const permission = await permissionFor({ source, staged, from, options, lists }, io);
    signal.throwIfAborted();
    io.out(permissionPage(permission));
    if (io.reader !== undefined) io.out(`It goes onto the list ${io.reader}\n\n`);
    const question = `Add ${permission.name}? [y/N] `;
    if (!options.yes && !(await io.confirm?.(question, signal))) {
      io.out('Nothing was added\n');
      return 1;
    }
    const file = await install(permission, staged, io);
    io.out(afterwards(permission, file));
    return 0;
  } catch (error) {
    if (error instanceof BadList) throw new OperatorError(error.message);
    if (error instanceof Rejection) throw new OperatorError(refusal(requested, error));
    if (signal.aborted) throw new OperatorError('Cannot add it: it was interrupted; nothing was added');
    throw error;
  } finally {
    release();
    if (staged) await rm(staged.folder, { recursive: true, force: true });
  }
}

const filesOf = ({ cwd, folder, files }: Adding): ListFiles => files ?? listFiles({ cwd, folder });

const listsIn = async (io: Adding): Promise<ReadLists> => readLists(await listTexts(filesOf(io)));

type Found = { source: string; staged: Staged | null; from: string | null; options: AddOptions; lists: ReadLists };

async function permissionFor({ source, staged, from, options, lists }: Found, io: Adding): Promise<Permission> {
  const found = await resolveSource(source, {
    base: io.cwd,
    installed: join(io.folder, 'cassettes'),
    name: staged ? basename(staged.folder) : '',
  });
  // Before it runs: the digest refuses what leads out of its folder.
  const digest = found.kind === 'remote' ? null : await digestOf(found.folder);
  const isolation: Isolation = found.kind === 'remote' ? 'remote' : (options.isolation ?? 'process');
  const description: SourceDescription = await describeSource(found, {
    isolation,
    name: options.name ?? '',
    folder: io.folder,
  });
  const { manifest, openapi_digest } = description.document;
  const name = options.name ?? manifest.cassette.name;
  const entry = lists.list.find((one) => one.name === name);
  const builtIn = entry !== undefined && lists.folderOf(entry) !== dirname(lists.file ?? '');
  const previousConfig = entry && !builtIn ? known(entry.config, manifest.config) : {};
  const environment = settingsFromEnvironment(
    name,
    io.env,
    lists.list.map((one) => one.name),
  );
  return {
    ...description,
    name,
    source,
    from,
    origin: staged?.origin ?? null,
    beside: staged?.beside ?? [],
    digest: digest ?? openapi_digest,
    isolation,
    config: { ...previousConfig, ...configFromOptions(manifest, options.config, name) },
    fromEnvironment: manifest.config.flatMap(({ key }) => (environmentName(key) in environment ? [key] : [])),
    before: entry ? { entry, builtIn } : null,
  };
}

/** Only the settings that are still declared: a newer version may have dropped some. */
const known = (config: Readonly<Record<string, unknown>>, settings: readonly { key: string }[]) =>
  Object.fromEntries(Object.entries(config).filter(([key]) => settings.some((setting) => setting.key === key)));

/** @returns the list's file */
async function install(permission: Permission, staged: Staged | null, io: Adding): Promise<string> {
  const { folder } = io;
  const { file, text } = await usersList(filesOf(io).candidates);
  const written = withEntry(text, entryOf(permission), schemaFrom(file)); // before anything moves
  const home = join(folder, 'cassettes', permission.name);
  const placement = staged ? await putInPlace(staged.folder, home) : null;
  try {
    await writeList(file, written);
  } catch (error) {
    await placement?.undo();
    throw new OperatorError(`Cannot write '${file}': ${(error as NodeJS.ErrnoException).code}`, 1, { cause: error });
  }
  if (placement) await placement.keep();
  else await rm(home, { recursive: true, force: true }); // an address has replaced a package
  return file;
}

/** The entry with exactly what was shown; members that have their default are left out. */
function entryOf({ name, source, digest, isolation, config, document, before }: Permission): WrittenEntry {
  const requested = grantsFor(document.manifest);
  const granted: Grants =
    isolation === 'remote'
      ? { bindings: requested.bindings.filter((one) => one === 'forward_auth'), views: [], extensions: [] }
      : requested;
  const grants = Object.fromEntries(Object.entries(granted).filter(([, names]) => names.length > 0));
  return {
    name,
    source,
    digest,
    ...(isolation === 'inline' ? { isolation } : {}),
    ...(before && !before.builtIn && before.entry.required ? { required: true } : {}),
    ...(Object.keys(config).length > 0 ? { config } : {}),
    ...(Object.keys(grants).length > 0 ? { grants } : {}),
  };
}

function afterwards(permission: Permission, file: string): string {
  const { name } = permission;
  const missing = missingSettings(permission).map(({ key, secret }) =>
    secret
      ? `Set ${variableOf(name, key)} where svc runs, and start svc again: until then it is not let in`
      : `Set "${key}" in its "config" there, or ${variableOf(name, key)} where svc runs: until then it is not let in`,
  );
  return [
    `Added ${name} to ${file}`,
    ...missing,
    "A service that runs takes it in by itself: 'svc cassette list' tells what became of it",
    '',
  ].join('\n');
}

function refuseName(name: string): void {
  const checked = CassetteName.safeParse(name);
  if (!checked.success)
    throw new OperatorError(`Cannot name a cassette '${name}': it ${checked.error.issues[0]?.message}`, 2);
}

/** The message of a rejection, every problem on a line of its own. */
function refusal(requested: string, { message, problems }: Rejection): string {
  const lines = problems.length > 1 ? problems : [message];
  return `Cannot add '${plain(shownSource(requested))}':\n${lines.map((line) => `  - ${plain(line)}`).join('\n')}`;
}

/** A signal that aborts on SIGINT, SIGTERM or SIGHUP, so that the command can clean up first. */
function interruption(): { signal: AbortSignal; release(): void } {
  const controller = new AbortController();
  const abort = () => controller.abort();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, abort);
  return {
    signal: controller.signal,
    release: () => {
      for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.off(name, abort);
    },
  };
}
