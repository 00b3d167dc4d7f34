/**
 * Removes sessions a batch of rows at a time, so that nobody waits long for a lock or, on the embedded database, for the connection:
 * `beginRemovals` chooses and hides them, `removeDerived`, `forgetRemoved` and `removeTurns` delete their rows, `endRemovals` completes it.
 * Their slices stay until they are collected (../gc). An interrupted removal is listed by `openRemovals`.
 */
import { type SQL, sql } from 'drizzle-orm';
import { recordRemovedSpend } from '../budget/removed-spend.ts';
import { markFromScratch } from '../derive/mark-from-scratch.ts';
import { voidOutlines } from '../derive/revisions.ts';
import { forgetInCassettes } from '../edit/forget-in-cassettes.ts';
import { removeMadeInCassettes } from '../edit/made-in-cassettes.ts';
import { mergedInto, removeNames } from '../edit/merged-sessions.ts';
import { replaceByTombstones } from '../edit/tombstones.ts';
import { removeUnused } from '../find/prompts.ts';
import { pgArray } from '../literals.ts';
import { recordChange } from '../record-change.ts';
import type { Sql } from '../sql.ts';
import { lockClaims, settleOwners } from '../store/call-owners.ts';
import type { DueSession } from './due-sessions.ts';

/** Sessions whose removal was begun and not completed. */
export const openRemovals = async (db: Sql, { limit }: { limit: number }): Promise<string[]> =>
  (
    await db.rows<{ session_id: string }>(
      sql`select session_id from svc.session_removals order by began_at, session_id limit ${limit}`,
    )
  ).map(({ session_id }) => session_id);

/**
 * Hides the sessions and takes them out of derivation, unless something came in since they were listed, or a person starred them.
 * @param reason of each, for the tombstones of its turns
 * @returns those that are removed now
 */
export const beginRemovals = (
  db: Sql,
  { sessions }: { sessions: (Pick<DueSession, 'session_id' | 'last_seen_at'> & { reason: string })[] },
): Promise<string[]> =>
  db.transaction(async (tx) => {
    const listed = pgArray(sessions.map(({ session_id }) => session_id));
    const reasons = new Map(sessions.map(({ session_id, reason }) => [session_id, reason]));
    const [claiming] = await tx.rows(
      sql`select 1 as one from svc.transcript_claims where session_id = any(${listed}::uuid[]) limit 1`,
    );
    if (claiming) await lockClaims(tx, 'to claim'); // before the queue, in the same order as `claimCalls`
    const locked = await tx.rows<{ session_id: string }>(sql`
      select s.session_id
        from svc.sessions s
        join unnest(${listed}::uuid[], ${pgArray(sessions.map((one) => one.last_seen_at))}::timestamptz[])
               as l (session_id, last_seen_at) on l.session_id = s.session_id and l.last_seen_at = s.last_seen_at
       order by s.session_id for update of s skip locked`);
    const begun = await tx.rows<{ session_id: string; was_hidden: boolean }>(sql`
      insert into svc.session_removals (session_id, up_to, was_hidden, reason)
      select s.session_id, coalesce(max(c.raw_turn_id), 0), bool_or(e.deleted_at is not null), s.reason
        from unnest(${pgArray(locked.map((row) => row.session_id))}::uuid[],
                    ${pgArray(locked.map((row) => reasons.get(row.session_id) ?? ''))}::text[]) as s (session_id, reason)
        left join svc.session_edits e on e.session_id = s.session_id
        left join lateral (
          select r.raw_turn_id from svc.raw_turns r where r.session_id = s.session_id
           union all
          select k.raw_turn_id from svc.raw_turn_corrections k where k.session_id = s.session_id) c on true
       where e.starred_at is null
       group by s.session_id, s.reason
       order by s.session_id
      on conflict (session_id) do nothing
      returning session_id, was_hidden`);
    const ids = begun.map(({ session_id }) => session_id);
    const array = pgArray(ids);
    await tx.rows(sql`
      insert into svc.session_edits as e (session_id, deleted_at)
      select session_id, now() from unnest(${array}::uuid[]) as n (session_id) order by session_id
      on conflict (session_id) do update set deleted_at = coalesce(e.deleted_at, excluded.deleted_at), display_name = null, edited_at = excluded.edited_at`);
    await tx.rows(sql`delete from svc.derive_queue where ${among(array)}`); // a fold in progress thereby loses its lease
    await recordRemovedSpend(tx, {
      session_ids: array,
      nodes: sql`true`,
    });
    if (claiming) {
      const released = await tx.rows<{ call_key: string }>(sql`
        delete from svc.transcript_claims where ${among(array)} returning encode(call_key, 'hex') as call_key`);
      await tx.rows(sql`delete from svc.transcript_claim_marks where ${among(array)}`);
      await settleOwners(
        tx,
        released.map(({ call_key }) => call_key),
        null,
      );
    }
    await voidOutlines(tx, array);
    await recordChange(
      tx,
      begun.flatMap(({ session_id, was_hidden }) => (was_hidden ? [] : session_id)),
    );
    return ids;
  });

