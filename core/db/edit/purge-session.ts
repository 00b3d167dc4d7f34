/** How does a session leave the log? Its raw turns, what was derived of them, and the slices that nobody else needs; tombstones stay. */
import { sql } from 'drizzle-orm';
import { DatabaseError } from '../../errors.ts';
import { hexArray, pgArray } from '../literals.ts';
import { recordChange } from '../record-change.ts';
import type { Sql } from '../sql.ts';
import { lockClaims, settleOwners } from '../store/call-owners.ts';
import { countPurge, stopWriters } from '../store/purge-count.ts';
import { forgetInCassettes } from './forget-in-cassettes.ts';
import { type MadeOfSession, removeMadeInCassettes } from './made-in-cassettes.ts';
import { parts, sliceReferences } from './slice-references.ts';

/** The turns up to `up_to` that the latest correction attributes to the session; those that come later are no part of the purge. */
export type PurgeOpened = { up_to: number; raw_turns: number };

/** What went. `bytes`: that the slices took. `tombstones`: that stand for the session now, with those of earlier purges. */
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
    await stopWriters(tx); // whoever has drawn a lower id than the highest is done, too
    const [highest] = await tx.rows<{ up_to: number }>(sql`
      select coalesce(max(raw_turn_id), 0) as up_to from svc.raw_turns`);
    const up_to = highest?.up_to ?? 0;
    return { up_to, raw_turns: (await turnsOf(tx, session_id, up_to)).length };
  });

const ATTEMPTS = 5;
const DEADLOCK = '40P01';

/**
 * Looks for what nobody else needs while others go on writing, and deletes it under a lock that keeps them out: there only what has
 * been stored since is looked at. Turns of the session's chain that a correction gave to another session stay, those that it
 * brought here go.
 * @param made slices that a reading of the turns makes beside what their recipes hold
 */
