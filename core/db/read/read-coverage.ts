/** How did the requests end that came in? Counts of the ledger, by day, provider and outcome. */
import { sql } from 'drizzle-orm';
import type { Sql } from '../sql.ts';

export type Booked = { provider: string; outcome: string; requests: number };

/** All time by provider and outcome; the last thirty days with anything in them by day. */
export async function readCoverage(
  db: Sql,
  _: Record<string, never>,
): Promise<{ ever: Booked[]; days: (Booked & { day: string })[] }> {
  const ever = await db.rows<Booked>(sql`
    select c.provider, c.outcome, sum(c.requests)::bigint as requests
      from svc.coverage c
     group by c.provider, c.outcome
     order by c.provider, c.outcome`);
  const days = await db.rows<Booked & { day: string }>(sql`
    select to_char(c.day, 'YYYY-MM-DD') as day, c.provider, c.outcome, c.requests
      from svc.coverage c
     where c.day in (select d.day from svc.coverage d group by d.day order by d.day desc limit 30)
     order by c.day desc, c.provider, c.outcome`);
  return { ever, days };
}
