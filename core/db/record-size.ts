/** Records how large the database is, at most once an hour, and forgets what is older than a month. A standby has what its primary recorded. */
import { sql } from 'drizzle-orm';
import type { Sql } from './sql.ts';
import { takesWrites } from './takes-writes.ts';

export async function recordSize(db: Sql, _: Record<string, never>): Promise<void> {
  if (!(await takesWrites(db))) return;
  await db.rows(sql`
    with expired as (delete from svc.database_sizes where measured_at < now() - interval '31 days')
    insert into svc.database_sizes (bytes)
    select svc.database_bytes()
     where not exists (select 1 from svc.database_sizes where measured_at > now() - interval '1 hour')
    on conflict do nothing`);
}
