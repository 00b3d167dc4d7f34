/** `svc cassette remove`: takes a cassette off the list at once, and with --purge drops what it has stored as well. */
import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { openCassetteDatabases } from '../../cassette/database/cassette-databases.ts';
import { schemaFrom, usersList, withEntry, withoutEntry, writeList } from '../../cassette/list/edit-list.ts';
import { CassetteName, type ListEntry } from '../../cassette/list/list.ts';
import { BadList, BUILT_IN, type ListFiles, listFiles, listTexts, readLists } from '../../cassette/list/read-list.ts';
import type { LoadedConfig } from '../../config/load.ts';
import { nearest } from '../../config/nearest.ts';
import { isMade } from '../../db/client/data-folder.ts';
import { holderOf } from '../../db/client/folder-lock.ts';
import { type OpenDatabase, openDatabase } from '../../db/open.ts';
import { DatabaseError, OperatorError } from '../../errors.ts';
import { openLog } from '../../log.ts';
import type { Io } from '../io.ts';
import { fetchReadApi } from '../read-api.ts';
import { plain } from '../units.ts';
import { UNSHOWN, whereData } from '../where-data.ts';
import { isCassetteList } from './is-list.ts';
import type { RunningService, Target } from './target.ts';

const WITHDRAWN_MS = 15_000;

type Removing = Pick<Io, 'out' | 'cwd'> & { files?: ListFiles; target?: Target };

const filesOf = ({ folder, config }: LoadedConfig, { cwd, files, target }: Removing): ListFiles =>
  target?.files ?? files ?? listFiles({ cwd, folder, built_in: config.cassettes.built_in });

/** @throws {OperatorError} it is on no list, or its database is in use: then nothing was removed */
export async function removeCassette(
  name: string,
  { purge }: { purge: boolean },
  loaded: LoadedConfig,
  io: Removing,
): Promise<void> {
  if (!CassetteName.safeParse(name).success)
    throw new OperatorError(`Cannot remove '${name}': no cassette can have that name`, 2);
  if (purge && io.target?.isOwn === false)
    throw new OperatorError(
      `Cannot purge '${name}' from here: the list is ${io.target.reader}; run this command in the folder where that was started`,
      2,
    );
  const wanted = await wantedIn(loaded, io);
  const { entry, builtIn } = wanted.find(name);
  if (!entry && !purge) throw notListed(name, wanted.names);
  const database = purge ? await openForPurge(name, loaded, io.target?.running ?? null) : null;
  const installed = join(io.target?.folder ?? loaded.folder, 'cassettes', name);
  const isKnown = entry !== undefined || existsSync(installed);
  try {
    if (entry) io.out(await takeOut(name, builtIn, loaded, io));
    await rm(installed, { recursive: true, force: true });
    if (database) await untilWithdrawn(name, loaded);
    const dropped = database !== null && (await dropDatabase(name, database, loaded));
    if (purge && !isKnown && !dropped) throw notListed(name, wanted.names);
    if (dropped) io.out('Its schema, with all that it has stored, and its role are gone\n');
    else if (database) io.out('It had no schema, so it has stored nothing\n');
    else if (purge) io.out('There is no database here, so it has stored nothing\n');
    else if (entry?.grants.bindings.includes('db'))
      io.out(`What it has stored stays; ${purgeHint(name, loaded, io.target)}\n`);
  } finally {
    await database?.close();
  }
}

/** With what else a purge needs, or it would be refused: the folder of the list, and an embedded database that no service has open. */
function purgeHint(name: string, { config, folder: own }: LoadedConfig, target: Target | undefined): string {
  const folder = target?.folder ?? own;
  const running = target?.running?.readsList === false ? null : target?.running;
  const data = running?.data ?? whereData(config.storage.postgres_dsn, folder);
  const isOpen = data === whereData('', folder) && (running || holderOf(folder) !== null);
  const where = target?.isOwn === false ? `, run in ${dirname(folder)},` : '';
  return `'svc cassette remove ${name} --purge'${where} drops it${isOpen ? ' once svc has stopped' : ''}`;
}

function notListed(name: string, names: readonly string[]): OperatorError {
  const suggestion = nearest(name, names);
  const others = names.length > 0 ? `; there are ${names.join(', ')}` : '';
  const hint = suggestion ? `; did you mean '${suggestion}'?` : others;
  return new OperatorError(`Cannot remove '${name}': it is not on the list${hint}`);
}

type Wanted = { names: string[]; find(name: string): { entry: ListEntry | undefined; builtIn: boolean } };

