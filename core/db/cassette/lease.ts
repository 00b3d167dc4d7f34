/** Who does a cassette's background work? Of all replicas the one that has the lease; it renews it with its token. */
import { sql } from 'drizzle-orm';
import type { Sql } from '../sql.ts';

type Lease = { name: string; token: string };

/** Takes or renews it, by the database's clock. @returns whether it is ours for so long */
export async function leaseCassette(db: Sql, { name, token, ms }: Lease & { ms: number }): Promise<boolean> {
  const until = sql`now() + make_interval(secs => ${ms / 1000}::double precision)`;
  const rows = await db.rows(sql`
    insert into svc.cassette_leases as l (cassette, token, leased_until) values (${name}, ${token}, ${until})
    on conflict (cassette) do update set token = excluded.token, leased_until = excluded.leased_until
     where l.token = excluded.token or l.leased_until <= now()
    returning 1 as one`);
  return rows.length > 0;
}

/** Gives it back, if it is still ours. */
export async function releaseCassette(db: Sql, { name, token }: Lease): Promise<void> {
  await db.rows(sql`delete from svc.cassette_leases where cassette = ${name} and token = ${token}`);
}
