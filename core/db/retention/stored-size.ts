/**
 * How much of the database's files holds something. Deleted rows leave their space in the files, for new rows, so that the size on disk
 * alone would have retention remove everything. What is free is estimated from turn to turn.
 */
import { sql } from 'drizzle-orm';
import type { Sql } from '../sql.ts';

/** `bytes`: on disk. `free_bytes`: of these, left by what was removed. `turn_bytes`: what a turn takes on average, with all made of it. */
export type StoredSize = { bytes: number; free_bytes: number; turns: number; turn_bytes: number };

type Measured = { bytes: number; data_bytes: number; turns_stored: number; turns_purged: number };
type Previous = Omit<Measured, 'data_bytes'> & { free_bytes: number };

/**
 * Measures, and carries the estimate on from the measurement before: turns that were removed since have freed what a turn takes on average;
 * turns that came in took that space again where the files grew by less than they need; and what the files shrank by was free.
 * So the estimate changes only with turns that come and go, never by measuring again.
 * @param rewritten the tables were written afresh: nothing is free
 * @param record false: what the next measurement goes on from stays as it is
 */
export const measureStored = (
  db: Sql,
  { rewritten = false, record = true }: { rewritten?: boolean; record?: boolean },
): Promise<StoredSize> =>
  db.transaction(async (tx) => {
    const now = await measured(tx);
    const [previous] = await tx.rows<Previous>(sql`
      select bytes, turns_stored, turns_purged, free_bytes from svc.stored_size ${record ? sql`for update` : sql``}`);
    const turns = now.turns_stored - now.turns_purged;
    const free_bytes = rewritten ? 0 : previous ? freeBytes(previous, now) : 0;
    if (record)
      await tx.rows(sql`
      insert into svc.stored_size (bytes, turns_stored, turns_purged, free_bytes)
      values (${now.bytes}, ${now.turns_stored}, ${now.turns_purged}, ${free_bytes})
      on conflict (singleton) do update set bytes = excluded.bytes, turns_stored = excluded.turns_stored,
        turns_purged = excluded.turns_purged, free_bytes = excluded.free_bytes`);
    return {
      bytes: now.bytes,
      free_bytes: Math.round(free_bytes),
      turns,
      turn_bytes: turnBytes(now, turns, free_bytes),
    };
  });

function freeBytes(previous: Previous, now: Measured): number {
  const turnsBefore = previous.turns_stored - previous.turns_purged;
  const aTurn = turnBytes(now, turnsBefore, previous.free_bytes);
  const removed = Math.max(0, now.turns_purged - previous.turns_purged) * aTurn;
  const needed = Math.max(0, now.turns_stored - previous.turns_stored) * aTurn;
  const growth = now.bytes - previous.bytes;
  const free = previous.free_bytes + removed + Math.min(0, growth);
  const reused = Math.max(0, needed - Math.max(0, growth));
  return Math.min(now.data_bytes, Math.max(0, free - reused));
}

const turnBytes = ({ data_bytes }: Measured, turns: number, free: number): number =>
  turns <= 0 ? 0 : Math.max(0, data_bytes - free) / turns;

/** `data_bytes`: of the service's own tables, with their indexes. */
async function measured(tx: Sql): Promise<Measured> {
  const [row] = await tx.rows<Measured>(sql`
    select svc.database_bytes() as bytes,
           (select coalesce(sum(svc.table_bytes(c.oid)), 0)::bigint from pg_class c
             where c.relnamespace = 'svc'::regnamespace and c.relkind = 'r') as data_bytes,
           coalesce(sum(s.turn_count), 0)::bigint as turns_stored, coalesce(sum(s.purged_turns), 0)::bigint as turns_purged
      from svc.sessions s`);
  if (!row) throw new Error('Cannot measure the database: an aggregate has no row');
  return row;
}