/** In the order in which they are deleted. Totals of nodes and rollups follow by their triggers. */
const DERIVED = [
  ...['cache_breaks', 'cache_reviews'],
  ...['span_links', 'spans', 'traces', 'session_rollups', 'derive_states', 'transcript_readings', 'transcript_calls'],
  ...['nodes', 'calls', 'found_texts', 'found_prompt_uses', 'found_sessions'],
];

/** Deletes at most `limit` rows of what was derived. @returns how many; fewer than the limit: nothing is left */
export const removeDerived = (
  db: Sql,
  { session_ids, limit }: { session_ids: string[]; limit: number },
): Promise<number> =>
  db.transaction(async (tx) => {
    let removed = 0;
    for (const name of DERIVED) {
      if (removed === limit) break;
      const rows = deleteSome(name, pgArray(session_ids), limit - removed);
      if (name === 'calls') removed += await removeCalls(tx, rows);
      else removed += name === 'found_prompt_uses' ? await removePromptUses(tx, rows) : await deleted(tx, rows);
    }
    return removed;
  });

/** Rows are named by their place in the table, which is cheapest; those of tables that may be distributed or partitioned, by their keys. */
const KEYS: Readonly<Record<string, SQL | undefined>> = {
  span_links: sql`session_id, from_trace_id, from_span_id, to_trace_id, to_span_id, kind`,
  spans: sql`session_id, trace_id, span_id`,
  nodes: sql`session_id, node_hash`,
  traces: sql`session_id, trace_id`,
  derive_states: sql`session_id, opened_at, opened_call_id`,
};

function deleteSome(name: string, session_ids: string, limit: number): SQL {
  const table = sql.raw(`svc.${name}`);
  const own = among(session_ids);
  const key = KEYS[name];
  return key
    ? sql`delete from ${table} where ${own} and (${key}) in (select ${key} from ${table} where ${own} limit ${limit})`
    : sql`delete from ${table} where ctid = any(array(select ctid from ${table} where ${own} limit ${limit}))`;
}

/** A call that other sessions hold too counts in one of those from now on. */
async function removeCalls(tx: Sql, rows: SQL): Promise<number> {
  const removed = await tx.rows<{ call_key: string | null }>(
    sql`${rows} returning encode(call_key, 'hex') as call_key`,
  );
  const call_keys = removed.flatMap(({ call_key }) => call_key ?? []);
  if (call_keys.length > 0) await lockClaims(tx, 'to look');
  await settleOwners(tx, call_keys, null);
  return removed.length;
}

/** Pieces of prompts that no other session uses go with them. */
async function removePromptUses(tx: Sql, rows: SQL): Promise<number> {
  const removed = await tx.rows<{ piece_id: string }>(sql`${rows} returning encode(piece_id, 'hex') as piece_id`);
  await removeUnused(
    tx,
    removed.map(({ piece_id }) => piece_id),
  );
  return removed.length;
}

async function deleted(tx: Sql, rows: SQL): Promise<number> {
  const [row] = await tx.rows<{ count: number }>(
    sql`with gone as (${rows} returning 1) select count(*) as count from gone`,
  );
  return row?.count ?? 0;
}

/**
 * Takes from the totals what the sessions still count there: the nodes of a partition go without being deleted one by one. Call it when
 * none of their other nodes is left.
 */
export const removeCells = (db: Sql, { session_ids }: { session_ids: string[] }): Promise<void> =>
  db.transaction(async (tx) => {
    const own = among(pgArray(session_ids));
    const counted = await tx.rows(sql`select 1 as one from svc.stat_cells where ${own} limit 1`);
    if (counted.length === 0) return;
    await tx.rows(sql`select session_id from svc.sessions where ${own} order by session_id for no key update`);
    await tx.rows(sql`delete from svc.nodes where ${own}`); // of turns that came in meanwhile, which are derived again
    await tx.rows(sql`
      with gone as (delete from svc.stat_cells where ${own} returning *)
      select svc.add_to_stat_days(array(
        select row(day, attributes, -sum(turn_count), -sum(root_count), -sum(tool_calls), -sum(unpriced_count), -sum(input_tokens),
                   -sum(output_tokens), -sum(cost_usd), project, agent_name, model, provider, -sum(cache_read_tokens),
                   -sum(cache_write_tokens), -sum(reasoning_tokens), -sum(unpriced_tokens), -sum(cost_fresh), -sum(cost_cache_read),
                   -sum(cost_cache_write_5m), -sum(cost_cache_write_1h), -sum(cost_output), -sum(cost_reasoning))::svc.stat_days
          from gone
         group by day, attributes, project, agent_name, model, provider))`);
  });

