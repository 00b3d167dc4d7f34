/** Opens the database of the settings for a command that reads it, and makes none where there is none. */
import type { LoadedConfig } from '../config/load.ts';
import { isMade } from '../db/client/data-folder.ts';
import { holderOf } from '../db/client/folder-lock.ts';
import { type OpenDatabase, openDatabase } from '../db/open.ts';
import { OperatorError } from '../errors.ts';
import { openLog } from '../log.ts';
import { whereData } from './where-data.ts';

/** @param what the beginning of a message, as 'Cannot verify anything' @throws {OperatorError} there is none, or it cannot be opened */
export async function openForReading({ config, folder }: LoadedConfig, what: string): Promise<OpenDatabase> {
  const { postgres_dsn: dsn, pooled } = config.storage;
  if (dsn === '' && !isMade(folder))
    throw new OperatorError(`${what}: there is no database in '${whereData(dsn, folder)}'`);
  return openDatabase({ dsn, pooled, folder, log: openLog(config.log.level) });
}

/**
 * Whether a service has to do what a command wants of the database: the embedded one is open to one process at a time, the settings
 * name a service, or there is no database here.
 */
export const isServiceNeeded = ({ config, source, folder }: LoadedConfig): boolean => {
  if ((source['client.api_target'] ?? 'default') !== 'default') return true;
  if (config.storage.postgres_dsn !== '') return false;
  return holderOf(folder) !== null || !isMade(folder);
};
