/** A cassette's database, for the host: its role, its schema, its migrations, and the binding that becomes `env.DB`. */

import { GrantsUnavailable, MigrationRefused } from '../../db/cassette/grants-unavailable.ts';
import { schemaOf } from '../../db/cassette/names.ts';
import { type ServerCalls, serverCalls } from '../../db/cassette/server-calls.ts';
import type { OpenDatabase } from '../../db/open.ts';
import type { Logger } from '../../log.ts';
import { type CassetteDb, cassetteDb, type DbOptions } from './cassette-db.ts';
import { embeddedCalls } from './embedded-calls.ts';
import { type CassetteMigration, migrationDigest, runMigrations } from './migrations.ts';
import { openParser } from './parser-thread.ts';
import { openQuota, type Quota } from './quota.ts';

export type CassetteDatabases = {
  /**
   * Creates role, schema and extensions, and grants the views. Safe to repeat, and from several processes at once.
   * @throws {MigrationRefused} the migrations cannot follow what has run: nothing has changed
   * @throws {GrantsUnavailable} the service's own role lacks a right; with the SQL for a DBA
   */
  provision(request: CassetteNeeds): Promise<void>;
  /** Those of the views that do not exist in `svc_v1`. */
  missingViews(views: readonly string[]): Promise<string[]>;
  /**
   * Applies missing migrations in order, as the role, all of them or none; several processes may do so at once. None runs unless
   * all can be parsed. @throws {MigrationRefused} naming migration and reason
   */
  migrate(name: string, migrations: readonly CassetteMigration[], options?: Pick<DbOptions, 'builtIn'>): Promise<void>;
  /** The binding. (core/cassette/contract.ts, `Db`) */
  db(name: string, options?: DbOptions): CassetteDb;
  /** Drops its schema and role, and the rows about them. Nothing of the cassette may still run. @returns whether it had any */
  remove(name: string): Promise<boolean>;
  /** Acquires or renews the lease of its background work. True: this process holds it for `ms`. */
  lease(name: string, token: string, ms: number): Promise<boolean>;
  release(name: string, token: string): Promise<void>;
  /** Whether any session has changed that the snapshot `seen` does not see, and the snapshot for the next call. */
  changes(seen: string): Promise<{ seen: string; changed: boolean }>;
  /** Closes its own connections and the parser; the database itself stays open. */
  close(): Promise<void>;
};

/** What a version of a cassette has in its manifest. `migrations` absent: they are not compared with what has run. */
type CassetteNeeds = {
  name: string;
  views: readonly string[];
  extensions: readonly string[];
  migrations?: readonly CassetteMigration[];
};

type Deps = { database: OpenDatabase; dsn: string; pooled: boolean; log: Logger };

/** Shorter on the embedded database, where everything waits while a statement runs. */
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
    const existing = opened.get(name);
    if (existing) return existing;
    const login = () => database.execute('cassetteLogin', { name });
    const calls = serverCalls({ dsn, pooled, login, statements });
    opened.set(name, calls);
    return calls;
  };
  const disconnect = async (name: string) => {
    const calls = opened.get(name);
    opened.delete(name);
    await calls?.close();
  };
  return {
    async provision({ migrations, ...request }) {
      const digests = migrations && { migrations: migrations.map(migrationDigest) };
      const refused = await database.execute('provisionCassette', { ...request, ...digests });
      if (refused) throw new MigrationRefused(refused.migration, refused.reason);
      if (kind === 'embedded') return;
      const calls = onServer(request.name);
      await calls.renew(); // the cassette as it was before may still run
      await calls.probe().catch((error: Error) => {
        throw new GrantsUnavailable(
          `Cannot log in as its role: ${error.message}; the server (and a pooler before it) has to let it in with a password`,
          '',
          { cause: error },
        );
      });
    },
    missingViews: (views) => database.execute('missingViews', { views }),
    async migrate(name, migrations, { builtIn = false } = {}) {
      const { penalties } = quotaOf(name, builtIn);
      const applied = await runMigrations({ database, name, builtIn, parser, penalties }, migrations);
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
      await disconnect(name);
      return database.execute('removeCassette', { name });
    },
    lease: (name, token, ms) => database.execute('leaseCassette', { name, token, ms }),
    release: (name, token) => database.execute('releaseCassette', { name, token }),
    changes: (seen) => database.execute('changedSince', { seen }),
    async close() {
      await Promise.all([parser.close(), ...[...opened.keys()].map(disconnect)]);
    },
  };
}