/**
 * Deletes what cassettes keep of the sessions and of those merged into them, or made of them and nobody edited since. Call it before
 * `removeTurns`.
 */
export const forgetRemoved = (db: Sql, { session_ids }: { session_ids: string[] }): Promise<void> =>
  db.transaction(async (tx) => {
    const merged = await mergedInto(tx, session_ids);
    await removeNames(tx, merged);
    await forgetInCassettes(tx, [...session_ids, ...merged]);
    await removeMadeInCassettes(tx, [...session_ids, ...merged]);
  });

/**
 * Puts tombstones in the places of at most `limit` turns that count for the sessions. A turn that a correction moved to another session
 * stays; of one that was moved here, the session in whose chain it stood is derived again. @returns how many; fewer: none is left
 */
export const removeTurns = (
  db: Sql,
  { session_ids, limit }: { session_ids: string[]; limit: number },
): Promise<number> =>
  db.transaction(async (tx) => {
    const array = pgArray(session_ids);
    await tx.rows(sql`select set_config('svc.purge', 'on', true)`);
    await tx.rows(sql`select session_id from svc.sessions where ${among(array)} order by session_id for no key update`);
    const turns = await tx.rows<{ raw_turn_id: number; session_id: string; reason: string }>(sql`
      select c.raw_turn_id, c.session_id, c.reason
        from (select r.raw_turn_id, m.session_id, m.up_to, m.reason
                from svc.session_removals m join svc.raw_turns r on r.session_id = m.session_id
               where m.session_id = any(${array}::uuid[])
               union
              select k.raw_turn_id, m.session_id, m.up_to, m.reason
                from svc.session_removals m join svc.raw_turn_corrections k on k.session_id = m.session_id
               where m.session_id = any(${array}::uuid[])) c
        join svc.effective_turns e on e.raw_turn_id = c.raw_turn_id and e.session_id = c.session_id
       where c.raw_turn_id <= c.up_to
       order by c.raw_turn_id
       limit ${limit}`);
    const chains = await replaceByTombstones(tx, turns);
    if (turns.length > 0) await tx.rows(sql`update svc.installation set slices_due = true where not slices_due`);
    for (const session_id of chains) if (!session_ids.includes(session_id)) await markFromScratch(tx, { session_id });
    return turns.length;
  });

/** A session that got turns meanwhile is shown again and derived from them; the others are shown nowhere until a turn comes. */
export const endRemovals = (db: Sql, { session_ids }: { session_ids: string[] }): Promise<void> =>
  db.transaction(async (tx) => {
    const array = pgArray(session_ids);
    await tx.rows(sql`select session_id from svc.sessions where ${among(array)} order by session_id for update`);
    await tx.rows(sql`
      update svc.sessions set emptied = true where ${among(array)} and turn_count + moved_turns = purged_turns`);
    await tx.rows(sql`
      delete from svc.session_edits e
       where e.session_id in (
         select m.session_id from svc.session_removals m where m.session_id = any(${array}::uuid[]) and not m.was_hidden)`);
    await tx.rows(sql`delete from svc.session_removals where ${among(array)}`);
    const left = await tx.rows<{ session_id: string }>(sql`
      select session_id from svc.sessions where ${among(array)} and turn_count + moved_turns > purged_turns`);
    for (const { session_id } of left) await markFromScratch(tx, { session_id });
    // for readers of the changes the others are gone since `beginRemovals`
    await recordChange(
      tx,
      left.map(({ session_id }) => session_id),
    );
  });

/** Deletes at most `limit` turns that were set aside unread before the instant. @returns how many */
export const removeParkedTurns = async (
  db: Sql,
  { before, limit }: { before: string; limit: number },
): Promise<number> =>
  deleted(
    db,
    sql`delete from svc.parked_turns where svc_proxy_request_id = any(array(
          select svc_proxy_request_id from svc.parked_turns where parked_at < ${before}::timestamptz limit ${limit}))`,
  );

const among = (session_ids: string): SQL => sql`session_id = any(${session_ids}::uuid[])`;