async function wantedIn(loaded: LoadedConfig, io: Removing): Promise<Wanted> {
  try {
    const texts = await listTexts(filesOf(loaded, io));
    const { list } = readLists(texts);
    const ours = readLists({ ...texts, users: { file: null, text: null } }).list;
    return {
      names: list.map(({ name }) => name),
      find: (name) => ({
        entry: list.find((one) => one.name === name),
        builtIn: ours.some((one) => one.name === name),
      }),
    };
  } catch (error) {
    if (error instanceof BadList) throw new OperatorError(error.message);
    throw error;
  }
}

/** Takes the entry off the list. A built-in cassette is disabled instead, or it would come back. */
async function takeOut(name: string, builtIn: boolean, loaded: LoadedConfig, io: Removing): Promise<string> {
  const { file, text } = await usersList(filesOf(loaded, io).candidates);
  const off = { name, source: BUILT_IN, enabled: false };
  const written = builtIn ? withEntry(text, off, schemaFrom(file)) : withoutEntry(text ?? '{"cassettes": []}', name);
  await writeList(file, written).catch((error: NodeJS.ErrnoException) => {
    throw new OperatorError(`Cannot write '${file}': ${error.code}`, 1, { cause: error });
  });
  if (!builtIn) return `Removed ${name} from ${file}; a service that runs withdraws it by itself\n`;
  const own = text !== null && withoutEntry(text, name) !== text ? 'Your own entry for it is replaced. ' : '';
  return (
    `Switched off ${name}, which comes with svc, in ${file}; a service that runs withdraws it by itself\n` +
    `${own}To have ${name} as it comes with svc, take its entry out of that file\n`
  );
}

/** null: there is no database. @throws {OperatorError} nothing was removed yet */
async function openForPurge(
  name: string,
  { config, folder }: LoadedConfig,
  running: RunningService | null,
): Promise<OpenDatabase | null> {
  const { postgres_dsn: dsn, pooled } = config.storage;
  const none = dsn === '' && !isMade(folder);
  const elsewhere = dataElsewhere(whereData(dsn, folder), { none, folder, running });
  if (elsewhere !== null) throw new OperatorError(`Cannot purge '${name}': ${elsewhere}`);
  if (none) return null;
  try {
    return await openDatabase({ dsn, pooled, folder, log: openLog(config.log.level) });
  } catch (error) {
    if (!(error instanceof OperatorError) || !/process \d+ has used it/.test(error.message)) throw error;
    throw new OperatorError(
      `Cannot purge '${name}': ${error.message.replace(/^Cannot use /, 'the database in ').replace(/; stop that process.*$/, '')}; ` +
        "stop it first, since the embedded database is open to one process at a time, or remove it without '--purge'",
      1,
      { cause: error },
    );
  }
}

/**
 * Why what the cassette has stored may lie elsewhere than in the database of these settings: `svc serve` may have been started with a DSN that
 * this command was not. Null: it lies there.
 */
function dataElsewhere(
  ours: string,
  { none, folder, running }: { none: boolean; folder: string; running: RunningService | null },
): string | null {
  const holder = holderOf(folder);
  if (running === null)
    return none && holder !== null
      ? `process ${holder} serves this folder, and where it has its database is not known; ${REMEDY}`
      : null;
  const { address, data, readsList } = running;
  if (readsList === false && !none) return null; // another list: this one's database is that of the settings
  if (data === null || data === UNSHOWN)
    return `where the service at ${address} has its database is not known; stop it first, and ${REMEDY}`;
  return data === ours
    ? null
    : `the service at ${address} has its database elsewhere (${plain(data)}) than these settings say (${plain(ours)}); ${REMEDY}`;
}

const REMEDY = 'set storage.postgres_dsn for this command as for the service, by SVC_STORAGE_POSTGRES_DSN';

/** Waits until a service on the same server has withdrawn it. Where no service can be reached, there is no wait. */
async function untilWithdrawn(name: string, loaded: LoadedConfig): Promise<void> {
  const end = Date.now() + WITHDRAWN_MS;
  for (;;) {
    const { answer } = await fetchReadApi(loaded, {
      path: '/v1/cassettes',
      is: isCassetteList,
      what: 'list of cassettes',
    });
    if (!answer?.cassettes.some((one) => one.name === name)) return;
    if (Date.now() > end)
      throw new OperatorError(
        `Cannot purge '${name}': the service that runs still serves it, so it may read another list; take it off that one first`,
      );
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

/** @returns whether it had a schema or a role */
async function dropDatabase(name: string, database: OpenDatabase, { config }: LoadedConfig): Promise<boolean> {
  const { postgres_dsn: dsn, pooled } = config.storage;
  const databases = openCassetteDatabases({ database, dsn, pooled, log: openLog(config.log.level) });
  try {
    return await databases.remove(name);
  } catch (error) {
    if (!(error instanceof DatabaseError)) throw error;
    throw new OperatorError(`Cannot purge '${name}': ${error.message}`, 1, { cause: error });
  } finally {
    await databases.close();
  }
}
