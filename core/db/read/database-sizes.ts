/** How large the database was on each of the last days, as record-size.ts measured it. */
import { sql } from 'drizzle-orm';
import { instant } from '../literals.ts';
import type { Sql } from '../sql.ts';

/** The first measurement of a day in UTC. */
export type DatabaseSize = { day: string; measured_at: string; bytes: number };

/** `sizes`: of the last thirty days that have one, the newest first. `walBytes`: of the write-ahead log, where it is in the folder of svc; else 0. */
export async function databaseSizes(
  db: Sql,
  _: Record<string, never>,
): Promise<{ sizes: DatabaseSize[]; walBytes: number }> {
  const sizes = await db.rows<DatabaseSize>(sql`
    select distinct on (1) to_char(z.measured_at at time zone 'UTC', 'YYYY-MM-DD') as day,
           ${instant(sql`z.measured_at`)} as measured_at, z.bytes
      from svc.database_sizes z
     order by 1 desc, z.measured_at
     limit 30`);
  if (db.kind === 'server') return { sizes, walBytes: 0 };
  const [wal] = await db.rows<{ bytes: number }>(
    sql`select coalesce(sum(size), 0)::bigint as bytes from pg_ls_waldir()`,
  );
  return { sizes, walBytes: wal?.bytes ?? 0 };
}
