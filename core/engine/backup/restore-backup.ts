/** Writes what a backup holds into an empty database, table by table. */
import type { CassetteSchema } from '../../db/backup/cassette-schemas.ts';
import { KEPT_NAMES } from '../../db/backup/kept-tables.ts';
import { schemaOf } from '../../db/cassette/names.ts';
import type { Database } from '../../db/database.ts';
import { OperatorError } from '../../errors.ts';
import type { BackupHead } from './format.ts';
import type { BackupBatch } from './read-backup.ts';

export type RestoreOptions = {
  /** Refuses statements that make the tables of a cassette and do more than that. @throws {OperatorError} */
  checkStatements: (cassette: CassetteSchema) => Promise<void>;
  /** Whether the tables of cassettes are restored as well. */
  cassettes: boolean;
};

/** @returns the cassettes whose tables were restored @throws {OperatorError} the database is not empty, or of another version */
export async function restoreBackup(
  execute: Database['execute'],
  batches: AsyncIterable<BackupBatch>,
  { checkStatements, cassettes }: RestoreOptions,
): Promise<CassetteSchema[]> {
  const restored: CassetteSchema[] = [];
  for await (const batch of batches) {
    if ('head' in batch) await begin(execute, batch.head);
    else if ('rows' in batch) {
      const { table, cassette, columns, rows } = batch;
      if (cassette !== null) {
        if (cassettes) await execute('restoreRows', { schema: schemaOf(cassette), table, columns, rows });
      } else {
        if (!KEPT_NAMES.includes(table))
          throw new OperatorError(`Cannot restore '${table}': a backup has no such table`);
        await execute('restoreRows', { schema: 'svc', table: table.slice('svc.'.length), columns, rows });
      }
    } else if (cassettes) {
      await checkStatements(batch.cassette);
      await execute('restoreCassetteSchema', batch.cassette);
      restored.push(batch.cassette);
    }
  }
  for (const cassette of restored) await execute('finishCassette', cassette);
  await execute('finishRestore', {});
  return restored;
}

async function begin(execute: Database['execute'], head: BackupHead): Promise<void> {
  const { holds, migrations } = await execute('openRestore', {});
  if (holds !== null) throw notEmpty(holds);
  refuseNewer(head, migrations);
  const { installation, sequences, purges } = head;
  await execute('restoreInstallation', { installation, sequences, purges });
}

export const notEmpty = (table: string) =>
  new OperatorError(
    `Cannot restore: the database is not empty (${table}); restore into a new one, in another directory or at another storage.postgres_dsn`,
  );

/** Columns are found by their names, so a backup of an older version fits, whose migrations are the first ones of this version. */
function refuseNewer(head: BackupHead, migrations: readonly string[]): void {
  if (head.migrations.every((name, i) => name === migrations[i])) return;
  throw new OperatorError(
    `Cannot restore: svc ${head.version} made the backup, whose tables this version does not know; install that version or a later one`,
  );
}
