/** A cassette's database in a test: set up as the host does it, on the test's own; and what must be the same after every call. */
import { type CassetteDatabases, openCassetteDatabases } from '../../core/cassette/database/cassette-databases.ts';
import { DatabaseError } from '../../core/errors.ts';
import { openLog } from '../../core/log.ts';
import type { TestDatabase } from './databases.ts';

export const cassettesOf = (database: TestDatabase): CassetteDatabases =>
  openCassetteDatabases({ database, dsn: database.dsn ?? '', pooled: false, log: openLog('silent') });

/** Provisioned under `name`, with tables. */
export async function furnished(
  cassettes: CassetteDatabases,
  name: string,
  { views = [], tables = '' }: { views?: readonly string[]; tables?: string } = {},
) {
  await cassettes.provision({ name, views, extensions: [] });
  await cassettes.migrate(name, [{ name: '0001', sql: tables }]);
  return cassettes.db(name);
}

/** The error of a statement that was refused. */
export async function refusal(work: Promise<unknown>): Promise<DatabaseError> {
  const thrown = await work.then(
    (answer) => new Error(`was not refused: ${JSON.stringify(answer).slice(0, 200)}`),
    (error: unknown) => error,
  );
  if (!(thrown instanceof DatabaseError)) throw thrown;
  return thrown;
}

/** The role of the core's own session, and the settings that a cassette could have left in it. */
export const coreSession = async (database: TestDatabase) => ({
  who: await database.sql('select current_user, session_user'),
  path: await database.sql(`select current_setting('search_path') as path, current_setting('role') as role`),
  settings: await database.sql(
    `select name, setting from pg_settings where source = 'session' and name <> 'statement_timeout' order by name`,
  ),
  left: await database.sql(
    `select (select count(*) from pg_locks l join pg_database d on d.oid = l.database
              where l.locktype = 'advisory' and d.datname = current_database()) as locks,
            (select count(*) from pg_class where relpersistence = 't') as temporary,
            (select count(*) from pg_largeobject_metadata) as large,
            (select count(*) from pg_listening_channels()) as channels`,
  ),
});
