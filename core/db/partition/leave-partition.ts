/**
 * The steps by which retention drops a partition (core/engine/retention/drop-partition.ts): sessions that stay are moved out of it, the turns
 * of the others get their tombstones, slices that other turns refer to are kept, and its tables are dropped.
 */
import { type SQL, sql } from 'drizzle-orm';
import { isRemoved } from '../budget/removed-spend.ts';
import { sliceReferences } from '../edit/slice-references.ts';
import { hexArray, pgArray } from '../literals.ts';
import { DUE, type DueBefore, type DueSession, fromDue } from '../retention/due-sessions.ts';
import type { Sql } from '../sql.ts';
import { countPurge } from '../store/purge-count.ts';
import { type CollectionLease, holdCollection } from '../work-lease.ts';
import { KEPT, lockTables, PARTITIONED, partitionTable } from './partitions.ts';

/** From now on it is dropped by the setting of retention that the reason names. */
export const markLeaving = (
  db: Sql,
  { partition_no, reason }: { partition_no: number; reason: string },
): Promise<unknown> =>
  db.rows(sql`update svc.partitions set leaving = ${reason} where partition_no = ${partition_no} and leaving is null`);

/** Sessions that hold something in the partition. */
const within = (partition_no: number): SQL => sql`
  (select session_id from svc.sessions where partition_no = ${partition_no}
    union
   select session_id from svc.raw_turns where partition_no = ${partition_no})`;

/** Those in the partition that are due and whose removal has not begun, the oldest first. */
export const dueInPartition = (
  db: Sql,
  { partition_no, limit, ...due }: DueBefore & { partition_no: number; limit: number },
): Promise<DueSession[]> =>
  db.rows<DueSession>(sql`
    select ${DUE} ${fromDue(due)}
       and s.session_id in ${within(partition_no)}
       and not ${isRemoved(sql`s.session_id`)}
     order by s.last_seen_at, s.session_id
     limit ${limit}`);

const staying = ({ partition_no, ...due }: DueBefore & { partition_no: number }): SQL => sql`
  select w.session_id from ${within(partition_no)} w
   where not ${isRemoved(sql`w.session_id`)} and not exists (select 1 ${fromDue(due)} and s.session_id = w.session_id)`;

/** Those in the partition that stay. */
export async function stayingInPartition(
  db: Sql,
  { limit, ...partition }: DueBefore & { partition_no: number; limit: number },
): Promise<string[]> {
  const rows = await db.rows<{ session_id: string }>(sql`${staying(partition)} limit ${limit}`);
  return rows.map(({ session_id }) => session_id);
}

/** How many turns the sessions have that began in the partition, and how many of them those that stay. */
export async function turnsInPartition(
  db: Sql,
  { partition_no, ...due }: DueBefore & { partition_no: number },
): Promise<{ turns: number; staying: number }> {
  const [row] = await db.rows<{ turns: number; staying: number }>(sql`
    select coalesce(sum(o.turns), 0)::bigint as turns, coalesce(sum(o.turns) filter (where not o.is_due), 0)::bigint as staying
      from (select a.turn_count + a.moved_turns - a.purged_turns as turns,
                   exists (select 1 ${fromDue(due)} and s.session_id = a.session_id) as is_due
              from svc.sessions a where a.partition_no = ${partition_no}) o`);
  return row ?? { turns: 0, staying: 0 };
}

/**
 * Moves what the sessions hold in the partition to the one that is kept. A fold in progress loses its lease, since it would write its spans
 * into the partition in which the session was.
 */
export const moveToKept = (
  db: Sql,
  { partition_no, session_ids }: { partition_no: number; session_ids: string[] },
): Promise<void> =>
  db.transaction(async (tx) => {
    const moved = sql`
      set partition_no = ${KEPT} where partition_no = ${partition_no} and session_id = any(${pgArray(session_ids)}::uuid[])`;
    await tx.rows(sql`select set_config('svc.purge', 'on', true)`); // for the turns: they are moved unchanged
    await tx.rows(sql`
      select session_id from svc.sessions where session_id = any(${pgArray(session_ids)}::uuid[]) order by session_id for update`);
    await tx.rows(sql`
      update svc.derive_queue set leased_until = null, lease_token = null, attempts = 0, try_after = now()
       where lease_token is not null and session_id = any(${pgArray(session_ids)}::uuid[])`);
    await tx.rows(sql`update svc.nodes ${moved}`);
    await tx.rows(sql`update svc.spans ${moved}`);
    await tx.rows(sql`update svc.raw_turns ${moved}`);
    await tx.rows(sql`update svc.sessions ${moved}`);
  });

/** Turns that a correction has moved to another session may stay though their own session goes. At most `limit`. @returns how many */
export const moveCorrected = (
  db: Sql,
  { partition_no, limit }: { partition_no: number; limit: number },
): Promise<number> =>
  db.transaction(async (tx) => {
    await tx.rows(sql`select set_config('svc.purge', 'on', true)`);
    const moved = await tx.rows(sql`
      update svc.raw_turns set partition_no = ${KEPT}
       where partition_no = ${partition_no} and raw_turn_id in (
         select t.raw_turn_id from svc.raw_turns t
          where t.partition_no = ${partition_no}
            and exists (select from svc.raw_turn_corrections k where k.raw_turn_id = t.raw_turn_id)
          limit ${limit})
      returning raw_turn_id`);
    return moved.length;
  });

