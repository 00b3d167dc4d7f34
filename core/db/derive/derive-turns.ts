/** The input of a fold: a session's newest state, or the point to replay from, and its calls in order, page by page. */
import { type SQL, sql } from 'drizzle-orm';
import { type CallKey, compareKeys } from '../../derive/order.ts';
import type { SessionState } from '../../derive/state.ts';
import type { CallKind } from '../../model/call-kind.ts';
import type { Identity } from '../../model/identity.ts';
import { hexArray, instant, pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { hasBodies, isWhole } from '../store/stored-turns.ts';
import { effectiveIdentity } from './effective-identity.ts';

/**
 * The state of a session's fold. `state` null: all calls are to be folded anew. `replay_from`: the calls from this one on have been
 * folded before, after another history; their rows are to be replaced. Turns up to `up_to_seq` belong to this pass.
 */
export type DeriveState = {
  state: SessionState | null;
  replay_from: CallKey | null;
  up_to_seq: number;
  transcripts_follow: boolean; // projected calls of transcripts sort after the state's last one
};

/**
 * Finds the state to continue from. A call is late when it sorts before the last one folded and has not been folded: then the
 * newest checkpoint at or before it is taken. Turns that corrections moved in are not looked for: a correction marks both
 * sessions from scratch.
 * @param differs the call from which on the fold differs although no call over the wire is late; null: none
 */
export const deriveState = (
  db: Sql,
  { session_id, version, differs }: { session_id: string; version: number; differs: CallKey | null },
): Promise<DeriveState> =>
  db.transaction(async (tx) => {
    const found = await stateOf(tx, { session_id, version, differs });
    const after = found.state?.last ?? null;
    const afterLast = after
      ? sql`and (c.requested_at, c.call_id collate "C") > (${after.requested_at}::timestamptz, ${after.call_id})`
      : sql``;
    const [more] = await tx.rows<{ follow: boolean }>(sql`
      select exists (select from svc.transcript_calls c where c.session_id = ${session_id} ${afterLast}) as follow`);
    return { ...found, transcripts_follow: more?.follow ?? false };
  });

async function stateOf(
  tx: Sql,
  { session_id, version, differs }: { session_id: string; version: number; differs: CallKey | null },
): Promise<Omit<DeriveState, 'transcripts_follow'>> {
  const [highest] = await tx.rows<{ up_to_seq: number }>(sql`
    select coalesce(max(session_seq), 0) as up_to_seq from svc.raw_turns where session_id = ${session_id}`);
  const up_to_seq = highest?.up_to_seq ?? 0;
  const [newest] = await tx.rows<{ state: SessionState; folded_turns: number }>(sql`
    select state, folded_turns from svc.derive_states where session_id = ${session_id} and opened_at = 'infinity'`);
  const fromScratch = { state: null, replay_from: null, up_to_seq };
  if (newest?.state.version !== version) return fromScratch;
  const { last } = newest.state;
  if (last === null) return { state: newest.state, replay_from: null, up_to_seq };

  const [late] = await tx.rows<CallKey>(sql`
    select ${instant(sql`t.requested_at`)} as requested_at, ${callId} as call_id
      from svc.raw_turns t
     where t.session_id = ${session_id} and t.session_seq > ${newest.folded_turns} and t.session_seq <= ${up_to_seq}
       and t.source = 'wire'
       and (t.requested_at, ${callId}) < (${last.requested_at}::timestamptz, ${last.call_id})
       and not exists (select 1 from svc.raw_turn_corrections c where c.raw_turn_id = t.raw_turn_id)
     order by t.requested_at, ${callId}
     limit 1`);
  const from = earliest([late, differs && compareKeys(differs, last) <= 0 ? differs : undefined]);
  if (!from) return { state: newest.state, replay_from: null, up_to_seq };
  const [checkpoint] = await tx.rows<{ requested_at: string; call_id: string; state: SessionState }>(sql`
    select ${instant(sql`s.opened_at`)} as requested_at, s.opened_call_id as call_id, s.state
      from svc.derive_states s
     where s.session_id = ${session_id} and s.opened_at < 'infinity'
       and (s.opened_at, s.opened_call_id collate "C") <= (${from.requested_at}::timestamptz, ${from.call_id})
     order by s.opened_at desc, s.opened_call_id collate "C" desc
     limit 1`);
  if (checkpoint?.state.version !== version) return fromScratch;
  const { requested_at, call_id, state } = checkpoint;
  return { state, replay_from: { requested_at, call_id }, up_to_seq };
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

/** `more`: another page follows. `templates` by slice id in hex. */
export type TurnsPage = { turns: TurnToDerive[]; templates: Record<string, PackedBytes>; more: boolean };

/**
 * The calls of a session after a key in their order, as corrections attribute them; from the first when `after` is null.
 * A page ends at `max_turns`, or when its bodies reach `max_bytes`; it holds at least one turn if there is one.
 */
export const turnsToDerive = (
  db: Sql,
  args: { session_id: string; after: CallKey | null; up_to_seq: number; max_turns: number; max_bytes: number },
): Promise<TurnsPage> =>
  db.transaction(async (tx) => {
    const heads = await tx.rows<Head>(headsOf(args));
    const pageHeads = heads
      .slice(0, args.max_turns)
      .filter(({ bytes_before }, i) => i === 0 || bytes_before < args.max_bytes);
    const ids = pageHeads.map(({ raw_turn_id }) => raw_turn_id);
    const messages = await tx.rows<StoredMessage & { raw_turn_id: number }>(sql`
      select n.raw_turn_id, encode(n.node_hash, 'hex') as node_hash, encode(n.parent_hash, 'hex') as parent_hash, n.injected,
             s.codec, s.bytes
        from svc.nodes n
        join svc.slices s on s.slice_id = n.slice_id
       where n.raw_turn_id = any(${pgArray(ids)}::bigint[]) and n.session_id = ${args.session_id}
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
      turns: pageHeads.map(({ bytes_before: _, ...head }) => ({
        ...head,
        response: head.response_slice === null ? null : (byId.get(head.response_slice) ?? null),
        fresh: messagesByTurn.get(head.raw_turn_id) ?? [],
      })),
      templates: Object.fromEntries(
        templates.flatMap((id) => {
          const packed = id === null ? undefined : byId.get(id);
          return id === null || !packed ? [] : [[id, packed]];
        }),
      ),
      more: pageHeads.length < heads.length,
    };
  });

function byTurn(messages: readonly (StoredMessage & { raw_turn_id: number })[]): Map<number, StoredMessage[]> {
  const turns = new Map<number, StoredMessage[]>();
  for (const { raw_turn_id, ...message } of messages) {
    const own = turns.get(raw_turn_id);
    if (own) own.push(message);
    else turns.set(raw_turn_id, [message]);
  }
  return turns;
}

type Head = Omit<TurnToDerive, 'response' | 'fresh'> & { bytes_before: number };

/** One turn more than a page has, so that the caller sees whether another page follows; with the sum of bytes before each. */
function headsOf({ session_id, after, up_to_seq, max_turns }: Parameters<typeof turnsToDerive>[1]): SQL {
  const later = after
    ? sql`and t.requested_at >= ${after.requested_at}::timestamptz
          and (t.requested_at, ${callId}) > (${after.requested_at}::timestamptz, ${after.call_id})`
    : sql``;
  return sql`
    with own as (
      select t.raw_turn_id, t.thread_id, t.parent_harness_session_id, false as corrected
        from svc.raw_turns t
       where t.session_id = ${session_id} and t.session_seq <= ${up_to_seq} and t.source = 'wire' ${later}
         and not exists (select 1 from svc.raw_turn_corrections c where c.raw_turn_id = t.raw_turn_id)
       order by t.requested_at, ${callId}
       limit ${max_turns + 1}
    ), moved as (
      select t.raw_turn_id, c.thread_id, c.parent_harness_session_id, true as corrected
        from svc.raw_turn_corrections c
        join svc.raw_turns t on t.raw_turn_id = c.raw_turn_id
       where c.session_id = ${session_id} and t.source = 'wire' ${later}
         and not exists (
           select 1 from svc.raw_turn_corrections k
            where k.raw_turn_id = c.raw_turn_id and k.correction_id > c.correction_id)
    ), page as (
      select t.*, p.thread_id as effective_thread_id, p.parent_harness_session_id as effective_parent, p.corrected,
             ${callId} as call_id
        from (select * from own union all select * from moved) p
        join svc.raw_turns t on t.raw_turn_id = p.raw_turn_id
       order by t.requested_at, ${callId}
       limit ${max_turns + 1}
    ), sized as (
      select p.*, p.response_bytes + coalesce((
               select sum(s.size_bytes)
                 from svc.nodes n
                 join svc.slices s on s.slice_id = n.slice_id
                where n.raw_turn_id = p.raw_turn_id and n.session_id = ${session_id}), 0) as bytes
        from page p
    )
    select t.raw_turn_id, t.call_id, t.effective_thread_id as thread_id,
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
           (sum(t.bytes) over (order by t.requested_at, t.call_id collate "C") - t.bytes)::bigint as bytes_before
      from sized t
      join svc.sessions s on s.session_id = ${session_id}
      left join svc.calls c on c.raw_turn_id = t.raw_turn_id
     order by t.requested_at, t.call_id collate "C"`;
}

/** A call's own id, compared by bytes as the fold compares it, whatever the database's collation. */
const callId = sql`coalesce(t.svc_proxy_request_id, t.request_id, t.raw_turn_id::text) collate "C"`;
