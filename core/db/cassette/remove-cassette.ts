/** What goes when a cassette is purged? Its schema with all rows, its role, and what we kept about both. */
import { sql } from 'drizzle-orm';
import type { Sql } from '../sql.ts';
import { CALLS, roleOf, schemaOf } from './names.ts';

export async function removeCassette(db: Sql, { name }: { name: string }): Promise<void> {
  await db.transaction(async (tx) => {
    const role = await roleOf(tx, name);
    const schema = sql.identifier(schemaOf(name));
    await tx.rows(sql`drop function if exists ${sql.identifier(CALLS)}.${schema}(text, text, bigint)`);
    await tx.rows(sql`drop schema if exists ${schema} cascade`);
    const [there] = await tx.rows(sql`select 1 as one from pg_roles where rolname = ${role}`);
    if (there) {
      await tx.rows(sql`drop owned by ${sql.identifier(role)}`); // its grants, of which a few are left
      await tx.rows(sql`drop role ${sql.identifier(role)}`);
    }
    await tx.rows(sql`delete from svc.cassette_migrations where cassette = ${name}`);
    await tx.rows(sql`delete from svc.cassette_leases where cassette = ${name}`);
  });
}

/** Of these names, those that are no views of `svc_v1`. */
export async function missingViews(db: Sql, { views }: { views: readonly string[] }): Promise<string[]> {
  const there = await db.rows<{ name: string }>(
    sql`select relname as name from pg_class where relnamespace = to_regnamespace('svc_v1') and relkind = 'v'`,
  );
  const names = new Set(there.map(({ name }) => name));
  return views.filter((view) => !names.has(view));
}
