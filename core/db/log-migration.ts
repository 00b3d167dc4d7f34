/** What a migration tells an operator who waits for it. */
import type { Logger } from '../log.ts';

export const logMigration = (log: Logger) => (migration: string) =>
  log.info({ migration }, 'The database is being migrated; where it is large, this takes a while');
