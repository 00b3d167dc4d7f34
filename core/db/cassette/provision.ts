/** Creates a cassette's role, schema and grants: all in one transaction, and again at each start. */

import { type SQL, sql } from 'drizzle-orm';
import { DatabaseError } from '../../errors.ts';
import type { Sql } from '../sql.ts';
import { INSUFFICIENT_PRIVILEGE } from '../sqlstates.ts';
import { takeLock } from './advisory-lock.ts';
import { makeCall } from './call-function.ts';
import { GrantsUnavailable } from './grants-unavailable.ts';
import { compareWithLedger, type MigrationFile, type RefusedMigration } from './migrate-cassette.ts';
import { cassetteLogin, EXTENSIONS, roleOf, schemaOf, scramVerifier } from './names.ts';

/** `migrations`: those of its version, which have to follow what has run. Absent: they are not looked at. */
export type ProvisionRequest = {
  name: string;
  views: readonly string[];
  extensions: readonly string[];
  migrations?: readonly Pick<MigrationFile, 'name' | 'sha256'>[];
};

/** One at a time in a database: concurrent grants would conflict in the same rows of the catalog. */
const LOCK = sql`select pg_advisory_xact_lock(8201447304118393)`;

/** All of a cassette is on the coordinator of a Citus cluster, and its workers need not know of it. (distribute/remote-views.ts) */
const ON_THIS_SERVER = 'citus.enable_ddl_propagation = off';

async function hasCitus(tx: Sql): Promise<boolean> {
  if (tx.kind === 'embedded') return false;
  return (await tx.rows(sql`select 1 as one from pg_extension where extname = 'citus'`)).length > 0;
}

/** Of a role, on all replicas together. */
const MOST_CONNECTIONS = 64;

/**
 * Of a version that is refused nothing is made: another process may run the one after it, whose grants these would replace.
 * @returns why its migrations are refused; null: they are not
 * @throws {GrantsUnavailable} on a server
 */
export async function provisionCassette(
  db: Sql,
  { name, views, extensions, migrations }: ProvisionRequest,
): Promise<RefusedMigration | null> {
  const unknown = extensions.find((extension) => extension !== 'vector');
  if (unknown !== undefined) throw new GrantsUnavailable(`Cannot offer the extension '${unknown}': only vector is`, '');
  return db.transaction(async (tx) => {
    const { refused } = migrations ? await compareWithLedger(tx, { name, migrations }) : { refused: null };
    if (refused) return refused;
    // after the other: a cassette that migrates for long keeps no others waiting
    await takeLock(tx, LOCK, 'another process is making the database of a cassette');
    const settings = (await hasCitus(tx)) ? [ON_THIS_SERVER] : [];
    for (const each of settings) await tx.rows(sql.raw(`set local ${each}`));
    const [schema, role] = [schemaOf(name), await roleOf(tx, name)];
    const target: Target = { tx, schema, role: identifier(role), roleName: role };
    await makeRole(target, name);
    await makeSchema(target);
    const vector = extensions.includes('vector') ? await makeVector(target) : undefined;
    await grantReading(target, views, vector);
    const path = vector === undefined ? [schema] : [schema, vector];
    await makeCall(tx, { schema, role, path, settings });
    if (tx.kind === 'server') await setDefaults(target, path, settings);
    else await revokeFromPublic(tx);
    return null;
  });
}

type Target = { tx: Sql; schema: string; role: SQL; roleName: string };

const identifier = (name: string): SQL => sql`${sql.identifier(name)}`;

async function makeRole({ tx, role, roleName }: Target, name: string): Promise<void> {
  const [existing] = await tx.rows(sql`select 1 as one from pg_roles where rolname = ${roleName}`);
  if (tx.kind === 'embedded') {
    if (!existing) await tx.rows(sql`create role ${role} nologin noinherit nosuperuser nocreatedb nocreaterole`);
    return;
  }
  const verifier = sql.raw(`'${scramVerifier(await cassetteLogin(tx, { name }))}'`);
  const login = sql`login noinherit connection limit ${sql.raw(String(MOST_CONNECTIONS))} password ${verifier}`;
  const [ownRole] = await tx.rows<{ name: string; superuser: boolean }>(
    sql`select quote_ident(current_user) as name, rolsuper as superuser from pg_roles where rolname = current_user`,
  );
  const create = sql`create role ${role} nosuperuser nocreatedb nocreaterole noreplication nobypassrls ${login}`;
  await unlessForbidden(tx, existing ? sql`alter role ${role} ${login}` : create, {
    cannot: 'make a role for it: the role that svc connects as lacks CREATEROLE',
    dba: `alter role ${ownRole?.name} createrole;`,
  });
  if (!ownRole?.superuser) await tx.rows(sql`grant ${role} to current_user with inherit true, set true`);
}

async function makeSchema({ tx, schema, role, roleName }: Target): Promise<void> {
  const owner = sql`select pg_get_userbyid(nspowner) as owner from pg_namespace where nspname = ${schema}`;
  const [existing] = await tx.rows<{ owner: string }>(owner);
  if (!existing) {
    const [row] = await tx.rows<{ dba: string }>(
      sql`select format('grant create on database %I to %I;', current_database(), current_user) as dba`,
    );
    await unlessForbidden(tx, sql`create schema ${identifier(schema)} authorization ${role}`, {
      cannot: 'make a schema for it: the role that svc connects as may not create one in this database',
      dba: row?.dba ?? '',
    });
  } else if (existing.owner !== roleName) {
    await adopt({ tx, schema, role, roleName });
  }
}