export async function purgeSession(
  db: Sql,
  { session_id, up_to, made, reason }: { session_id: string; up_to: number; made: string[]; reason: string },
): Promise<Purged> {
  const turns = await turnsOf(db, session_id, up_to);
  const candidates = new Set(made);
  for (const some of parts(turns, 1_000)) {
    const ids = pgArray(some);
    for await (const found of sliceReferences(db, sql`t.raw_turn_id = any(${ids}::bigint[])`)) add(candidates, found);
    add(candidates, await slicesOfNodes(db, sql`n.raw_turn_id = any(${ids}::bigint[])`));
  }
  add(candidates, await slicesOfNodes(db, sql`n.session_id = ${session_id}::uuid`));
  const all = candidates.size;
  const purged = new Set(turns);
  await spare(db, candidates, sql`t.raw_turn_id <= ${up_to}`, purged);
  for (let attempt = 1; ; attempt++) {
    try {
      const gone = await remove(db, { session_id, up_to, turns, reason }, new Set(candidates));
      return { ...gone, slices_shared: all - gone.slices };
    } catch (error) {
      // A fold that is being committed holds rows that we want, and waits for one of ours.
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

/** Takes out of the candidates what these turns refer to. */
async function spare(
  db: Sql,
  candidates: Set<string>,
  matching: ReturnType<typeof sql>,
  besides: ReadonlySet<number>,
): Promise<void> {
  if (candidates.size === 0) return;
  for await (const found of sliceReferences(db, matching, besides)) {
    for (const id of found) candidates.delete(id);
    if (candidates.size === 0) return;
  }
}

type Going = { session_id: string; up_to: number; turns: number[]; reason: string };

const remove = (db: Sql, { session_id, up_to, turns, reason }: Going, candidates: Set<string>) =>
  db.transaction(async (tx) => {
    await stopWriters(tx);
    await tx.rows(sql`select set_config('svc.purge', 'on', true)`);
    const still = new Set(await turnsOf(tx, session_id, up_to));
    const going = pgArray(turns.filter((raw_turn_id) => still.has(raw_turn_id)));
    const affected = [...new Set([...(await chainsOf(tx, going)), session_id])].sort();
    await removeProjections(tx, pgArray(affected));
    await forgetInCassettes(tx, session_id);
    const made_of_it = await removeMadeInCassettes(tx, session_id);
    const raw_turns = await buryTurns(tx, { session_id, going, reason });
    await deriveAgain(tx, pgArray(affected));
    const corrected = pgArray(turns.filter((raw_turn_id) => !still.has(raw_turn_id)));
    await spare(
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
    const [stones] = await tx.rows<{ tombstones: number }>(sql`
      select count(*) as tombstones from svc.tombstones where purged_session_id = ${session_id}::uuid`);
    return { raw_turns, slices, bytes, tombstones: stones?.tombstones ?? 0, made_of_it };
  });

/** The sessions in whose chains the turns stand: not always the one that they count for. */
async function chainsOf(tx: Sql, going: string): Promise<string[]> {
  const rows = await tx.rows<{ session_id: string }>(sql`
    select distinct session_id from svc.raw_turns where raw_turn_id = any(${going}::bigint[])`);
  return rows.map((row) => row.session_id);
}

/**
 * The queue first: a fold that is under way has lost its lease then, and cannot write anything back. Other sessions in whose chains
 * turns stood that go may have been read with them, so theirs goes too, and is derived again.
 */
export async function removeProjections(tx: Sql, session_ids: string): Promise<void> {
  const theirs = sql`session_id = any(${session_ids}::uuid[])`;
  await lockClaims(tx, 'to claim'); // before the queue, as whoever claims does
  await tx.rows(sql`delete from svc.derive_queue where ${theirs}`);
  await tx.rows(sql`delete from svc.span_links where ${theirs}`);
  await tx.rows(sql`delete from svc.spans where ${theirs}`);
  await tx.rows(sql`delete from svc.traces where ${theirs}`);
  await tx.rows(sql`delete from svc.session_rollups where ${theirs}`);
  await tx.rows(sql`delete from svc.derive_states where ${theirs}`);
  await tx.rows(sql`delete from svc.transcript_readings where ${theirs}`);
  await tx.rows(sql`delete from svc.transcript_calls where ${theirs}`);
  await tx.rows(sql`delete from svc.nodes where ${theirs}`);
  const freed = await tx.rows<{ call_key: string }>(sql`
    with calls as (delete from svc.calls where ${theirs} returning call_key),
         claims as (delete from svc.transcript_claims where ${theirs} returning call_key)
    select encode(call_key, 'hex') as call_key from calls where call_key is not null
     union select encode(call_key, 'hex') from claims`);
  await tx.rows(sql`delete from svc.transcript_claim_marks where ${theirs}`);
  await settleOwners(
    tx,
    freed.map(({ call_key }) => call_key),
    null,
  );
}

/** A tombstone stands in the chain in which the turn stood. @returns how many went */
async function buryTurns(
  tx: Sql,
  { session_id, going, reason }: { session_id: string; going: string; reason: string },
): Promise<number> {
  await tx.rows(sql`delete from svc.raw_turn_corrections where raw_turn_id = any(${going}::bigint[])`);
  const [buried] = await tx.rows<{ raw_turns: number }>(sql`
    with gone as (
      delete from svc.raw_turns where raw_turn_id = any(${going}::bigint[])
      returning raw_turn_id, session_id, session_seq, turn_hash, prev_hash),
    stones as (
      insert into svc.tombstones (session_id, raw_turn_id, session_seq, turn_hash, prev_hash, purged_session_id, reason)
      select session_id, raw_turn_id, session_seq, turn_hash, prev_hash, ${session_id}::uuid, ${reason}
        from gone order by session_id, session_seq
      returning raw_turn_id)
    select count(*) as raw_turns from stones`);
  return buried?.raw_turns ?? 0;
}

/** Of these sessions those that have turns left. */
async function deriveAgain(tx: Sql, session_ids: string): Promise<void> {
  await tx.rows(sql`
    insert into svc.derive_queue (session_id, from_scratch)
    select u.session_id, true
      from unnest(${session_ids}::uuid[]) as u (session_id)
     where exists (select from svc.raw_turns t where t.session_id = u.session_id)
        or exists (select from svc.raw_turn_corrections k where k.session_id = u.session_id)
     order by u.session_id`);
  await tx.rows(sql`select pg_notify('svc_dirty', '')`);
}

/** Messages that no body holds as a piece are named by nodes alone. */
async function namedByNodes(tx: Sql, candidates: readonly string[]): Promise<string[]> {
  if (candidates.length === 0) return [];
  return slicesOfNodes(tx, sql`n.slice_id in (select unnest(${hexArray(candidates)}::bytea[]))`);
}

async function removeSlices(tx: Sql, ids: readonly string[]): Promise<{ slices: number; bytes: number }> {
  const sum = { slices: 0, bytes: 0 };
  for (const some of parts(ids, 5_000)) {
    const [gone] = await tx.rows<{ slices: number; bytes: number }>(sql`
      with gone as (
        delete from svc.slices where slice_id = any(${hexArray(some)}::bytea[]) returning octet_length(bytes) as bytes)
      select count(*) as slices, coalesce(sum(bytes), 0)::bigint as bytes from gone`);
    sum.slices += gone?.slices ?? 0;
    sum.bytes += gone?.bytes ?? 0;
  }
  return sum;
}

/** The name that people gave it goes too. True when it was to be seen until now. */
async function hide(tx: Sql, session_id: string): Promise<boolean> {
  const hidden = await tx.rows(sql`
    insert into svc.session_edits as e (session_id, deleted_at) values (${session_id}::uuid, now())
    on conflict (session_id) do update set deleted_at = coalesce(e.deleted_at, now()), display_name = null, edited_at = now()
     where e.deleted_at is null or e.display_name is not null
    returning session_id`);
  return hidden.length > 0;
}
