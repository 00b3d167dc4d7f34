/** The coverage counts: how requests ended, by day, provider and outcome. */
import { sql } from 'drizzle-orm';
import type { Sql } from '../sql.ts';

export type Booked = { provider: string; outcome: string; requests: number };

/** `ever`: of all time, by provider and outcome. `days`: of the last thirty days on which anything came in, by day as well. */
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
