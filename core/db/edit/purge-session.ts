/** Purges a session from the log: deletes its raw turns, what was derived of them, and slices that nothing else refers to; tombstones stay. */

import { sql } from 'drizzle-orm';
import { DatabaseError } from '../../errors.ts';
import { batches } from '../batches.ts';
import { isRemoved, recordRemovedSpend } from '../budget/removed-spend.ts';
import { voidOutlines } from '../derive/revisions.ts';
import { removeIndexed } from '../find/index-spans.ts';
import { hexArray, pgArray } from '../literals.ts';
import { recordChange } from '../record-change.ts';
import type { Sql } from '../sql.ts';
import { DEADLOCK } from '../sqlstates.ts';
import { lockClaims, settleOwners } from '../store/call-owners.ts';
import { countPurge, stopWriters } from '../store/purge-count.ts';
import { forgetInCassettes } from './forget-in-cassettes.ts';
import { type MadeOfSession, removeMadeInCassettes } from './made-in-cassettes.ts';
import { mergedInto, removeNames } from './merged-sessions.ts';
import { sliceReferences } from './slice-references.ts';
import { replaceByTombstones } from './tombstones.ts';

/** `raw_turns`: how many turns up to `up_to` the latest corrections attribute to the session; later ones are not part of the purge. */
export type PurgeOpened = { up_to: number; raw_turns: number };

/** What was deleted. `bytes`: of the slices. `tombstones`: all of the session's, with those of earlier purges. */
export type Purged = {
  raw_turns: number;
  slices: number;
  slices_shared: number;
  bytes: number;
  tombstones: number;
  made_of_it: MadeOfSession[];
};

/** null: there was never such a session. */
export const openPurge = (db: Sql, { session_id }: { session_id: string }): Promise<PurgeOpened | null> =>
  db.transaction(async (tx) => {
    const known = await tx.rows(sql`select session_id from svc.sessions where session_id = ${session_id}::uuid`);
    if (known.length === 0) return null;
    await stopWriters(tx); // so that no writer with a lower id than the highest is still at work
    const [highest] = await tx.rows<{ up_to: number }>(sql`
      select coalesce(max(raw_turn_id), 0) as up_to from svc.raw_turns`);
    const up_to = highest?.up_to ?? 0;
    return { up_to, raw_turns: (await turnsOf(tx, session_id, up_to)).length };
  });

const ATTEMPTS = 5;

/**
 * Looks for slices that nothing else refers to while other writers go on, and deletes them under a lock that stops those: under it, only
 * turns that were stored since are checked. Turns of the session's chain that a correction moved to another session stay; those that it
 * moved here are deleted, with what was made of sessions that were merged into it.
 * @param made slices that a reading of the turns makes, besides those of their recipes
 */
export async function purgeSession(
  db: Sql,
  { session_id, up_to, made, reason }: { session_id: string; up_to: number; made: string[]; reason: string },
): Promise<Purged> {
  const turns = await turnsOf(db, session_id, up_to);
  const candidates = new Set(made);
  for (const batch of batches(turns, 1_000)) {
    const ids = pgArray(batch);
    for await (const found of sliceReferences(db, sql`t.raw_turn_id = any(${ids}::bigint[])`)) add(candidates, found);
    add(candidates, await slicesOfNodes(db, sql`n.raw_turn_id = any(${ids}::bigint[])`));
  }
  add(candidates, await slicesOfNodes(db, sql`n.session_id = ${session_id}::uuid`));
  const all = candidates.size;
  const purged = new Set(turns);
  await keepReferenced(db, candidates, sql`t.raw_turn_id <= ${up_to}`, purged);
  for (let attempt = 1; ; attempt++) {
    try {
      const removed = await remove(db, { session_id, up_to, turns, reason }, new Set(candidates));
      return { ...removed, slices_shared: all - removed.slices };
    } catch (error) {
      // The commit of a fold holds rows that the purge needs, and waits for one that the purge holds.
      if (!(error instanceof DatabaseError && error.sqlstate === DEADLOCK && attempt < ATTEMPTS)) throw error;
    }
  }
}