/** `last`: the session after which the next page begins; null: this is the last. */
export type Entombed = { turns: number; last: string | null };

/**
 * Puts tombstones beside the turns that some of the removed sessions have in the partition; the turns go with it. What comes in for these
 * sessions is stored elsewhere.
 */
export const entombTurns = (
  db: Sql,
  { partition_no, after, limit }: { partition_no: number; after: string | null; limit: number },
): Promise<Entombed> =>
  db.transaction(async (tx) => {
    const page = await tx.rows<{ session_id: string }>(sql`
      select session_id from svc.session_removals where ${after}::uuid is null or session_id > ${after}::uuid
       order by session_id limit ${limit}`);
    const ids = pgArray(page.map(({ session_id }) => session_id));
    await tx.rows(
      sql`select session_id from svc.sessions where session_id = any(${ids}::uuid[]) order by session_id for update`,
    );
    const [entombed] = await tx.rows<{ turns: number }>(sql`
      with stones as (
        insert into svc.tombstones (session_id, raw_turn_id, session_seq, turn_hash, prev_hash, purged_session_id, reason)
        select t.session_id, t.raw_turn_id, t.session_seq, t.turn_hash, t.prev_hash, t.session_id, m.reason
          from svc.raw_turns t join svc.session_removals m on m.session_id = t.session_id
         where t.partition_no = ${partition_no} and t.session_id = any(${ids}::uuid[]) and t.raw_turn_id <= m.up_to
           and not exists (select from svc.raw_turn_corrections k where k.raw_turn_id = t.raw_turn_id)
         order by t.session_id, t.session_seq
        on conflict (raw_turn_id) do nothing
        returning session_id),
      counted as (
        update svc.sessions s set purged_turns = s.purged_turns + c.turns
          from (select session_id, count(*) as turns from stones group by 1) c
         where s.session_id = c.session_id)
      select count(*) as turns from stones`);
    await tx.rows(sql`
      update svc.sessions set partition_no = (select partition_no from svc.installation)
       where partition_no = ${partition_no} and session_id = any(${ids}::uuid[])`);
    const last = page.at(-1)?.session_id ?? null;
    return { turns: entombed?.turns ?? 0, last: page.length === limit ? last : null };
  });

/** Copies those of the slices to the partition that is kept which no other one has. @returns how many */
export async function keepSlices(
  db: Sql,
  { partition_no, ids }: { partition_no: number; ids: string[] },
): Promise<number> {
  if (ids.length === 0) return 0;
  const kept = await db.rows(sql`
    insert into svc.slices (slice_id, codec, size_bytes, bytes, partition_no)
    select s.slice_id, s.codec, s.size_bytes, s.bytes, ${KEPT}
      from svc.slices s
     where s.partition_no = ${partition_no} and s.slice_id = any(${hexArray(ids)}::bytea[])
       and not exists (select from svc.slices o where o.slice_id = s.slice_id and o.partition_no <> ${partition_no})
     order by s.slice_id
    on conflict do nothing
    returning 1 as one`);
  return kept.length;
}

/**
 * Drops the partition's tables. Nobody stores or reads anything for that moment.
 * @param seen the last raw_turn_id of those whose slices have been kept, as have those of their nodes and of rewritten sessions
 * @returns false, and nothing is dropped: a turn in it has no tombstone, a session goes on in it, or the lease is lost
 * @throws {DatabaseError} LOCK_TIMEOUT: to be retried
 */
export const dropPartition = (
  db: Sql,
  { partition_no, seen, ...lease }: CollectionLease & { partition_no: number; seen: number },
): Promise<boolean> =>
  db.transaction(async (tx) => {
    // Before the lock, since no turn comes into a closed partition, and no tombstone goes.
    const unexplained = await tx.rows(sql`
      select 1 as one from svc.raw_turns t
       where t.partition_no = ${partition_no} and not exists (select from svc.tombstones b where b.raw_turn_id = t.raw_turn_id)
       limit 1`);
    if (unexplained.length > 0) return false;
    await lockTables(tx);
    if (!(await holdCollection(tx, lease))) return false;
    const going = await tx.rows(sql`select 1 as one from svc.sessions where partition_no = ${partition_no} limit 1`);
    if (going.length > 0) return false;
    await keepLast(tx, { partition_no, seen });
    for (const table of PARTITIONED) await tx.rows(sql.raw(`drop table svc.${partitionTable(table, partition_no)}`));
    await tx.rows(sql`delete from svc.partitions where partition_no = ${partition_no}`);
    await countPurge(tx);
    return true;
  });

/** What was written since the slices were looked at. */
async function keepLast(tx: Sql, { partition_no, seen }: { partition_no: number; seen: number }): Promise<void> {
  const since = sql`t.raw_turn_id > ${seen} and t.partition_no <> ${partition_no}`;
  for await (const ids of sliceReferences(tx, since)) await keepSlices(tx, { partition_no, ids });
  const named = await tx.rows<{ slice_id: string }>(sql`
    select encode(slice_id, 'hex') as slice_id from svc.nodes
     where raw_turn_id > ${seen} and partition_no <> ${partition_no} and slice_id is not null
     union
    select encode(n.slice_id, 'hex')
      from svc.rewritten_sessions w join svc.nodes n on n.session_id = w.session_id
     where n.slice_id is not null and n.partition_no <> ${partition_no}`);
  await keepSlices(tx, { partition_no, ids: named.map(({ slice_id }) => slice_id) });
}