/** Takes over an existing schema: in a database that was restored from a dump, it belongs to whoever restored it. */
async function adopt({ tx, schema, role }: Target): Promise<void> {
  const owned = await tx.rows<{ text: string }>(sql`
    select format('alter %s %I.%I', case c.relkind when 'v' then 'view' when 'S' then 'sequence' else 'table' end, ${schema}::text,
                  c.relname) as text
      from pg_class c
     where c.relnamespace = to_regnamespace(${schema}) and c.relkind in ('r', 'p', 'v', 'S')
       and not exists (select 1 from pg_depend d where d.objid = c.oid and d.classid = 'pg_class'::regclass and d.deptype in ('a', 'i'))
     union all
    select format('alter type %I.%I', ${schema}::text, t.typname)
      from pg_type t left join pg_class c on c.oid = t.typrelid
     where t.typnamespace = to_regnamespace(${schema}) and (t.typtype in ('e', 'd') or c.relkind = 'c')`);
  const refusal = { cannot: 'take over its schema from another owner', dba: '' };
  for (const { text } of [{ text: `alter schema "${schema}"` }, ...owned]) {
    await unlessForbidden(tx, sql`${sql.raw(text)} owner to ${role}`, refusal);
  }
}

/** @returns the schema of the extension: a DBA may have created it anywhere */
async function makeVector({ tx }: Target): Promise<string> {
  const found = sql`
    select n.nspname as schema from pg_extension e join pg_namespace n on n.oid = e.extnamespace where e.extname = 'vector'`;
  const [existing] = await tx.rows<{ schema: string }>(found);
  if (existing) return existing.schema;
  const create = `create extension vector schema ${EXTENSIONS}`;
  await unlessForbidden(tx, sql.raw(create), {
    cannot: 'make the extension vector: the server lacks it, or only a superuser may',
    dba: `${create}; -- pgvector has to be installed on the server's machine`,
  });
  return EXTENSIONS;
}

async function grantReading(
  { tx, schema, role }: Target,
  views: readonly string[],
  vector: string | undefined,
): Promise<void> {
  const names = sql.join(
    [...new Set(views)].map((view) => sql`svc_v1.${identifier(view)}`),
    sql`, `,
  );
  await tx.rows(sql`revoke all on schema svc, svc_v1, svc_meta, svc_extensions from ${role}`);
  await tx.rows(sql`revoke all on all tables in schema svc, svc_v1, svc_meta from ${role}`);
  await tx.rows(sql`revoke all on schema ${identifier(schema)} from public`);
  if (views.length > 0) {
    await tx.rows(sql`grant usage on schema svc_v1 to ${role}`);
    await tx.rows(sql`grant select on ${names} to ${role}`);
  }
  if (vector === EXTENSIONS) await tx.rows(sql`grant usage on schema svc_extensions to ${role}`);
}

/** Defaults for other logins as the role, such as an author's with psql. */
async function setDefaults({ tx, role }: Target, path: readonly string[], settings: readonly string[]): Promise<void> {
  const [row] = await tx.rows<{ name: string }>(sql`select current_database() as name`);
  const database = identifier(row?.name ?? '');
  const schemas = sql.join(path.map(identifier), sql`, `);
  await tx.rows(sql`alter role ${role} in database ${database} set search_path = ${schemas}`);
  await tx.rows(sql`alter role ${role} in database ${database} set statement_timeout = '30s'`);
  for (const each of settings) await tx.rows(sql`alter role ${role} in database ${database} set ${sql.raw(each)}`);
  await tx
    .transaction((inner) => inner.rows(sql`grant connect on database ${database} to ${role}`))
    .catch(ignoreForbidden); // refused where the service does not own the database: PUBLIC may connect anyway, unless its owner has revoked that
}

/**
 * Only the service uses the embedded database, as its superuser: what no cassette may do there is revoked from everybody else. A third
 * layer of protection, behind the parser and the role.
 */
async function revokeFromPublic(tx: Sql): Promise<void> {
  await tx.rows(sql`
    do $doors$
    declare
      door text;
    begin
      execute format('revoke temporary, create on database %I from public', current_database());
      revoke all on schema public from public;
      revoke update on pg_catalog.pg_settings from public;
      for door in
        select p.oid::regprocedure::text from pg_proc p
         where p.pronamespace = 'pg_catalog'::regnamespace and has_function_privilege('public', p.oid, 'execute')
           and p.proname ~ '^(set_config|setseed|lo_|loread|lowrite|pg_sleep|pg_notify|pg_(try_)?advisory|pg_cancel|pg_terminate|.*_to_xml)'
      loop
        execute format('revoke execute on function %s from public', door);
      end loop;
    end $doors$`);
}

async function unlessForbidden(tx: Sql, statement: SQL, { cannot, dba }: { cannot: string; dba: string }) {
  try {
    await tx.transaction((inner) => inner.rows(statement));
  } catch (error) {
    // missing rights (42501); an extension whose files are missing (the other three)
    if (!(error instanceof DatabaseError) || !/^(42501|0A000|58P01|22023)$/.test(error.sqlstate)) throw error;
    throw new GrantsUnavailable(`Cannot ${cannot}`, dba, { cause: error });
  }
}

function ignoreForbidden(error: unknown): void {
  if (!(error instanceof DatabaseError) || error.sqlstate !== INSUFFICIENT_PRIVILEGE) throw error;
}
