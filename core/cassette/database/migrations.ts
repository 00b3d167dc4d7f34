/** A cassette's migrations: all are parsed before any runs, then run as its role; one that takes too long is ended and counts against it. */

import { createHash } from 'node:crypto';
import { MigrationRefused } from '../../db/cassette/grants-unavailable.ts';
import type { MigrationFile } from '../../db/cassette/migrate-cassette.ts';
import { schemaOf } from '../../db/cassette/names.ts';
import type { OpenDatabase } from '../../db/open.ts';
import { INTERNAL_ERROR, QUERY_CANCELED } from '../../db/sqlstates.ts';
import { DatabaseError } from '../../errors.ts';
import { labelled } from './embedded-calls.ts';
import type { Parser } from './parser-thread.ts';
import type { Penalties } from './penalties.ts';

export type CassetteMigration = { name: string; sql: string };

/** On the embedded database everything waits until all new ones have run, on a server nothing does: there each statement may take so long. */
const LIMIT_MS = { embedded: 10_000, server: 120_000 };
const BUILT_IN_LIMIT_MS = 600_000;

type Deps = { database: OpenDatabase; name: string; builtIn: boolean; parser: Parser; penalties: Penalties };

/** @returns the names of those that were applied @throws {MigrationRefused} */
export async function runMigrations(
  { database, name, builtIn, parser, penalties }: Deps,
  migrations: readonly CassetteMigration[],
): Promise<string[]> {
  const files = await readMigrations(parser, schemaOf(name), migrations);
  const limitMs = builtIn ? BUILT_IN_LIMIT_MS : LIMIT_MS[database.kind];
  const chargedRefusal = (migration: string, why: string, cause?: unknown) => {
    penalties.charge(`a migration ${why}`);
    return new MigrationRefused(migration, `${why}; it is not tried again until the cassette changes`, {
      cause,
      final: true,
    });
  };
  const lateReason = `was ended after ${limitMs / 1000} s: do less in it, and leave rows to background work`;
  try {
    const { applied, refused } = await database.execute(
      'migrateCassette',
      { name, migrations: files },
      labelled(name, builtIn, limitMs),
    );
    if (refused?.late) throw chargedRefusal(refused.migration, lateReason);
    if (refused) throw new MigrationRefused(refused.migration, refused.reason);
    return applied;
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.transient) throw error;
    if (error.sqlstate === QUERY_CANCELED) throw chargedRefusal('', `what has not run ${lateReason}`, error);
    if (error.sqlstate === INTERNAL_ERROR) throw chargedRefusal('', 'what has not run broke the database', error);
    throw error;
  }
}

/** By which it is known again, once it has run. */
export const migrationDigest = ({ name, sql }: CassetteMigration): Pick<MigrationFile, 'name' | 'sha256'> => ({
  name,
  sha256: createHash('sha256').update(sql).digest('hex'),
});

/** All of them, before any runs. @param own the cassette's schema @throws {MigrationRefused} */
async function readMigrations(
  parser: Parser,
  own: string,
  migrations: readonly CassetteMigration[],
): Promise<MigrationFile[]> {
  const names = new Set<string>();
  const files: MigrationFile[] = [];
  for (const { name, sql } of migrations) {
    if (!/^[a-z0-9_-]{1,100}$/.test(name)) {
      throw new MigrationRefused('', `'${name.slice(0, 100)}' is no name: at most 100 of a-z, 0-9, _ and -`);
    }
    if (names.has(name)) throw new MigrationRefused(name, 'there are two of this name');
    names.add(name);
    files.push({ ...migrationDigest({ name, sql }), statements: await statementsOf(parser, own, { name, sql }) });
  }
  return files;
}

async function statementsOf(parser: Parser, own: string, { name, sql }: CassetteMigration): Promise<string[]> {
  const text = await parser.migration(sql, own).catch((error: unknown) => {
    if (!(error instanceof DatabaseError) || error.transient) throw error;
    throw new MigrationRefused(name, error.message.replace(/^Cannot run a statement: /, ''), { cause: error });
  });
  if ('statements' in text) return text.statements;
  throw new MigrationRefused(name, text.line === 0 ? text.why : `line ${text.line}: ${text.why}`);
}