async function turnsOf(db: Sql, session_id: string, up_to: number): Promise<number[]> {
  const rows = await db.rows<{ raw_turn_id: number }>(sql`
    select c.raw_turn_id
      from (select r.raw_turn_id from svc.raw_turns r where r.session_id = ${session_id}::uuid
            union
            select k.raw_turn_id from svc.raw_turn_corrections k where k.session_id = ${session_id}::uuid) c
      join svc.effective_turns e on e.raw_turn_id = c.raw_turn_id
     where e.session_id = ${session_id}::uuid and c.raw_turn_id <= ${up_to}
     order by c.raw_turn_id`);
  return rows.map(({ raw_turn_id }) => raw_turn_id);
}

async function slicesOfNodes(db: Sql, matching: ReturnType<typeof sql>): Promise<string[]> {
  const rows = await db.rows<{ slice_id: string }>(sql`
    select distinct encode(n.slice_id, 'hex') as slice_id from svc.nodes n where n.slice_id is not null and ${matching}`);
  return rows.map(({ slice_id }) => slice_id);
}

const add = (ids: Set<string>, more: readonly string[]) => {
  for (const id of more) ids.add(id);
};

/** Removes from the candidates what these turns refer to. */
async function keepReferenced(
  db: Sql,
  candidates: Set<string>,
  matching: ReturnType<typeof sql>,
  except: ReadonlySet<number>,
): Promise<void> {
  if (candidates.size === 0) return;
  for await (const found of sliceReferences(db, matching, except)) {
    for (const id of found) candidates.delete(id);
    if (candidates.size === 0) return;
  }
}

type PurgeScope = { session_id: string; up_to: number; turns: number[]; reason: string };

const remove = (db: Sql, { session_id, up_to, turns, reason }: PurgeScope, candidates: Set<string>) =>
  db.transaction(async (tx) => {
    await stopWriters(tx);
    await tx.rows(sql`select set_config('svc.purge', 'on', true)`);
    const current = new Set(await turnsOf(tx, session_id, up_to));
    const raw_turn_ids = turns.filter((raw_turn_id) => current.has(raw_turn_id));
    const affected = [...new Set([...(await chainsOf(tx, pgArray(raw_turn_ids))), session_id])].sort();
    await stopFolds(tx, pgArray(affected));
    await recordRemovedSpend(tx, {
      session_ids: pgArray(affected),
      nodes: sql`n.raw_turn_id = any(${pgArray(raw_turn_ids)}::bigint[]) and not ${isRemoved(sql`n.session_id`)}`,
    });
    await removeProjections(tx, pgArray(affected));
    const merged = await mergedInto(tx, [session_id]);
    await removeNames(tx, merged);
    await forgetInCassettes(tx, [session_id, ...merged]);
    const made_of_it = await removeMadeInCassettes(tx, [session_id, ...merged]);
    await replaceByTombstones(
      tx,
      raw_turn_ids.map((raw_turn_id) => ({ raw_turn_id, session_id, reason })),
    );
    const raw_turns = raw_turn_ids.length;
    await deriveAgain(tx, pgArray(affected));
    const corrected = pgArray(turns.filter((raw_turn_id) => !current.has(raw_turn_id)));
    await keepReferenced(
      tx,
      candidates,
      sql`(t.raw_turn_id > ${up_to} or t.raw_turn_id = any(${corrected}::bigint[]))`,
      new Set(),
    );
    for (const id of await namedByNodes(tx, [...candidates])) candidates.delete(id);
    const { slices, bytes } = await removeSlices(tx, [...candidates]);
    const hidden = await hide(tx, session_id);
    if (raw_turns > 0 || slices > 0) await countPurge(tx);
    if (raw_turns > 0 || hidden) await recordChange(tx, affected);
    const [counted] = await tx.rows<{ tombstones: number }>(sql`
      select count(*) as tombstones from svc.tombstones where purged_session_id = ${session_id}::uuid`);
    return { raw_turns, slices, bytes, tombstones: counted?.tombstones ?? 0, made_of_it };
  });

/** The sessions in whose chains the turns are: not always the one that they count for. */
async function chainsOf(tx: Sql, purgedIds: string): Promise<string[]> {
  const rows = await tx.rows<{ session_id: string }>(sql`
    select distinct session_id from svc.raw_turns where raw_turn_id = any(${purgedIds}::bigint[])`);
  return rows.map((row) => row.session_id);
}

