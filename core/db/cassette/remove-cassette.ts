/** Purges a cassette: drops its schema with all rows and its role, and deletes the service's rows about both. */
import { sql } from 'drizzle-orm';
import type { Sql } from '../sql.ts';
import { CALLS, roleOf, schemaOf } from './names.ts';

/** @returns whether there was anything to drop */
export async function removeCassette(db: Sql, { name }: { name: string }): Promise<boolean> {
  return db.transaction(async (tx) => {
    const role = await roleOf(tx, name);
    const schema = sql.identifier(schemaOf(name));
    const schemas = await tx.rows(sql`select 1 as one from pg_namespace where nspname = ${schemaOf(name)}`);
    await tx.rows(sql`drop function if exists ${sql.identifier(CALLS)}.${schema}(text, text, bigint)`);
    await tx.rows(sql`drop schema if exists ${schema} cascade`);
    const [existing] = await tx.rows(sql`select 1 as one from pg_roles where rolname = ${role}`);
    if (existing) {
      await tx.rows(sql`drop owned by ${sql.identifier(role)}`); // the remaining grants
      await tx.rows(sql`drop role ${sql.identifier(role)}`);
    }
    await tx.rows(sql`delete from svc.cassette_migrations where cassette = ${name}`);
    await tx.rows(sql`delete from svc.cassette_leases where cassette = ${name}`);
    return schemas.length > 0 || existing !== undefined;
  });
}

/** Those of the names that are no views of `svc_v1`. */
export async function missingViews(db: Sql, { views }: { views: readonly string[] }): Promise<string[]> {
  const existing = await db.rows<{ name: string }>(
    sql`select relname as name from pg_class where relnamespace = to_regnamespace('svc_v1') and relkind = 'v'`,
  );
  const names = new Set(existing.map(({ name }) => name));
  return views.filter((view) => !names.has(view));
}
