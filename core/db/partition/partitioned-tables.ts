/**
 * Partitions the largest tables of a server (storage.partitioned): each becomes a partitioned table of the same name, and what was stored
 * until then its first partition, without being copied. The others, and a database that is not partitioned, have the same columns.
 */
import { type SQL, sql as statement } from 'drizzle-orm';
import { OperatorError } from '../../errors.ts';
import { MIGRATION_LOCK } from '../migrate.ts';
import type { Sql } from '../sql.ts';
import { stopWriters } from '../store/purge-count.ts';
import { addPartition, KEPT, openPartition, PARTITIONED, type Partitioned, partitionTable } from './partitions.ts';

/**
 * Any number of processes may do so at once. Nothing else reads or writes the tables meanwhile: their unique indexes are made anew, which
 * takes some seconds for a million rows.
 * @returns whether it was done here
 * @throws {OperatorError} status 2: the database is distributed
 */
export const partition = (sql: Sql): Promise<boolean> =>
  sql.transaction(async (tx) => {
    await tx.rows(statement`select pg_advisory_xact_lock(${MIGRATION_LOCK})`);
    if (await isPartitioned(tx)) return false;
    await refuseDistributed(tx);
    await stopWriters(tx);
    const views = await viewsOfTables(tx);
    await tx.rows(
      statement`alter table svc.raw_turn_corrections drop constraint if exists raw_turn_corrections_raw_turn_id_fkey`,
    );
    for (const table of PARTITIONED) await partitionOne(tx, table);
    for (const { name, options, definition } of views)
      await run(tx, `create or replace view ${name} ${options ? `with (${options})` : ''} as ${definition}`);
    await tx.rows(statement`
      insert into svc.partitions (partition_no, began_at, ended_at) values (0, null, now()), (${KEPT}, null, null)`);
    for (const table of PARTITIONED) await addPartition(tx, table, KEPT);
    await openPartition(tx, 1);
    return true;
  });

async function isPartitioned(sql: Sql): Promise<boolean> {
  const [row] = await sql.rows(
    statement`select 1 as one from pg_class where oid = 'svc.raw_turns'::regclass and relkind = 'p'`,
  );
  return row !== undefined;
}

async function refuseDistributed(tx: Sql): Promise<void> {
  const [row] = await tx.rows<{ distributed: boolean }>(
    statement`select to_regclass('svc_remote.spans') is not null as distributed`,
  );
  if (row?.distributed)
    throw new OperatorError(
      'Cannot partition the database (storage.partitioned): its tables are distributed, and retention deletes their rows',
      2,
    );
}

/** What is declared in `svc` alone is run as text: identifiers and definitions come from the catalogue. */
const run = (tx: Sql, text: string): Promise<unknown> => tx.rows(statement.raw(text));

type View = { name: string; options: string | null; definition: string };

/** The views that read the tables: they refer to them by number, and have to be made anew for the tables that take their names. */
async function viewsOfTables(tx: Sql): Promise<View[]> {
  await tx.rows(statement`select set_config('search_path', '', true)`); // so that each name in a definition has its schema
  return tx.rows<View>(statement`
    select distinct format('%I.%I', n.nspname, c.relname) as name, array_to_string(c.reloptions, ', ') as options,
           pg_get_viewdef(c.oid) as definition
      from pg_depend d
      join pg_rewrite r on r.oid = d.objid
      join pg_class c on c.oid = r.ev_class
      join pg_namespace n on n.oid = c.relnamespace
     where d.classid = 'pg_rewrite'::regclass and d.refclassid = 'pg_class'::regclass
       and d.refobjid in (${regclasses()}) and c.relkind = 'v'
     order by name`);
}

const regclasses = (): SQL =>
  statement.join(
    PARTITIONED.map((table) => statement`${`svc.${table}`}::regclass`),
    statement`, `,
  );

type Definition = { name: string; definition: string };

async function partitionOne(tx: Sql, table: Partitioned): Promise<void> {
  const whole = `svc.${table}`;
  const first = `svc.${partitionTable(table, 0)}`;
  const keys = await constraintsOf(tx, whole, ['p', 'u']);
  const references = await constraintsOf(tx, whole, ['f']);
  const indexes = await indexesOf(tx, whole);
  const triggers = await triggersOf(tx, whole);
  const identity = await identityOf(tx, whole);

  for (const { name } of triggers) await run(tx, `drop trigger ${name} on ${whole}`);
  for (const { name } of keys) await run(tx, `alter table ${whole} drop constraint ${name}`);
  for (const { name } of indexes) await run(tx, `alter index svc.${name} rename to ${name}_p0`);
  if (identity) await run(tx, `alter table ${whole} alter column ${identity.column} drop identity`);
  await run(tx, `alter table ${whole} rename to ${partitionTable(table, 0)}`);

  await run(
    tx,
    `create table ${whole} (like ${first} including defaults including constraints including storage including generated) partition by list (partition_no)`,
  );
  for (const { name, definition } of keys) {
    const key = definition.replace(/\)$/, ', partition_no)');
    await run(tx, `alter table ${whole} add constraint ${name} ${key}`);
    await run(tx, `alter table ${first} add constraint ${name}_p0 ${key}`);
  }
  for (const { definition } of indexes) await run(tx, definition);
  for (const { name, definition } of references)
    await run(tx, `alter table ${whole} add constraint ${name} ${definition}`);
  await run(tx, `alter table ${whole} attach partition ${first} for values in (0)`);
  if (identity)
    await run(
      tx,
      `alter table ${whole} alter column ${identity.column} add generated always as identity (sequence name ${identity.sequence} start with ${identity.next})`,
    );
  for (const { definition } of triggers) await run(tx, definition);
}

const constraintsOf = (tx: Sql, table: string, kinds: readonly string[]): Promise<Definition[]> =>
  tx.rows<Definition>(statement`
    select quote_ident(conname) as name, pg_get_constraintdef(oid) as definition
      from pg_constraint where conrelid = ${table}::regclass and contype::text in (${statement.join(
        kinds.map((kind) => statement`${kind}`),
        statement`, `,
      )})
     order by conname`);

/** Those that no constraint has made. */
const indexesOf = (tx: Sql, table: string): Promise<Definition[]> =>
  tx.rows<Definition>(statement`
    select quote_ident(c.relname) as name, pg_get_indexdef(c.oid) as definition
      from pg_index i join pg_class c on c.oid = i.indexrelid
     where i.indrelid = ${table}::regclass
       and not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.contype in ('p', 'u'))
     order by c.relname`);

const triggersOf = (tx: Sql, table: string): Promise<Definition[]> =>
  tx.rows<Definition>(statement`
    select quote_ident(tgname) as name, pg_get_triggerdef(oid) as definition
      from pg_trigger where tgrelid = ${table}::regclass and not tgisinternal
     order by tgname`);

type Identity = { column: string; sequence: string; next: number };

async function identityOf(tx: Sql, table: string): Promise<Identity | undefined> {
  const [found] = await tx.rows<Omit<Identity, 'next'>>(statement`
    select quote_ident(attname) as column, pg_get_serial_sequence(${table}, attname) as sequence
      from pg_attribute where attrelid = ${table}::regclass and attidentity <> ''`);
  if (!found) return undefined;
  const [row] = await tx.rows<{ next: number }>(
    statement`select last_value + is_called::integer as next from ${statement.raw(found.sequence)}`,
  );
  return { ...found, next: row?.next ?? 1 };
}
