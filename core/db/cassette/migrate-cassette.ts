/** Runs a cassette's migrations: once each, in their order, as its role, and recorded in the service's ledger. */
import { sql } from 'drizzle-orm';
import { DatabaseError } from '../../errors.ts';
import type { Sql } from '../sql.ts';
import { CALLS, schemaOf } from './names.ts';

/** A migration that has been checked, statement by statement. */
export type MigrationFile = { name: string; sha256: string; statements: readonly string[] };

/** Why a migration was refused, and which; plain data, since it passes between threads. `late`: a statement took too long. */
type Refused = { migration: string; reason: string; late?: boolean };

export type Migrated = { applied: string[]; refused: Refused | null };

/** Any number of processes may run this at once: each migration's transaction holds the lock. */
export async function migrateCassette(
  db: Sql,
  { name, migrations }: { name: string; migrations: readonly MigrationFile[] },
): Promise<Migrated> {
  const applied: string[] = [];
  for (;;) {
    const step = await nextStep(db, name, migrations);
    if (step.refused) return { applied, refused: step.refused };
    if (step.applied === undefined) return { applied, refused: null };
    applied.push(step.applied);
  }
}

type Step = { applied?: string; refused?: Refused };

async function nextStep(db: Sql, name: string, migrations: readonly MigrationFile[]): Promise<Step> {
  let running = '';
  try {
    return await db.transaction(async (tx) => {
      await tx.rows(sql`select pg_advisory_xact_lock(820144730, hashtext(${name}))`);
      const { next, position, refused } = nextMigration(await ledger(tx, name), migrations);
      if (refused) return { refused };
      if (!next) return {};
      running = next.name;
      const call = sql`${sql.identifier(CALLS)}.${sql.identifier(schemaOf(name))}`;
      for (const statement of next.statements) await tx.rows(sql`select ${call}(${statement}, 'count', 0)`);
      await tx.rows(sql`
        insert into svc.cassette_migrations (cassette, name, position, sha256)
        values (${name}, ${next.name}, ${position}::integer, decode(${next.sha256}, 'hex'))`);
      if (tx.kind === 'embedded') await tx.script('reset all; discard temp');
      return { applied: next.name };
    });
  } catch (error) {
    if (running === '' || !(error instanceof DatabaseError)) throw error;
    if (error.sqlstate === TOO_LATE) return { refused: { migration: running, reason: '', late: true } };
    if (error.transient) throw error;
    return { refused: { migration: running, reason: error.message.replace(/^Cannot run a statement: /, '') } };
  }
}

const TOO_LATE = '57014'; // query_canceled

type Applied = { name: string; sha256: string };

const ledger = (tx: Sql, name: string): Promise<Applied[]> =>
  tx.rows<Applied>(
    sql`select name, encode(sha256, 'hex') as sha256 from svc.cassette_migrations where cassette = ${name} order by position`,
  );

/** The first that has not run, once all that ran are known and unchanged. */
function nextMigration(
  applied: readonly Applied[],
  migrations: readonly MigrationFile[],
): { next?: MigrationFile; position?: number; refused?: Refused } {
  for (const [i, { name, sha256 }] of applied.entries()) {
    const file = migrations.find((migration) => migration.name === name);
    if (!file) {
      return refusal(
        name,
        'it has run, and this version of the cassette lacks it: install that version or a later one',
      );
    }
    if (file.sha256 !== sha256)
      return refusal(name, 'it was edited after it had run: put its text back, and add another');
    const other = migrations[i]?.name ?? '';
    if (other !== name) return refusal(other, `it stands before ${name}, which has run: put new ones last`);
  }
  const next = migrations[applied.length];
  return next ? { next, position: applied.length + 1 } : {};
}

const refusal = (migration: string, reason: string) => ({ refused: { migration, reason } });
