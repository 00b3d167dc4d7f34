/** Attributes a turn to another session: by a correction, since the turn itself is never edited. */
import { type SQL, sql } from 'drizzle-orm';
import { sessionId } from '../../call/identity.ts';
import { Refusal } from '../../errors.ts';
import { markFromScratch } from '../derive/mark-from-scratch.ts';
import { pgArray } from '../literals.ts';
import { recordChange } from '../record-change.ts';
import type { Sql } from '../sql.ts';
import { holdSlices } from '../store/purge-count.ts';
import { countMoved, setTimes } from './move-turns.ts';

/** Whom a turn counts for. `thread_id` '' is the main thread. */
export type TurnAttribution = {
  raw_turn_id: number;
  session_id: string;
  harness_id: string;
  harness_session_id: string;
  thread_id: string;
  parent_harness_session_id: string | null;
};

/** One of the two ids is null. Texts are storable and bounded. */
export type WantedAttribution = Omit<TurnAttribution, 'raw_turn_id' | 'session_id'> & {
  raw_turn_id: number | null;
  svc_proxy_request_id: string | null;
  reason: string;
};

/** `recorded` false: it was so already. Both sessions are marked to be derived anew; `marked_at` is for `repairPending`. */
export type Repaired = { recorded: boolean; previous: TurnAttribution; effective: TurnAttribution; marked_at: string };

/**
 * Records a correction, and creates the target session where there is none. Repairs of one turn are serialised, so that each sees
 * the result of the one before. Null: there is no such turn.
 * @throws {Refusal} raw-turn-inseparable
 */
export const repairAttribution = (db: Sql, request: WantedAttribution): Promise<Repaired | null> =>
  db.transaction(async (tx) => {
    await holdSlices(tx, undefined); // so that no purge deletes the turn meanwhile
    const raw_turn_id = await lockedTurn(tx, request);
    if (raw_turn_id === null) return null;
    const previous = await attributionOf(tx, raw_turn_id);
    const { harness_id, harness_session_id, thread_id, parent_harness_session_id } = request;
    const session_id = sessionId(harness_id, harness_session_id);
    const effective: TurnAttribution = {
      ...{ raw_turn_id, session_id, harness_id, harness_session_id, thread_id, parent_harness_session_id },
    };
    const ids = [...new Set([previous.session_id, session_id])].sort(); // rows are locked in the same order as by intake
    const recorded = !isSame(previous, effective);
    for (const id of ids) {
      if (id === session_id) await upsertTarget(tx, effective);
      else await tx.rows(sql`select session_id from svc.sessions where session_id = ${id}::uuid for update`);
    }
    if (recorded) {
      await tx.rows(sql`
        insert into svc.raw_turn_corrections (raw_turn_id, kind, session_id, thread_id, parent_harness_session_id, reason)
        values (${raw_turn_id}, 'repair', ${session_id}::uuid, ${thread_id}, ${parent_harness_session_id}, ${request.reason})`);
      await countMoved(tx, { from: previous.session_id, to: session_id, turns: 1 });
      for (const id of ids) await setTimes(tx, id);
    }
    await tx.rows(sql`delete from svc.transcript_readings where session_id = any(${pgArray(ids)}::uuid[])`);
    let marked_at = '';
    for (const id of ids) ({ marked_at } = await markFromScratch(tx, { session_id: id }));
    if (recorded) await recordChange(tx, ids);
    return { recorded, previous, effective, marked_at };
  });

async function lockedTurn(tx: Sql, { raw_turn_id, svc_proxy_request_id }: WantedAttribution): Promise<number | null> {
  const matching: SQL =
    raw_turn_id === null
      ? sql`t.svc_proxy_request_id = ${svc_proxy_request_id}`
      : sql`t.raw_turn_id = ${raw_turn_id}::bigint`;
  const [turn] = await tx.rows<{ raw_turn_id: number; is_part: boolean }>(sql`
    select t.raw_turn_id,
           coalesce((t.meta #>> '{transcript,part,count}')::numeric > 1, t.meta #> '{transcript,part}' is not null) as is_part
      from svc.raw_turns t where ${matching} for no key update`);
  if (turn?.is_part)
    throw new Refusal(
      'raw-turn-inseparable',
      'Cannot repair the raw turn: it is one of several parts of a transcript, which would be whole in neither session',
    );
  return turn?.raw_turn_id ?? null;
}

async function attributionOf(tx: Sql, raw_turn_id: number): Promise<TurnAttribution> {
  const [row] = await tx.rows<TurnAttribution>(sql`
    select e.raw_turn_id, e.session_id, s.harness_id, s.harness_session_id, e.thread_id, e.parent_harness_session_id
      from svc.effective_turns e
      join svc.sessions s on s.session_id = e.session_id
     where e.raw_turn_id = ${raw_turn_id}`);
  if (!row) throw new Error('Cannot repair a raw turn: it has no session');
  return row;
}

const isSame = (one: TurnAttribution, other: TurnAttribution): boolean =>
  one.session_id === other.session_id &&
  one.thread_id === other.thread_id &&
  one.parent_harness_session_id === other.parent_harness_session_id;

/** A new session takes its client and subject from the turn; in an existing one only missing values are filled in. An emptied session reappears. */
const upsertTarget = (tx: Sql, { raw_turn_id, session_id, ...names }: TurnAttribution) =>
  tx.rows(sql`
    insert into svc.sessions as s (session_id, harness_id, harness_session_id, client_key, auth_subject,
                                   parent_harness_session_id, started_at, last_seen_at)
    select ${session_id}::uuid, ${names.harness_id}, ${names.harness_session_id}, o.client_key,
           coalesce(t.identity ->> 'auth_subject', ''), ${names.parent_harness_session_id}, t.requested_at,
           coalesce(t.last_byte_at, t.requested_at)
      from svc.raw_turns t
      join svc.sessions o on o.session_id = t.session_id
     where t.raw_turn_id = ${raw_turn_id}
    on conflict (session_id) do update
       set auth_subject = coalesce(nullif(s.auth_subject, ''), excluded.auth_subject),
           parent_harness_session_id = coalesce(excluded.parent_harness_session_id, s.parent_harness_session_id),
           emptied = false`);

/** Those of the sessions that are not derived yet since they were marked. `parked`: not tried again by itself. */
export const repairPending = (
  db: Sql,
  { session_ids, marked_at }: { session_ids: string[]; marked_at: string },
): Promise<{ session_id: string; parked: boolean }[]> =>
  db.rows(sql`
    select session_id, parked_at is not null as parked
      from svc.derive_queue
     where session_id = any(${pgArray(session_ids)}::uuid[]) and dirtied_at <= ${marked_at}::timestamptz
     order by session_id`);
