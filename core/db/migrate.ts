/** Migrates the database to this version: the files (migrations.ts), forward only, each in a transaction, compared with those that ran. */

import { sql as statement } from 'drizzle-orm';
import { DatabaseError, OperatorError } from '../errors.ts';
import type { SchemaMigration } from './migrations.ts';
import type { Sql } from './sql.ts';
import { INSUFFICIENT_PRIVILEGE } from './sqlstates.ts';

const OLDEST_SERVER = 170000;
/** Of those who change tables. A number of our own, since applications of one database share these locks. */
export const MIGRATION_LOCK = statement.raw('8201447304118392');

type MigrateOptions = { ownSession?: boolean; begins?: (name: string) => void };

/**
 * Applies missing migrations; any number of processes may do so at once, since on a server each transaction takes the lock (which
 * also works through a pooler).
 * @param options `ownSession`: all statements run over one connection that is this process's until its end. Then the first of many applies
 *   all of them, and the others do not take turns with it. `begins`: called before each that changes a database in use, since it may take
 *   minutes there. @returns the names of those applied here
 * @throws {OperatorError} an old server, an edited file, a database of a newer version, missing rights
 */
export async function migrate(
  sql: Sql,
  migrations: readonly SchemaMigration[],
  { ownSession = false, begins = () => {} }: MigrateOptions = {},
): Promise<string[]> {
  try {
    if (ownSession) await sql.rows(statement`select pg_advisory_lock(${MIGRATION_LOCK})`);
    if (sql.kind === 'server') await refuseOldServer(sql); // the embedded one comes with svc, and has one client
    const applied: string[] = [];
    for (;;) {
      const name = await sql.transaction(async (tx) => {
        if (sql.kind === 'server') await tx.rows(statement`select pg_advisory_xact_lock(${MIGRATION_LOCK})`);
        const before = await ledger(tx);
        const next = nextMigration(before, migrations);
        if (!next) return undefined;
        if (before.length > applied.length) begins(next.name);
        await tx.script(next.text);
        const { name, sha256 } = next;
        await tx.rows(
          statement`insert into svc_meta.migrations (name, sha256) values (${name}, decode(${sha256}, 'hex'))`,
        );
        return name;
      });
      if (name === undefined) return applied;
      applied.push(name);
    }
  } catch (error) {
    if (error instanceof DatabaseError && error.sqlstate === INSUFFICIENT_PRIVILEGE) {
      throw new OperatorError(`Cannot migrate the database: the role lacks a right (${error.message})`);
    }
    throw error;
  } finally {
    if (ownSession) await sql.rows(statement`select pg_advisory_unlock(${MIGRATION_LOCK})`).catch(() => {}); // a lost session has none
  }
}

/** @param version of the form of `server_version_num`, 170004 @throws {OperatorError} */
export function refuseOldVersion(version: number): void {
  if (version >= OLDEST_SERVER) return;
  const [found, required] = [version, OLDEST_SERVER].map((number) => Math.trunc(number / 10_000));
  throw new OperatorError(`Cannot use this server: it is PostgreSQL ${found}, and ${required} or later is needed`);
}

async function refuseOldServer(sql: Sql): Promise<void> {
  const [row] = await sql.rows<{ version: number }>(
    statement`select current_setting('server_version_num')::integer as version`,
  );
  refuseOldVersion(row?.version ?? 0);
}

type Applied = { name: string; sha256: string };

async function ledger(tx: Sql): Promise<Applied[]> {
  const [row] = await tx.rows<{ there: boolean }>(
    statement`select to_regclass('svc_meta.migrations') is not null as there`,
  );
  if (!row?.there) {
    await tx.script(`
      create schema if not exists svc_meta;
      create table svc_meta.migrations (
        name       text primary key,
        sha256     bytea not null,
        applied_at timestamptz not null default now()
      );`);
  }
  return tx.rows<Applied>(
    statement`select name, encode(sha256, 'hex') as sha256 from svc_meta.migrations order by name collate "C"`,
  );
}

/** The first file that has not run, once all that ran are known and unchanged. */
function nextMigration(
  applied: readonly Applied[],
  migrations: readonly SchemaMigration[],
): SchemaMigration | undefined {
  for (const [i, { name, sha256 }] of applied.entries()) {
    const file = migrations.find((migration) => migration.name === name);
    if (!file) {
      throw new OperatorError(
        `Cannot use this database: a newer version of svc has migrated it (${name}); start that version or a later one`,
      );
    }
    if (file.sha256 !== sha256) {
      throw new OperatorError(
        `Cannot use this database: ${name} was edited after it had been applied; restore the file`,
      );
    }
    if (migrations[i]?.name !== name) {
      throw new OperatorError(
        `Cannot use this database: ${migrations[i]?.name} comes before ${name}, which has been applied; number it higher`,
      );
    }
  }
  return migrations[applied.length];
}
