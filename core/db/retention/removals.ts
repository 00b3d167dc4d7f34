/** The record of what retention and garbage collection removed: when, and how much. */
import { sql } from 'drizzle-orm';
import { instant } from '../literals.ts';
import type { Sql } from '../sql.ts';

export type RemovalKind = 'retention' | 'gc';

/** `slice_bytes`: what the slices took, compressed. `freed_bytes`: what the database takes less on disk. */
export type Removed = {
  sessions: number;
  raw_turns: number;
  parked_turns: number;
  slices: number;
  slice_bytes: number;
  freed_bytes: number;
};

export type Removal = Removed & { kind: RemovalKind; began_at: string; ended_at: string };

export async function recordRemoval(
  db: Sql,
  { kind, began_at, removed }: { kind: RemovalKind; began_at: string; removed: Removed },
): Promise<void> {
  const { sessions, raw_turns, parked_turns, slices, slice_bytes, freed_bytes } = removed;
  await db.rows(sql`
    insert into svc.removals (kind, began_at, sessions, raw_turns, parked_turns, slices, slice_bytes, freed_bytes)
    values (${kind}, ${began_at}::timestamptz, ${sessions}, ${raw_turns}, ${parked_turns}, ${slices}, ${slice_bytes}, ${freed_bytes})`);
}

/** The last of each kind. */
export const lastRemovals = (db: Sql, _args: Record<string, never>): Promise<Removal[]> =>
  db.rows<Removal>(sql`
    select r.kind, ${instant(sql`r.began_at`)} as began_at, ${instant(sql`r.ended_at`)} as ended_at,
           r.sessions, r.raw_turns, r.parked_turns, r.slices, r.slice_bytes, r.freed_bytes
      from unnest('{retention,gc}'::text[]) as k (kind)
     cross join lateral (select * from svc.removals l where l.kind = k.kind order by l.removal_id desc limit 1) r
     order by r.kind desc`);
