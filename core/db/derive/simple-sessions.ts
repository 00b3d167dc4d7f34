/** Sessions that can be derived together, from what their wire calls alone hold: nothing late, no transcript, no correction. */
import { sql } from 'drizzle-orm';
import { pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';
import type { MaybeState, StateColumns } from './derive-states.ts';
import { callId } from './derive-turns.ts';

/** `state` null: nothing of it has been derived. */
export type SimpleSession = { session_id: string; state: StateColumns | null; up_to_seq: number };

/**
 * Those among the sessions whose new turns only have to be folded on top of their state, of which at most `max_turns` have come in.
 * For each of the others `transcriptState` and `deriveState` find out what has to be done.
 */
export async function simpleSessions(
  db: Sql,
  { session_ids, version, max_turns }: { session_ids: readonly string[]; version: number; max_turns: number },
): Promise<SimpleSession[]> {
  const ids = pgArray(session_ids);
  const among = sql`d.session_id = any(${ids}::uuid[])`;
  const found = await db.rows<MaybeState & Omit<SimpleSession, 'state'>>(sql`
    with newest as materialized (
           select d.session_id, d.state, d.compressed, d.folded_turns from svc.derive_states d where ${among} and d.opened_at = 'infinity'),
         traced as materialized (select distinct d.session_id from svc.traces d where ${among})
    select u.session_id, d.state, d.compressed, m.up_to_seq
      from unnest(${ids}::uuid[]) with ordinality as u (session_id, ordinal)
      left join newest d on d.session_id = u.session_id
     cross join lateral (
       select coalesce(max(t.session_seq), 0) as up_to_seq from svc.raw_turns t where t.session_id = u.session_id) m
     where m.up_to_seq > 0 and m.up_to_seq - coalesce(d.folded_turns, 0) <= ${max_turns}
       and (d.state is not null
            or not exists (select 1 from svc.session_rollups r where r.session_id = u.session_id)
               and not exists (select 1 from traced x where x.session_id = u.session_id))
       and not exists (select 1 from svc.raw_turns t where t.session_id = u.session_id and t.source = 'transcript')
       and not exists (select 1 from svc.transcript_readings x where x.session_id = u.session_id)
       and not exists (select 1 from svc.raw_turn_corrections k where k.session_id = u.session_id)
       and not exists (
         select 1 from svc.raw_turns t
          where t.session_id = u.session_id and t.session_seq > d.folded_turns and t.source = 'wire'
            and (t.requested_at, ${callId})
                < ((d.state #>> '{last,requested_at}')::timestamptz, d.state #>> '{last,call_id}'))
     order by u.ordinal`);
  return found.flatMap(({ session_id, state, compressed, up_to_seq }) => {
    if (state === null) return { session_id, state, up_to_seq };
    const isUsable = state.version === version && !state.replacing && state.last;
    return isUsable ? { session_id, state: { state, compressed }, up_to_seq } : [];
  });
}
