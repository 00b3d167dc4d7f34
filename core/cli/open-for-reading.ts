/** Opens the database of the settings for a command that reads it, and makes none where there is none; or finds the service that reads it. */
import type { ConfigSource, LoadedConfig } from '../config/load.ts';
import { isMade } from '../db/client/data-folder.ts';
import { holderOf } from '../db/client/folder-lock.ts';
import { type OpenDatabase, openDatabase } from '../db/open.ts';
import { OperatorError } from '../errors.ts';
import { openLog } from '../log.ts';
import { type ApiClient, openApiClient } from './api-client.ts';
import type { Io } from './io.ts';
import { plain } from './units.ts';
import { whereData } from './where-data.ts';

/**
 * @param what the beginning of a message, as 'Cannot verify anything'
 * @param io is shown which database it is
 * @throws {OperatorError} there is none, or it cannot be opened
 */
export async function openForReading(
  { config, folder }: LoadedConfig,
  what: string,
  io: Pick<Io, 'err'>,
): Promise<OpenDatabase> {
  const { postgres_dsn: dsn, pooled } = config.storage;
  const place = whereData(dsn, folder);
  if (dsn === '' && !isMade(folder)) throw new OperatorError(`${what}: there is no database in '${place}'`);
  io.err(`Database: ${plain(place)}\n`);
  return openDatabase({ dsn, pooled, folder, log: openLog(config.log.level) });
}

/**
 * The service that has to do what a command wants of the database: the settings name one, or it has the embedded database open, which is
 * open to one process at a time. Where there is no database here it is the one that runs, if any does. null: the database is to be opened.
 * @param what, io as above, for the service @throws {OperatorError} it cannot be used
 */
export async function serviceInstead(
  loaded: LoadedConfig,
  what: string,
  io: Pick<Io, 'err'>,
): Promise<ApiClient | null> {
  const service = await serviceFor(loaded, what);
  if (service) io.err(`Service: ${plain(service.address)}\n`);
  return service;
}

async function serviceFor(loaded: LoadedConfig, what: string): Promise<ApiClient | null> {
  const { config, folder } = loaded;
  const named = namedBySettings(loaded);
  if (named === 'service') return openApiClient(loaded);
  if (config.storage.postgres_dsn !== '') return null;
  const own = named === 'database' ? withoutTarget(loaded) : loaded;
  const holder = holderOf(folder);
  if (holder === null) return isMade(folder) ? null : openApiClient(own).catch(() => null);
  return openApiClient(own).catch((error: Error) => {
    const has = `process ${holder} has the embedded database open, which is open to one process at a time`;
    throw new OperatorError(`${what}: ${has}, and its read API cannot be used (${error.message})`, 1, { cause: error });
  });
}

const STRENGTH: readonly ConfigSource[] = ['default', 'file', 'environment', 'flag'];

/**
 * What the settings name by the stronger source, and the database where both come from the same; null: neither is set. An empty DSN means
 * the embedded database as a flag; a variable that is set to nothing means nothing.
 */
function namedBySettings({ config, source }: LoadedConfig): 'service' | 'database' | null {
  const strength = (key: string) => STRENGTH.indexOf(source[key] ?? 'default');
  const isNamed = config.storage.postgres_dsn !== '' || source['storage.postgres_dsn'] === 'flag';
  const [service, database] = [strength('client.api_target'), isNamed ? strength('storage.postgres_dsn') : 0];
  if (service > database) return 'service';
  return database > 0 ? 'database' : null;
}

/** As when no service was named: what has this folder's database open is the service of this folder. */
const withoutTarget = (loaded: LoadedConfig): LoadedConfig => ({
  ...loaded,
  source: { ...loaded.source, 'client.api_target': 'default' },
});
