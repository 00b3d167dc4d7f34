/** How does the host reach a cassette's database? Its role, its schema, its migrations, and the binding that becomes `env.DB`. */
import type { Log } from '../../log.ts';
import type { OpenDatabase } from '../open.ts';
import { type CassetteDb, cassetteDb, type DbOptions } from './cassette-db.ts';
import { embeddedCalls } from './embedded-calls.ts';
import { GrantsUnavailable, MigrationRefused } from './grants-unavailable.ts';
import { readCassetteMigrations } from './migration-text.ts';
import { schemaOf } from './names.ts';
import { type ServerCalls, serverCalls } from './server-calls.ts';

export type CassetteDatabases = {
  /**
   * Makes role and schema, grants the views, makes the extensions. Safe to repeat, and from several processes at once.
   * @throws {GrantsUnavailable} our own role may not, with the SQL for a DBA
   */
  provision(asked: { name: string; views: readonly string[]; extensions: readonly string[] }): Promise<void>;
  /** Of these, those that do not exist in `svc_v1`. */
  missingViews(views: readonly string[]): Promise<string[]>;
  /**
   * Applies what is missing, in order, as the role, each in a transaction; several processes may at once. None runs unless all
   * can be read. @throws {MigrationRefused} naming migration and reason
   */
  migrate(name: string, migrations: readonly { name: string; sql: string }[]): Promise<void>;
  /** The binding. (core/cassette/contract.ts, `Db`) */
  db(name: string, options?: DbOptions): CassetteDb;
  /** Drops its schema and role, and what is kept about them. Nothing of it may run any more. */
  remove(name: string): Promise<void>;
  /** Takes or renews the lease of its background work. True: it is ours for so long. */
  lease(name: string, token: string, ms: number): Promise<boolean>;
  release(name: string, token: string): Promise<void>;
  /** Ends what this opened; the database itself stays open. */
  close(): Promise<void>;
};

type Deps = { database: OpenDatabase; dsn: string; pooled: boolean; log: Log };

export function openCassetteDatabases({ database, dsn, pooled, log }: Deps): CassetteDatabases {
  const opened = new Map<string, ServerCalls>();
  const onServer = (name: string) => {
    const known = opened.get(name);
    if (known) return known;
    const calls = serverCalls({ name, dsn, pooled, login: () => database.ask('cassetteLogin', { name }) });
    opened.set(name, calls);
    return calls;
  };
  const forget = async (name: string) => {
    const calls = opened.get(name);
    opened.delete(name);
    await calls?.close();
  };
  return {
    async provision(asked) {
      await database.ask('provisionCassette', asked);
      if (database.kind === 'embedded') return;
      await forget(asked.name);
      await onServer(asked.name)
        .probe()
        .catch((error: Error) => {
          throw new GrantsUnavailable(
            `Cannot log in as its role: ${error.message}; the server (and a pooler before it) has to let it in with a password`,
            '',
            { cause: error },
          );
        });
    },
    missingViews: (views) => database.ask('missingViews', { views }),
    async migrate(name, migrations) {
      const files = await readCassetteMigrations(schemaOf(name), migrations);
      const { applied, refused } = await database.ask('migrateCassette', { name, migrations: files });
      if (applied.length > 0) log.info({ cassette: name, migrations: applied }, 'migrated the schema of a cassette');
      if (refused) throw new MigrationRefused(refused.migration, refused.reason);
    },
    db(name, options = {}) {
      const schema = schemaOf(name);
      const calls = database.kind === 'embedded' ? embeddedCalls(database, name) : () => onServer(name);
      return cassetteDb({ name, schema, calls: typeof calls === 'function' ? calls : () => calls, log }, options);
    },
    async remove(name) {
      await forget(name);
      await database.ask('removeCassette', { name });
    },
    lease: (name, token, ms) => database.ask('leaseCassette', { name, token, ms }),
    release: (name, token) => database.ask('releaseCassette', { name, token }),
    async close() {
      await Promise.all([...opened.keys()].map(forget));
    },
  };
}
