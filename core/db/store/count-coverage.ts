/** Counts the outcomes of requests by day, within the transaction that decides them. */
import { sql } from 'drizzle-orm';
import type { CountedRequest } from '../../call/prepared-turn.ts';
import { pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';

export async function countCoverage(tx: Sql, entries: readonly CountedRequest[]): Promise<void> {
  const counts = new Map<string, number>();
  for (const { at, provider, outcome } of entries) {
    const key = `${at.slice(0, 10)} ${provider} ${outcome}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  if (counts.size === 0) return;
  const rows = [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, requests]) => [...key.split(' '), requests]);
  const column = (index: number) => pgArray(rows.map((row) => row[index] ?? ''));
  await tx.rows(sql`
    insert into svc.coverage as c (day, provider, outcome, requests)
    select * from unnest(${column(0)}::date[], ${column(1)}::text[], ${column(2)}::text[], ${column(3)}::bigint[])
    on conflict (day, provider, outcome) do update set requests = c.requests + excluded.requests`);
}