/** A fold in progress loses its lease, and cannot write anything. */
export async function stopFolds(tx: Sql, session_ids: string): Promise<void> {
  await lockClaims(tx, 'to claim'); // before the queue, in the same order as `claimCalls`
  await tx.rows(sql`delete from svc.derive_queue where session_id = any(${session_ids}::uuid[])`);
}

/**
 * Of sessions whose folds are stopped. Other sessions whose chains held purged turns may have been read with them, so their projections are
 * deleted too, and derived again.
 */
export async function removeProjections(tx: Sql, session_ids: string): Promise<void> {
  const ofSessions = sql`session_id = any(${session_ids}::uuid[])`;
  await tx.rows(sql`delete from svc.cache_breaks where ${ofSessions}`);
  await tx.rows(sql`delete from svc.cache_reviews where ${ofSessions}`);
  await tx.rows(sql`delete from svc.span_links where ${ofSessions}`);
  await tx.rows(sql`delete from svc.spans where ${ofSessions}`);
  await tx.rows(sql`delete from svc.traces where ${ofSessions}`);
  await voidOutlines(tx, session_ids);
  await tx.rows(sql`delete from svc.session_rollups where ${ofSessions}`);
  await tx.rows(sql`delete from svc.derive_states where ${ofSessions}`);
  await removeIndexed(tx, session_ids);
  await tx.rows(sql`delete from svc.transcript_readings where ${ofSessions}`);
  await tx.rows(sql`delete from svc.transcript_calls where ${ofSessions}`);
  await tx.rows(sql`delete from svc.nodes where ${ofSessions}`);
  const released = await tx.rows<{ call_key: string }>(sql`
    with calls as (delete from svc.calls where ${ofSessions} returning call_key),
         claims as (delete from svc.transcript_claims where ${ofSessions} returning call_key)
    select encode(call_key, 'hex') as call_key from calls where call_key is not null
     union select encode(call_key, 'hex') from claims`);
  await tx.rows(sql`delete from svc.transcript_claim_marks where ${ofSessions}`);
  await settleOwners(
    tx,
    released.map(({ call_key }) => call_key),
    null,
  );
}

/** Queues those of the sessions that have turns left. */
async function deriveAgain(tx: Sql, session_ids: string): Promise<void> {
  await tx.rows(sql`
    insert into svc.derive_queue (session_id, from_scratch)
    select u.session_id, true
      from unnest(${session_ids}::uuid[]) as u (session_id)
     where exists (select 1 from svc.raw_turns t where t.session_id = u.session_id)
        or exists (select 1 from svc.raw_turn_corrections k where k.session_id = u.session_id)
     order by u.session_id`);
  await tx.rows(sql`select pg_notify('svc_dirty', '')`);
}

/** Messages that are no slice of a body are referred to by nodes alone. */
async function namedByNodes(tx: Sql, candidates: readonly string[]): Promise<string[]> {
  if (candidates.length === 0) return [];
  return slicesOfNodes(tx, sql`n.slice_id in (select unnest(${hexArray(candidates)}::bytea[]))`);
}

async function removeSlices(tx: Sql, ids: readonly string[]): Promise<{ slices: number; bytes: number }> {
  const sum = { slices: 0, bytes: 0 };
  for (const batch of batches(ids, 5_000)) {
    const [deleted] = await tx.rows<{ slices: number; bytes: number }>(sql`
      with gone as (
        delete from svc.slices where slice_id = any(${hexArray(batch)}::bytea[]) returning octet_length(bytes) as bytes)
      select count(*) as slices, coalesce(sum(bytes), 0)::bigint as bytes from gone`);
    sum.slices += deleted?.slices ?? 0;
    sum.bytes += deleted?.bytes ?? 0;
  }
  return sum;
}

/** Hides the session and deletes the name that people gave it. True when it was visible or named until now. */
async function hide(tx: Sql, session_id: string): Promise<boolean> {
  const hidden = await tx.rows(sql`
    insert into svc.session_edits as e (session_id, deleted_at) values (${session_id}::uuid, now())
    on conflict (session_id) do update set deleted_at = coalesce(e.deleted_at, excluded.deleted_at), display_name = null, edited_at = excluded.edited_at
     where e.deleted_at is null or e.display_name is not null
    returning session_id`);
  return hidden.length > 0;
}
