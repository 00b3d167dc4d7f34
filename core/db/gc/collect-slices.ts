/**
 * The steps of a collection of slices that nothing refers to (core/engine/gc/collect-slices.ts): what turns and nodes refer to is read page by
 * page while writers go on, and a batch of other slices is deleted under the lock that stops them, once what they wrote since was checked.
 * What a collection writes is fenced by its lease: without that, writers do not record for it what they rewrite.
 */
import { type SQL, sql } from 'drizzle-orm';
import { sliceReferences } from '../edit/slice-references.ts';
import { hexArray, pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { countPurge, stopWriters } from '../store/purge-count.ts';
import { type CollectionLease, holdCollection } from '../work-lease.ts';

/** Begins it. @returns false: the lease is lost, and nothing is begun */
export const openCollection = (db: Sql, lease: CollectionLease): Promise<boolean> =>
  db.transaction(async (tx) => {
    await stopWriters(tx); // who holds slices from now on knows that a collection is under way
    if (!(await holdCollection(tx, lease))) return false;
    await tx.rows(sql`update svc.installation set collecting = true, slices_due = false`);
    await tx.rows(sql`delete from svc.rewritten_sessions`);
    return true;
  });

/** The highest raw_turn_id, at a moment without a writer: no lower one is still to be committed. */
export const settledTurn = (db: Sql, _args: Record<string, never>): Promise<number> =>
  db.transaction(async (tx) => {
    await stopWriters(tx);
    const [row] = await tx.rows<{ up_to: number }>(
      sql`select coalesce(max(raw_turn_id), 0) as up_to from svc.raw_turns`,
    );
    return row?.up_to ?? 0;
  });

/** Does nothing once the lease is lost: another collection is under way, or has been closed. @param complete false: it was given up, and is due */
export async function closeCollection(
  db: Sql,
  { complete, ...lease }: CollectionLease & { complete: boolean },
): Promise<void> {
  await db.transaction(async (tx) => {
    if (!(await holdCollection(tx, lease))) return;
    await tx.rows(sql`update svc.installation set collecting = false, slices_due = slices_due or ${!complete}`);
    await tx.rows(sql`delete from svc.rewritten_sessions`);
  });
}

/** Whether turns were removed whose slices were not collected yet: also where a process ended in the middle of a collection. */
export async function collectionDue(db: Sql, _args: Record<string, never>): Promise<boolean> {
  const [row] = await db.rows<{ due: boolean }>(sql`select slices_due or collecting as due from svc.installation`);
  return row?.due === true;
}

const ID_BYTES = 32;

/** `ids`: of 32 bytes each, one after the other; an id may come twice. `last`: where the next page begins; null: this is the last. */
export type SlicePage<Place> = { ids: Uint8Array; last: Place | null };

/** A partition that is looked at alone, or left out; left out itself: all are looked at. */
type But = { partition_no?: number };

const isNot = (partition_no: number | undefined): SQL =>
  partition_no === undefined ? sql`` : sql`and partition_no <> ${partition_no}`;

/** What the next turns refer to, up to `up_to`, but for those of a partition. */
export async function slicesOfTurns(
  db: Sql,
  { after, up_to, limit, partition_no }: { after: number; up_to: number; limit: number } & But,
): Promise<SlicePage<number>> {
  const [page] = await db.rows<{ last: number | null; turns: number }>(sql`
    select max(p.raw_turn_id) as last, count(*) as turns
      from (select raw_turn_id from svc.raw_turns where raw_turn_id > ${after} and raw_turn_id <= ${up_to} ${isNot(partition_no)}
             order by raw_turn_id limit ${limit}) p`);
  if (!page || page.last === null) return { ids: new Uint8Array(), last: null };
  const found = new Set<string>();
  const within = sql`t.raw_turn_id > ${after} and t.raw_turn_id <= ${page.last} ${isNot(partition_no)}`;
  for await (const ids of sliceReferences(db, within)) for (const id of ids) found.add(id);
  return { ids: packed(found), last: page.turns === limit ? page.last : null };
}

/** What the nodes of the next sessions name, but for those of a partition. A session's nodes are read by one statement, so none of them can move meanwhile. */
export async function slicesOfNodesBySession(
  db: Sql,
  { after, limit, partition_no }: { after: string | null; limit: number } & But,
): Promise<SlicePage<string>> {
  const [page] = await db.rows<{ last: string | null; sessions: number }>(sql`
    select max(p.session_id::text collate "C") as last, count(*) as sessions
      from (select session_id from svc.sessions where ${after}::uuid is null or session_id > ${after}::uuid
             order by session_id limit ${limit}) p`);
  if (!page || page.last === null) return { ids: new Uint8Array(), last: null };
  const [found] = await db.rows<{ ids: Uint8Array | null }>(sql`
    select string_agg(n.slice_id, ''::bytea) as ids
      from (select distinct slice_id from svc.nodes
             where (${after}::uuid is null or session_id > ${after}::uuid) and session_id <= ${page.last}::uuid
               and slice_id is not null ${isNot(partition_no)}) n`);
  return { ids: found?.ids ?? new Uint8Array(), last: page.sessions === limit ? page.last : null };
}

/** The ids of stored slices, in their order: of all, or of one partition. */
export async function slicePage(
  db: Sql,
  { after, limit, partition_no }: { after: string | null; limit: number } & But,
): Promise<SlicePage<string>> {
  const within = partition_no === undefined ? sql`` : sql`and partition_no = ${partition_no}`;
  const [page] = await db.rows<{ ids: Uint8Array | null; last: string | null; count: number }>(sql`
    select string_agg(p.slice_id, ''::bytea order by p.slice_id) as ids, count(*) as count
      from (select slice_id from svc.slices
             where (${after}::text is null or slice_id > decode(${after}, 'hex')) ${within}
             order by slice_id limit ${limit}) p`);
  const ids = page?.ids ?? new Uint8Array();
  const last = Buffer.from(ids.subarray(ids.byteLength - ID_BYTES)).toString('hex');
  return { ids, last: page?.count === limit ? last : null };
}

/** What nodes of these turns name, besides what the turns refer to. */
export async function slicesOfNodesByTurn(
  db: Sql,
  { after, up_to }: { after: number; up_to: number },
): Promise<{ ids: Uint8Array }> {
  const [found] = await db.rows<{ ids: Uint8Array | null }>(sql`
    select string_agg(n.slice_id, ''::bytea) as ids
      from (select distinct slice_id from svc.nodes
             where raw_turn_id > ${after} and raw_turn_id <= ${up_to} and slice_id is not null) n`);
  return { ids: found?.ids ?? new Uint8Array() };
}

/**
 * Takes up to `limit` sessions that were rewritten since the scan began, and reads which slices their nodes name. `sessions` 0: there is none
 * left, or the lease is lost.
 */
export const slicesOfRewritten = (
  db: Sql,
  { limit, ...lease }: CollectionLease & { limit: number },
): Promise<{ ids: Uint8Array; sessions: number }> =>
  db.transaction(async (tx) => {
    if (!(await holdCollection(tx, lease))) return { ids: new Uint8Array(), sessions: 0 };
    const rewritten = await tx.rows<{ session_id: string }>(sql`
      delete from svc.rewritten_sessions
       where session_id in (select session_id from svc.rewritten_sessions order by session_id limit ${limit})
      returning session_id`);
    if (rewritten.length === 0) return { ids: new Uint8Array(), sessions: 0 };
    const [found] = await tx.rows<{ ids: Uint8Array | null }>(sql`
      select string_agg(n.slice_id, ''::bytea) as ids
        from (select distinct slice_id from svc.nodes
               where session_id = any(${pgArray(rewritten.map(({ session_id }) => session_id))}::uuid[])
                 and slice_id is not null) n`);
    return { ids: found?.ids ?? new Uint8Array(), sessions: rewritten.length };
  });

/**
 * Deletes those of the slices that nothing refers to.
 * @param seen turns up to this one, which was settled, were looked at, with their nodes and those of rewritten sessions
 * @returns null: the lease is lost, and nothing is deleted
 */
export const deleteSlices = (
  db: Sql,
  { candidates, seen, ...lease }: CollectionLease & { candidates: string[]; seen: number },
): Promise<{ slices: number; bytes: number } | null> =>
  db.transaction(async (tx) => {
    await stopWriters(tx);
    if (!(await holdCollection(tx, lease))) return null;
    const left = new Set(candidates);
    for await (const ids of sliceReferences(tx, sql`t.raw_turn_id > ${seen}`)) for (const id of ids) left.delete(id);
    const named = await tx.rows<{ slice_id: string }>(sql`
      select encode(slice_id, 'hex') as slice_id from svc.nodes where raw_turn_id > ${seen} and slice_id is not null
       union
      select encode(n.slice_id, 'hex')
        from svc.rewritten_sessions w join svc.nodes n on n.session_id = w.session_id where n.slice_id is not null`);
    for (const { slice_id } of named) left.delete(slice_id);
    const [deleted] = await tx.rows<{ slices: number; bytes: number }>(sql`
      with gone as (
        delete from svc.slices where slice_id = any(${hexArray([...left])}::bytea[]) returning octet_length(bytes) as bytes)
      select count(*) as slices, coalesce(sum(bytes), 0)::bigint as bytes from gone`);
    if ((deleted?.slices ?? 0) > 0) await countPurge(tx);
    return { slices: deleted?.slices ?? 0, bytes: deleted?.bytes ?? 0 };
  });

const packed = (ids: ReadonlySet<string>): Uint8Array => new Uint8Array(Buffer.from([...ids].join(''), 'hex'));
