/** Runs a cassette's migrations: once each, in their order, as its role, and recorded in the service's ledger; the new ones all or none. */

import { sql } from 'drizzle-orm';
import { DatabaseError } from '../../errors.ts';
import type { Sql } from '../sql.ts';
import { QUERY_CANCELED } from '../sqlstates.ts';
import { takeLock } from './advisory-lock.ts';
import { CALLS, schemaOf } from './names.ts';

/** A migration that has been checked, statement by statement. */
export type MigrationFile = { name: string; sha256: string; statements: readonly string[] };

/** Why a migration was refused, and which; plain data, since it passes between threads. `late`: a statement took too long. */
export type RefusedMigration = { migration: string; reason: string; late?: boolean };

export type Migrated = { applied: string[]; refused: RefusedMigration | null };

/**
 * Those that have not run, in one transaction: when one fails, the version before can be put back, which rejects migrations that it lacks.
 * Any number of processes may run this at once: the transaction holds the lock.
 */
export async function migrateCassette(
  db: Sql,
  { name, migrations }: { name: string; migrations: readonly MigrationFile[] },
): Promise<Migrated> {
  let running = '';
  try {
    return await db.transaction(async (tx) => {
      const { recorded, refused } = await compareWithLedger(tx, { name, migrations });
      if (refused) return refusal(refused);
      const missing = migrations.slice(recorded);
      for (const [i, migration] of missing.entries()) {
        running = migration.name;
        await runMigration(tx, name, migration, recorded + i + 1);
      }
      return { applied: missing.map((migration) => migration.name), refused: null };
    });
  } catch (error) {
    if (running === '' || !(error instanceof DatabaseError)) throw error;
    if (error.sqlstate === QUERY_CANCELED) return refusal({ migration: running, reason: '', late: true });
    if (error.transient) throw error;
    return refusal({ migration: running, reason: error.message.replace(/^Cannot run a statement: /, '') });
  }
}

const refusal = (refused: RefusedMigration): Migrated => ({ applied: [], refused });

async function runMigration(tx: Sql, cassette: string, { name, sha256, statements }: MigrationFile, position: number) {
  const call = sql`${sql.identifier(CALLS)}.${sql.identifier(schemaOf(cassette))}`;
  for (const statement of statements) await tx.rows(sql`select ${call}(${statement}, 'count', 0)`);
  await tx.script(CHECK_DEFERRED);
  await tx.rows(sql`
    insert into svc.cassette_migrations (cassette, name, position, sha256)
    values (${cassette}, ${name}, ${position}::integer, decode(${sha256}, 'hex'))`);
  if (tx.kind === 'embedded') await tx.script('reset all; discard temp');
}

/** Deferred constraints fail in the migration that broke them, and a later one can alter their tables. */
const CHECK_DEFERRED = 'set constraints all immediate; set constraints all deferred';

type Applied = Pick<MigrationFile, 'name' | 'sha256'>;

/**
 * Until the transaction ends, no other process migrates the cassette.
 * @returns how many have run, and why these cannot follow them
 * @throws {DatabaseError} 55P03: another process has migrated it for as long as a statement may take
 */
export async function compareWithLedger(
  tx: Sql,
  { name, migrations }: { name: string; migrations: readonly Applied[] },
): Promise<{ recorded: number; refused: RefusedMigration | null }> {
  const lock = sql`select pg_advisory_xact_lock(820144730, hashtext(${name}))`;
  await takeLock(tx, lock, 'another process is migrating the database of this cassette');
  const applied = await ledger(tx, name);
  return { recorded: applied.length, refused: contradiction(applied, migrations) };
}

const ledger = (tx: Sql, name: string): Promise<Applied[]> =>
  tx.rows<Applied>(
    sql`select name, encode(sha256, 'hex') as sha256 from svc.cassette_migrations where cassette = ${name} order by position`,
  );

/** Why they cannot follow what has run. */
function contradiction(applied: readonly Applied[], migrations: readonly Applied[]): RefusedMigration | null {
  for (const [i, { name, sha256 }] of applied.entries()) {
    const file = migrations.find((migration) => migration.name === name);
    if (!file) {
      const reason = 'it has run, and this version of the cassette lacks it: install that version or a later one';
      return { migration: name, reason };
    }
    if (file.sha256 !== sha256)
      return { migration: name, reason: 'it was edited after it had run: put its text back, and add another' };
    const other = migrations[i]?.name ?? '';
    if (other !== name)
      return { migration: other, reason: `it stands before ${name}, which has run: put new ones last` };
  }
  return null;
}
