/** Restores a backup into an empty database: the operations of `svc restore`, on a server within one transaction. */
import { sql } from 'drizzle-orm';
import { CALLS, schemaOf } from '../cassette/names.ts';
import { provisionCassette } from '../cassette/provision.ts';
import { bytesArray, pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { stopWriters } from '../store/purge-count.ts';
import type { CassetteSchema } from './cassette-schemas.ts';
import { type BackupColumn, type BackupValue, columnsOf, isBytes } from './columns.ts';
import { KEPT_NAMES } from './kept-tables.ts';
import type { BackupOpened } from './open-backup.ts';

/** What a database has already. `holds`: a table that is not empty; null: it may be restored into. */
export type RestoreTarget = { holds: string | null; migrations: string[] };

/** Nobody else writes until the end of the transaction. */
export async function openRestore(db: Sql, _args: Record<string, never>): Promise<RestoreTarget> {
  await stopWriters(db);
  let holds: string | null = null;
  for (const table of KEPT_NAMES) {
    const [row] = await db.rows(sql`select 1 as one from ${sql.raw(table)} limit 1`);
    if (row) holds ??= table;
  }
  const migrations = await db.rows<{ name: string }>(
    sql`select name from svc_meta.migrations order by name collate "C"`,
  );
  return { holds, migrations: migrations.map(({ name }) => name) };
}

type Rows = { schema: string; table: string; columns: readonly BackupColumn[]; rows: readonly BackupValue[][] };

/** @throws {Error} the table lacks a column of the backup, or has a row already */
export async function restoreRows(db: Sql, { schema, table, columns, rows }: Rows): Promise<void> {
  const inTable = new Map(
    (await columnsOf(db, `${quotedName(schema)}.${quotedName(table)}`)).map((one) => [one.name, one]),
  );
  const target = columns.map(({ name }) => {
    const column = inTable.get(name);
    if (!column) throw new Error(`Cannot restore ${schema}.${table}: it has no column ${name} in this version`);
    return column;
  });
  const list = sql.join(
    target.map(({ name }) => sql.identifier(name)),
    sql`, `,
  );
  const arrays = sql.join(
    target.map((column, i) => {
      const values = rows.map((row) => row[i] ?? null);
      return isBytes(column)
        ? sql`${bytesArray(values as (Uint8Array | null)[])}::bytea[]`
        : sql`${pgArray(values as (string | null)[])}::text[]`;
    }),
    sql`, `,
  );
  const names = sql.join(
    target.map((_, i) => sql.raw(`c${i}`)),
    sql`, `,
  );
  const values = sql.join(
    target.map((column, i) => (isBytes(column) ? sql.raw(`r.c${i}`) : sql.raw(`r.c${i}::${column.type}`))),
    sql`, `,
  );
  await db.rows(sql`
    insert into ${sql.identifier(schema)}.${sql.identifier(table)} (${list}) overriding system value
    select ${values} from unnest(${arrays}) as r (${names})`);
}

const quotedName = (name: string): string => `"${name.replaceAll('"', '""')}"`;

/**
 * The key that hashes clients, so that a conversation goes on; the values of sequences, so that no id of a purged turn is taken again. It
 * was made now: so it has an id of its own, by which `svc sync` notes what was sent, and gets what came after the backup once more.
 */
export async function restoreInstallation(
  db: Sql,
  { installation, sequences, purges }: Pick<BackupOpened, 'installation' | 'sequences'> & { purges: number },
): Promise<void> {
  await db.rows(sql`
    update svc.installation
       set identity_key = decode(${installation.identity_key}, 'hex'), created_at = now(), purges = ${purges}`);
  for (const { name, last } of sequences)
    await db.rows(sql`
      select setval(format('%I.%I', schemaname, sequencename)::regclass, ${last}::bigint)
        from pg_sequences where schemaname = 'svc' and sequencename = ${name}`);
}

/** Makes the schema, role and tables of a cassette. @throws {GrantsUnavailable} on a server, where svc may not make them */
export async function restoreCassetteSchema(
  db: Sql,
  { cassette, views, vector, before, migrations }: CassetteSchema,
): Promise<void> {
  await provisionCassette(db, { name: cassette, views, extensions: vector ? ['vector'] : [] });
  await runAsCassette(db, { cassette, statements: before });
  for (const { name, position, sha256, applied_at } of migrations)
    await db.rows(sql`
      insert into svc.cassette_migrations (cassette, name, position, sha256, applied_at)
      values (${cassette}, ${name}, ${position}::integer, decode(${sha256}, 'hex'), ${applied_at}::timestamptz)`);
}

/** Makes what refers to the rows, once they are there. */
export async function finishCassette(db: Sql, { cassette, schema, sequences, after }: CassetteSchema): Promise<void> {
  await runAsCassette(db, { cassette, statements: after });
  for (const { table, column, name, last } of sequences) {
    const sequence =
      table !== null && column !== null
        ? sql`pg_get_serial_sequence(format('%I.%I', ${schema}::text, ${table}::text), ${column})`
        : sql`format('%I.%I', ${schema}::text, ${name}::text)`;
    await db.rows(sql`select setval(${sequence}::regclass, ${last}::bigint)`);
  }
}

/** With the rights of the cassette's role, which reach no further than its schema: a file may be from anybody. */
async function runAsCassette(
  db: Sql,
  { cassette, statements }: { cassette: string; statements: readonly string[] },
): Promise<void> {
  const call = sql`${sql.identifier(CALLS)}.${sql.identifier(schemaOf(cassette))}`;
  await db.transaction(async (tx) => {
    for (const statement of statements) await tx.rows(sql`select ${call}(${statement}, 'count', 0)`);
  });
}

/** Everything is to be derived again, and whoever reads along is to read everything again. */
export const finishRestore = (db: Sql, _args: Record<string, never>): Promise<void> =>
  db.transaction(async (tx) => {
    // A backup of an earlier version counts no turns that were purged.
    await tx.rows(sql`
      update svc.sessions s set purged_turns = t.turns
        from (select purged_session_id, count(*) as turns from svc.tombstones group by 1) t
       where s.session_id = t.purged_session_id and s.purged_turns <> t.turns`);
    await tx.rows(sql`
      insert into svc.session_revisions as v (session_id, rev, floor) select session_id, 2, 2 from svc.sessions
      on conflict (session_id) do update set rev = v.rev + 1, floor = v.rev + 1`);
    await tx.rows(sql`
      insert into svc.session_changes (session_id, turn_count) select session_id, turn_count from svc.sessions
      on conflict (session_id) do nothing`);
    await tx.rows(sql`
      insert into svc.derive_queue (session_id, from_scratch)
      select s.session_id, true from svc.sessions s
       where s.turn_count > 0 or exists (select 1 from svc.raw_turn_corrections k where k.session_id = s.session_id)
      on conflict (session_id) do nothing`);
  });
