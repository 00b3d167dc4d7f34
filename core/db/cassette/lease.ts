/** The lease of a cassette's background work: the one replica that holds it does the work, and renews it with its token. */
import { sql } from 'drizzle-orm';
import type { Sql } from '../sql.ts';

type Lease = { name: string; token: string };

/** Acquires or renews it, by the database's clock. @returns whether the token holds it for `ms` */
export async function leaseCassette(db: Sql, { name, token, ms }: Lease & { ms: number }): Promise<boolean> {
  const until = sql`now() + make_interval(secs => ${ms / 1000}::double precision)`;
  const rows = await db.rows(sql`
    insert into svc.cassette_leases as l (cassette, token, leased_until) values (${name}, ${token}, ${until})
    on conflict (cassette) do update set token = excluded.token, leased_until = excluded.leased_until
     where l.token = excluded.token or l.leased_until <= now()
    returning 1 as one`);
  return rows.length > 0;
}

/** Releases it, if the token still holds it. */
export async function releaseCassette(db: Sql, { name, token }: Lease): Promise<void> {
  await db.rows(sql`delete from svc.cassette_leases where cassette = ${name} and token = ${token}`);
}
