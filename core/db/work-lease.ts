/** The lease of work that one process does at a time: it is renewed with its token while the work goes on. */
import { sql } from 'drizzle-orm';
import type { Sql } from './sql.ts';

type Lease = { work: 'retention' | 'gc' | 'find' | 'cache' | 'backup'; token: string };

/** `token`: of the lease under which slices are collected. */
export type CollectionLease = { token: string };

/** Acquires or renews it, by the database's clock. @returns whether the token holds it for `ms` */
export async function leaseWork(db: Sql, { work, token, ms }: Lease & { ms: number }): Promise<boolean> {
  const until = sql`now() + make_interval(secs => ${ms / 1000}::double precision)`;
  const rows = await db.rows(sql`
    insert into svc.work_leases as l (work, token, leased_until) values (${work}, ${token}::uuid, ${until})
    on conflict (work) do update set token = excluded.token, leased_until = excluded.leased_until
     where l.token = excluded.token or l.leased_until <= now()
    returning 1 as one`);
  return rows.length > 0;
}

/** Whether anybody holds it. */
export async function isWorkLeased(db: Sql, { work }: Pick<Lease, 'work'>): Promise<boolean> {
  const rows = await db.rows(sql`select 1 as one from svc.work_leases where work = ${work} and leased_until > now()`);
  return rows.length > 0;
}

/** Releases it, if the token still holds it. */
export async function releaseWork(db: Sql, { work, token }: Lease): Promise<void> {
  await db.rows(sql`delete from svc.work_leases where work = ${work} and token = ${token}::uuid`);
}

/**
 * Fences a collection: true if the token holds its lease, also one that has run out and that nobody has acquired since. Nobody acquires it
 * then until the transaction ends. A process that stood still for longer than its lease finds here that another one has done the work.
 */
export async function holdCollection(tx: Sql, { token }: CollectionLease): Promise<boolean> {
  const held = await tx.rows(sql`
    select 1 as one from svc.work_leases where work = 'gc' and token = ${token}::uuid for update`);
  return held.length > 0;
}
