/** How does the host reach a cassette's database? Its role, its schema, its migrations, and the binding that becomes `env.DB`. */
import type { Logger } from '../../log.ts';
import type { OpenDatabase } from '../open.ts';
import { type CassetteDb, cassetteDb, type DbOptions } from './cassette-db.ts';
import { embeddedCalls } from './embedded-calls.ts';
import { GrantsUnavailable } from './grants-unavailable.ts';
import { type CassetteMigration, runMigrations } from './migrations.ts';
import { schemaOf } from './names.ts';
import { openParser } from './parser-thread.ts';
import { openQuota, type Quota } from './quota.ts';
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
  migrate(name: string, migrations: readonly CassetteMigration[], options?: Pick<DbOptions, 'builtIn'>): Promise<void>;
  /** The binding. (core/cassette/contract.ts, `Db`) */
  db(name: string, options?: DbOptions): CassetteDb;
  /** Drops its schema and role, and what is kept about them. Nothing of it may run any more. */
  remove(name: string): Promise<void>;
  /** Takes or renews the lease of its background work. True: it is ours for so long. */
  lease(name: string, token: string, ms: number): Promise<boolean>;
  release(name: string, token: string): Promise<void>;
  /** Whether any session has changed that the snapshot `seen` does not see, and the snapshot to ask with next. */
  changes(seen: string): Promise<{ seen: string; changed: boolean }>;
  /** Ends what this opened; the database itself stays open. */
  close(): Promise<void>;
};

type Deps = { database: OpenDatabase; dsn: string; pooled: boolean; log: Logger };

/** On the embedded database everybody waits while a statement runs. */
const STATEMENT_MS = { embedded: 10_000, server: 30_000 };

export function openCassetteDatabases({ database, dsn, pooled, log }: Deps): CassetteDatabases {
  const { kind } = database;
  const parser = openParser();
  const quotas = new Map<string, Quota>();
  const quotaOf = (name: string, builtIn: boolean) => {
    const quota = quotas.get(name) ?? openQuota({ name, kind, builtIn, log });
    quotas.set(name, quota);
    return quota;
  };
  const opened = new Map<string, ServerCalls>();
  const onServer = (name: string, { statements } = quotaOf(name, false)) => {
    const known = opened.get(name);
    if (known) return known;
    const login = () => database.execute('cassetteLogin', { name });
    const calls = serverCalls({ dsn, pooled, login, statements });
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
      await database.execute('provisionCassette', asked);
      if (kind === 'embedded') return;
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
    missingViews: (views) => database.execute('missingViews', { views }),
    async migrate(name, migrations, { builtIn = false } = {}) {
      const { troubles } = quotaOf(name, builtIn);
      const applied = await runMigrations({ database, name, builtIn, parser, troubles }, migrations);
      if (applied.length > 0) log.info({ cassette: name, migrations: applied }, 'migrated the schema of a cassette');
    },
    db(name, options = {}) {
      const { builtIn = false } = options;
      const quota = quotaOf(name, builtIn);
      const { statements } = quota;
      const embedded = embeddedCalls({ database, name, builtIn, statements });
      const calls = () => (kind === 'embedded' ? embedded : onServer(name, quota));
      const statementMs = options.statementMs ?? STATEMENT_MS[kind];
      return cassetteDb({ name, schema: schemaOf(name), calls, parser, quota, log }, { ...options, statementMs });
    },
    async remove(name) {
      await forget(name);
      await database.execute('removeCassette', { name });
    },
    lease: (name, token, ms) => database.execute('leaseCassette', { name, token, ms }),
    release: (name, token) => database.execute('releaseCassette', { name, token }),
    changes: (seen) => database.execute('changedSince', { seen }),
    async close() {
      await Promise.all([parser.close(), ...[...opened.keys()].map(forget)]);
    },
  };
}
