/** The input of a fold: a session's newest state, or the point to replay from, and its calls in order, page by page. */
import { type SQL, sql } from 'drizzle-orm';
import { type CallKey, compareKeys, keyOf } from '../../derive/order.ts';
import type { CallKind } from '../../model/call-kind.ts';
import type { Identity } from '../../model/identity.ts';
import { hexArray, instant, pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { hasBodies, isWhole } from '../store/stored-turns.ts';
import type { MaybeState, StateColumns } from './derive-states.ts';
import { effectiveIdentity } from './effective-identity.ts';

/**
 * The state of a session's fold. `state` null: all calls are to be folded anew. `replay_from`: the calls from this one on have been
 * folded before, after another history; their rows are to be replaced. Turns up to `up_to_seq` belong to this pass.
 */
export type DeriveState = {
  state: StateColumns | null;
  replay_from: CallKey | null;
  up_to_seq: number;
  transcripts_follow: boolean; // projected calls of transcripts sort after the state's last one
  has_wire: boolean; // calls over the wire are in the session, or may have been moved into it
  is_underived: boolean; // no row of its projection is stored
};

/**
 * Finds the state to continue from. A call is late when it sorts before the last one folded and has not been folded: then the
 * newest checkpoint at or before it is taken. Turns that corrections moved in are not looked for: a correction marks both
 * sessions from scratch.
 * @param differs the call from which on the fold differs although no call over the wire is late; null: none
 */
export async function deriveState(
  db: Sql,
  { session_id, version, differs }: { session_id: string; version: number; differs: CallKey | null },
): Promise<DeriveState> {
  const [own] = await db.rows<MaybeState & { up_to_seq: number; folded_turns: number }>(sql`
    with newest as materialized (
           select s.state, s.compressed, s.folded_turns
             from svc.derive_states s where s.session_id = ${session_id}::uuid and s.opened_at = 'infinity')
    select coalesce((select max(t.session_seq) from svc.raw_turns t where t.session_id = ${session_id}::uuid), 0) as up_to_seq,
           n.state, n.compressed, coalesce(n.folded_turns, 0) as folded_turns
      from (values (1)) as one left join newest n on true`);
  const { up_to_seq, folded_turns, compressed, ...newest } = own ?? noTurns;
  const isUsable = newest.state?.version === version && !newest.state.replacing; // a pass that was broken off begins again
  const state = isUsable && newest.state ? { state: newest.state, compressed } : null;
  const last = state?.state.last ?? null;
  const { late, ...facts } = await factsOf(db, session_id, { last, folded_turns, up_to_seq });
  const from = last && earliest([late, differs && compareKeys(differs, last) <= 0 ? differs : null]);
  if (!from) return { state, replay_from: null, up_to_seq, ...facts };
  const [found] = await db.rows<CallKey & StateColumns>(sql`
    select ${instant(sql`s.opened_at`)} as requested_at, s.opened_call_id as call_id, s.state, s.compressed
      from svc.derive_states s
     where s.session_id = ${session_id} and s.opened_at < 'infinity'
       and (s.opened_at, s.opened_call_id collate "C") <= (${from.requested_at}::timestamptz, ${from.call_id})
     order by s.opened_at desc, s.opened_call_id collate "C" desc
     limit 1`);
  const checkpoint = found?.state.version === version ? found : null;
  const [following] = await db.rows<Pick<DeriveState, 'transcripts_follow'>>(sql`
    select ${transcriptsFollow(session_id, checkpoint?.state.last ?? null)} as transcripts_follow`);
  const before = checkpoint && { state: checkpoint.state, compressed: checkpoint.compressed };
  return { ...facts, ...following, state: before, replay_from: checkpoint && keyOf(checkpoint), up_to_seq };
}

const noTurns = { up_to_seq: 0, folded_turns: 0, state: null, compressed: null };

/** SQL of whether projected calls of transcripts sort after this one; null: whether there are any. */
const transcriptsFollow = (session_id: string, last: CallKey | null): SQL => sql`
  exists (select 1 from svc.transcript_calls c
           where c.session_id = ${session_id}::uuid ${last ? sql`and (c.requested_at, c.call_id collate "C") > ${sortKey(last)}` : sql``})`;

const sortKey = ({ requested_at, call_id }: CallKey): SQL => sql`(${requested_at}::timestamptz, ${call_id})`;

type Facts = Pick<DeriveState, 'transcripts_follow' | 'has_wire' | 'is_underived'> & { late: CallKey | null };

/** `late`: the first call that sorts before the last one of a state, and came after the turns that it was folded from. */
async function factsOf(
  db: Sql,
  session_id: string,
  { last, folded_turns, up_to_seq }: { last: CallKey | null; folded_turns: number; up_to_seq: number },
): Promise<Facts> {
  const own = sql`where x.session_id = ${session_id}::uuid`;
  const late = last
    ? sql`(select jsonb_build_object('requested_at', ${instant(sql`t.requested_at`)}, 'call_id', ${callId})
             from svc.raw_turns t
            where t.session_id = ${session_id}::uuid
              and t.session_seq > ${folded_turns} and t.session_seq <= ${up_to_seq} and t.source = 'wire'
              and (t.requested_at, ${callId}) < ${sortKey(last)}
              and not exists (select 1 from svc.raw_turn_corrections c where c.raw_turn_id = t.raw_turn_id)
            order by t.requested_at, ${callId}
            limit 1)`
    : sql`null::jsonb`;
  const [facts] = await db.rows<Facts>(sql`
    select ${transcriptsFollow(session_id, last)} as transcripts_follow,
           exists (select 1 from svc.raw_turns x ${own} and x.source = 'wire')
             or exists (select 1 from svc.raw_turn_corrections x ${own}) as has_wire,
           not exists (select 1 from svc.session_rollups x ${own}) and not exists (select 1 from svc.derive_states x ${own})
             and not exists (select 1 from svc.traces x ${own}) and not exists (select 1 from svc.spans x ${own})
             and not exists (select 1 from svc.span_links x ${own}) as is_underived,
           ${late} as late`);
  return facts ?? { transcripts_follow: false, has_wire: true, is_underived: false, late: null };
}

const earliest = (keys: readonly (CallKey | null | undefined)[]): CallKey | undefined =>
  keys.filter((key) => key !== null && key !== undefined).sort(compareKeys)[0];

/** One call as stored; bytes are packed slices. Header values belong to the templates of the page. */
export type TurnToDerive = {
  raw_turn_id: number;
  call_id: string;
  thread_id: string;
  identity: Identity;
  kept: boolean; // its bodies were stored
  whole: boolean; // nothing is missing of what was to be stored
  unreadable: string; // why its request cannot be read; ''
  ending: string;
  status: number | null;
  provider: string;
  format: string;
  requested_at: string;
  first_byte_at: string | null;
  last_byte_at: string | null;
  request_header_template: string | null;
  request_header_values: string[];
  response_header_template: string | null;
  response_header_values: string[];
  response: PackedBytes | null;
  response_slice: string | null;
  tip_hash: string | null;
  leaf_hash: string | null;
  model: string;
  stream: boolean;
  max_tokens: number | null;
  tool_count: number;
  kind: CallKind;
  judged: string;
  cwd: string;
  git_branch: string;
  agent_name: string;
  fresh: StoredMessage[]; // in the order of the request
};
export type PackedBytes = { codec: 0 | 1; bytes: Uint8Array };
export type StoredMessage = PackedBytes & { node_hash: string; parent_hash: string | null; injected: string };

/** The turns of a session after the key `after`, from the first when it is null. Turns up to `up_to_seq` belong to this pass. */
export type Unfolded = { session_id: string; after: CallKey | null; up_to_seq: number };

/** Turns by session. `more`: sessions with turns beyond these. `templates` by slice id in hex. */
export type TurnsPage = {
  turns: (TurnToDerive & { session_id: string })[];
  templates: Record<string, PackedBytes>;
  more: string[];
};

/**
 * The calls of sessions, in the order of the sessions and in that of each one's calls, as corrections attribute them. A session has at
 * most `max_turns`, and the page ends when its bodies reach `max_bytes`; it holds at least one turn if there is one.
 */
export const turnsToDerive = (
  db: Sql,
  { sessions, max_turns, max_bytes }: { sessions: readonly Unfolded[]; max_turns: number; max_bytes: number },
): Promise<TurnsPage> =>
  db.transaction(async (tx) => {
    const heads = await tx.rows<Head>(headsOf(sessions, max_turns));
    const pageHeads = heads.filter(
      ({ place, bytes_before }, i) => place <= max_turns && (i === 0 || bytes_before < max_bytes),
    );
    const onPage = new Set(pageHeads);
    const ids = pageHeads.map(({ raw_turn_id }) => raw_turn_id);
    const messages = await tx.rows<StoredMessage & { raw_turn_id: number; session_id: string }>(sql`
      select n.raw_turn_id, n.session_id, encode(n.node_hash, 'hex') as node_hash,
             encode(n.parent_hash, 'hex') as parent_hash, n.injected, s.codec, s.bytes
        from svc.nodes n
        join svc.slices s on s.slice_id = n.slice_id
       where n.raw_turn_id = any(${pgArray(ids)}::bigint[])
         and n.session_id = any(${pgArray(sessions.map(({ session_id }) => session_id))}::uuid[])
       order by n.raw_turn_id, n.position, n.node_hash`);
    const sliceIds = pageHeads.flatMap((head) => [
      head.request_header_template,
      head.response_header_template,
      head.response_slice,
    ]);
    const slices = await tx.rows<PackedBytes & { slice_id: string }>(sql`
      select encode(slice_id, 'hex') as slice_id, codec, bytes
        from svc.slices
       where slice_id = any(${hexArray([...new Set(sliceIds.filter((id) => id !== null))])}::bytea[])`);
    const byId = new Map(slices.map(({ slice_id, codec, bytes }) => [slice_id, { codec, bytes }]));
    const messagesByTurn = byTurn(messages);
    const templates = pageHeads.flatMap((head) => [head.request_header_template, head.response_header_template]);
    return {
      turns: pageHeads.map((head) =>
        Object.assign(head, {
          response: head.response_slice === null ? null : (byId.get(head.response_slice) ?? null),
          fresh: messagesByTurn.get(turnKey(head)) ?? [],
        }),
      ),
      templates: Object.fromEntries(
        templates.flatMap((id) => {
          const packed = id === null ? undefined : byId.get(id);
          return id === null || !packed ? [] : [[id, packed]];
        }),
      ),
      more: [...new Set(heads.flatMap((head) => (onPage.has(head) ? [] : head.session_id)))],
    };
  });

const turnKey = ({ session_id, raw_turn_id }: { session_id: string; raw_turn_id: number }) =>
  `${session_id} ${raw_turn_id}`;

/** In their order. One whose slice is stored in two partitions comes twice in a row. */
function byTurn(
  messages: readonly (StoredMessage & { raw_turn_id: number; session_id: string })[],
): Map<string, StoredMessage[]> {
  const turns = new Map<string, StoredMessage[]>();
  for (const message of messages) {
    const key = turnKey(message);
    const own = turns.get(key);
    if (!own) turns.set(key, [message]);
    else if (own.at(-1)?.node_hash !== message.node_hash) own.push(message);
  }
  return turns;
}

/** `place`: of the turn among those of its session, from 1. `bytes_before`: the sum of bytes of all heads before it. */
type Head = Omit<TurnToDerive, 'response' | 'fresh'> & { session_id: string; place: number; bytes_before: number };

/** Of each session one turn more than a page has, so that the caller sees whether another page follows. */
const headsOf = (sessions: readonly Unfolded[], max_turns: number): SQL => sql`
    with unfolded as (
      select *
        from unnest(${pgArray(sessions.map(({ session_id }) => session_id))}::uuid[],
                    ${pgArray(sessions.map(({ up_to_seq }) => up_to_seq))}::bigint[],
                    ${pgArray(sessions.map(({ after }) => after?.requested_at ?? '-infinity'))}::timestamptz[],
                    ${pgArray(sessions.map(({ after }) => after?.call_id ?? ''))}::text[])
          with ordinality as u (session_id, up_to_seq, after_at, after_call, ordinal)
    ), own as (
      select u.session_id as of_session, u.ordinal, o.*
        from unfolded u
       cross join lateral (
         select t.raw_turn_id, t.thread_id, t.parent_harness_session_id, false as corrected
           from svc.raw_turns t
          where t.session_id = u.session_id and t.session_seq <= u.up_to_seq and t.source = 'wire' and ${isLater}
            and not exists (select 1 from svc.raw_turn_corrections c where c.raw_turn_id = t.raw_turn_id)
          order by t.requested_at, ${callId}
          limit ${max_turns + 1}) o
    ), moved as (
      select u.session_id as of_session, u.ordinal, t.raw_turn_id, c.thread_id, c.parent_harness_session_id, true as corrected
        from unfolded u
        join svc.raw_turn_corrections c on c.session_id = u.session_id
        join svc.raw_turns t on t.raw_turn_id = c.raw_turn_id
       where t.source = 'wire' and ${isLater}
         and not exists (
           select 1 from svc.raw_turn_corrections k
            where k.raw_turn_id = c.raw_turn_id and k.correction_id > c.correction_id)
    ), placed as (
      select t.*, p.of_session, p.ordinal, p.thread_id as effective_thread_id,
             p.parent_harness_session_id as effective_parent, p.corrected, ${callId} as call_id,
             row_number() over (partition by p.ordinal order by t.requested_at, ${callId}) as place
        from (select * from own union all select * from moved) p
        join svc.raw_turns t on t.raw_turn_id = p.raw_turn_id
    ), turn_slices as materialized (
      select p.of_session, p.raw_turn_id, n.slice_id
        from placed p
        join svc.nodes n on n.raw_turn_id = p.raw_turn_id and n.session_id = p.of_session
       where p.place <= ${max_turns + 1}
    ), slices as materialized (
      select distinct s.slice_id, s.size_bytes from svc.slices s where s.slice_id in (select k.slice_id from turn_slices k)
    ), sizes as (
      select k.of_session, k.raw_turn_id, sum(s.size_bytes) as bytes
        from turn_slices k join slices s on s.slice_id = k.slice_id
       group by k.of_session, k.raw_turn_id
    ), sized as (
      select p.*, p.response_bytes + coalesce(k.bytes, 0) as bytes
        from placed p
        left join sizes k on k.of_session = p.of_session and k.raw_turn_id = p.raw_turn_id
       where p.place <= ${max_turns + 1}
    )
    select t.of_session as session_id, t.place, t.raw_turn_id, t.call_id, t.effective_thread_id as thread_id,
           ${effectiveIdentity(sql`t.corrected`, sql`t.effective_thread_id`, sql`t.effective_parent`)} as identity,
           ${hasBodies} as kept, ${isWhole} as whole,
           coalesce(c.unreadable, '') as unreadable, t.ending, t.status, t.provider,
           t.format, ${instant(sql`t.requested_at`)} as requested_at, ${instant(sql`t.first_byte_at`)} as first_byte_at,
           ${instant(sql`t.last_byte_at`)} as last_byte_at,
           encode(t.request_header_template, 'hex') as request_header_template, t.request_header_values,
           encode(t.response_header_template, 'hex') as response_header_template, t.response_header_values,
           encode(t.response_slice, 'hex') as response_slice,
           encode(c.tip_hash, 'hex') as tip_hash, encode(c.leaf_hash, 'hex') as leaf_hash,
           coalesce(c.model, '') as model, coalesce(c.stream, false) as stream, c.max_tokens,
           coalesce(c.tool_count, 0) as tool_count, coalesce(c.kind, 'main') as kind,
           coalesce(c.judged, '') as judged, coalesce(c.cwd, '') as cwd, coalesce(c.git_branch, '') as git_branch,
           coalesce(c.agent_name, '') as agent_name,
           (sum(t.bytes) over (order by t.ordinal, t.place) - t.bytes)::bigint as bytes_before
      from sized t
      join svc.sessions s on s.session_id = t.of_session
      left join svc.calls c on c.raw_turn_id = t.raw_turn_id
     order by t.ordinal, t.place`;

/** A call's own id, compared by bytes as the fold compares it, whatever the database's collation. */
export const callId = sql`coalesce(t.svc_proxy_request_id, t.request_id, t.raw_turn_id::text) collate "C"`;

/** Whether the turn `t` sorts after the key of `u`; the first comparison is what an index finds. */
const isLater = sql`t.requested_at >= u.after_at and (t.requested_at, ${callId}) > (u.after_at, u.after_call)`;
