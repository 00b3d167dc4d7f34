/** Opens the database of the settings for a command that reads it, and makes none where there is none. */
import type { LoadedConfig } from '../config/load.ts';
import { isMade } from '../db/client/data-folder.ts';
import { holderOf } from '../db/client/folder-lock.ts';
import { type OpenDatabase, openDatabase } from '../db/open.ts';
import { OperatorError } from '../errors.ts';
import { openLog } from '../log.ts';
import { type ApiClient, openApiClient } from './api-client.ts';
import { whereData } from './where-data.ts';

/** @param what the beginning of a message, as 'Cannot verify anything' @throws {OperatorError} there is none, or it cannot be opened */
export async function openForReading({ config, folder }: LoadedConfig, what: string): Promise<OpenDatabase> {
  const { postgres_dsn: dsn, pooled } = config.storage;
  if (dsn === '' && !isMade(folder))
    throw new OperatorError(`${what}: there is no database in '${whereData(dsn, folder)}'`);
  return openDatabase({ dsn, pooled, folder, log: openLog(config.log.level) });
}

/**
 * The service that has to do what a command wants of the database: the settings name one, or it has the embedded database open, which is
 * open to one process at a time. Where there is no database here it is the one that runs, if any does. null: the database is to be opened.
 * @param what as above @throws {OperatorError} it cannot be used
 */
export async function serviceInstead(loaded: LoadedConfig, what: string): Promise<ApiClient | null> {
  const { config, source, folder } = loaded;
  if ((source['client.api_target'] ?? 'default') !== 'default') return openApiClient(loaded);
  if (config.storage.postgres_dsn !== '') return null;
  const holder = holderOf(folder);
  if (holder === null) return isMade(folder) ? null : openApiClient(loaded).catch(() => null);
  return openApiClient(loaded).catch((error: Error) => {
    const has = `process ${holder} has the embedded database open, which is open to one process at a time`;
    throw new OperatorError(`${what}: ${has}, and its read API cannot be used (${error.message})`, 1, { cause: error });
  });
}
