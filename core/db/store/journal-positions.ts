/** How far each run's journal has been read. Stored in the turns' own transaction, so that nothing is stored or counted twice. */
import { sql } from 'drizzle-orm';
import type { JournalPosition } from '../../capture/journal-format.ts';
import { positionsSetBack } from '../../capture/journal-set-back.ts';
import { DatabaseError } from '../../errors.ts';
import { pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';

export const journalPositions = (db: Sql, _: Record<string, never>): Promise<JournalPosition[]> =>
  db.rows<JournalPosition>(sql`select run_id, segment, byte_offset, finished from svc.journals order by run_id`);

/** The `sqlstate` of a refusal: the database has lost commits, and the journal is to be read again from where it is now. */
export const JOURNAL_SET_BACK = 'SVC03';

export const journalSetBack = (): DatabaseError =>
  new DatabaseError(
    'Cannot store: the database has lost what was stored of the journal before',
    JOURNAL_SET_BACK,
    false,
  );

/**
 * Call it before anything of the journal is stored: else what lies between the stored position and the batch would never be. A standby
 * that takes over from a server may lack its last commits.
 * @param committed up to where the sender has stored its runs, as it knows
 * @throws {DatabaseError} JOURNAL_SET_BACK
 */
export async function holdPositions(tx: Sql, committed: readonly JournalPosition[]): Promise<void> {
  if (committed.length === 0) return;
  const stored = await lockedPositions(
    tx,
    committed.map(({ run_id }) => run_id),
  );
  if (positionsSetBack(committed, stored).length > 0) throw journalSetBack();
}

const lockedPositions = (tx: Sql, run_ids: readonly string[]): Promise<JournalPosition[]> =>
  tx.rows<JournalPosition>(sql`
    select run_id, segment, byte_offset, finished from svc.journals
     where run_id = any(${pgArray([...run_ids].sort())}::uuid[]) order by run_id for update`);

/** The entries after the stored positions. Locks the runs' rows, so that no other writer stores the same meanwhile. */
export async function beyondStored<Entry extends { position: JournalPosition | null }>(
  tx: Sql,
  entries: readonly Entry[],
): Promise<Entry[]> {
  const runs = new Set(entries.flatMap(({ position }) => position?.run_id ?? []));
  if (runs.size === 0) return [...entries];
  const rows = await lockedPositions(tx, [...runs]);
  const stored = new Map(rows.map((row) => [row.run_id, row]));
  return entries.filter(({ position }) => {
    const at = position && stored.get(position.run_id);
    if (!position || !at) return true;
    return position.segment > at.segment || (position.segment === at.segment && position.byte_offset > at.byte_offset);
  });
}

/** Call it within the transaction that stores what was read up to the position. A position never goes back. */
export async function storePosition(
  tx: Sql,
  { run_id, segment, byte_offset, finished }: JournalPosition,
): Promise<void> {
  await tx.rows(sql`
    insert into svc.journals as j (run_id, segment, byte_offset, finished)
    values (${run_id}::uuid, ${segment}, ${byte_offset}, ${finished})
    on conflict (run_id) do update
       set segment = excluded.segment, byte_offset = excluded.byte_offset,
           finished = j.finished or excluded.finished, updated_at = now()
     where (excluded.segment, excluded.byte_offset) >= (j.segment, j.byte_offset)`);
}
