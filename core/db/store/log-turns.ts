/** Adds records to the log: each as the next link of its session's chain, under the lock of the session's row. */
import { sql } from 'drizzle-orm';
import type { Placement, SessionKey } from '../../call/placement.ts';
import type { TurnRecord } from '../../call/prepared-turn.ts';
import type { PackedSlice } from '../../capture/slice-codec.ts';
import { type TurnFacts, turnHash } from '../../merkle/turn-chain.ts';
import { asStored, hexArray, jsonText, pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';
import { putSlices } from './put-slices.ts';

export type LoggedTurn = TurnRecord & {
  source: 'wire' | 'transcript';
  place: SessionKey & Pick<Placement, 'fork'>;
};

/**
 * Stores turns that are not stored yet, in the given order, with their slices; the sessions' times are widened to include them.
 * @returns raw_turn_id by call id, and the sessions that had no turn before
 */
export async function logTurns(
  tx: Sql,
  turns: readonly LoggedTurn[],
  slices: readonly PackedSlice[],
): Promise<{ ids: Map<string, number>; opened: Set<string> }> {
  const heads = await upsertSessions(tx, turns);
  const opened = new Set([...heads].flatMap(([session_id, { turn_count }]) => (turn_count === 0 ? session_id : [])));
  const rows = turns.map((turn) => chainRow(turn, heads));
  await putSlices(tx, slices);
  const ids = await insertRawTurns(tx, rows);
  await advanceChains(tx, heads);
  return { ids, opened };
}

type ChainHead = { turn_count: number; head_turn_hash: string | null };

/** A session's identity is that of its earliest turn that has one, in whatever order they come. Locks the rows. */
async function upsertSessions(tx: Sql, turns: readonly LoggedTurn[]): Promise<Map<string, ChainHead>> {
  const sessions = new Map<string, SessionRow>();
  for (const turn of [...turns].sort(byTime)) {
    const { session_id, harness_id, harness_session_id, fork } = turn.place;
    const existing = sessions.get(session_id);
    const lastSeen = turn.last_byte_at ?? turn.requested_at;
    sessions.set(session_id, {
      session_id,
      harness_id,
      harness_session_id,
      client_key: existing?.client_key || turn.client_key,
      auth_subject: existing?.auth_subject || turn.identity.auth_subject,
      parent_harness_session_id: existing?.parent_harness_session_id ?? turn.identity.parent_harness_session_id,
      fork_of_session_id: existing?.fork_of_session_id ?? fork?.session_id ?? null,
      fork_of_node_hash: existing?.fork_of_node_hash ?? fork?.node_hash ?? null,
      started_at: existing?.started_at ?? turn.requested_at,
      last_seen_at: existing && existing.last_seen_at > lastSeen ? existing.last_seen_at : lastSeen,
    });
  }
  const rows = [...sessions.values()].sort((a, b) => (a.session_id < b.session_id ? -1 : 1));
  const heads = await tx.rows<ChainHead & { session_id: string }>(sql`
    insert into svc.sessions as s (session_id, harness_id, harness_session_id, client_key, auth_subject,
                                   parent_harness_session_id, fork_of_session_id, fork_of_node_hash, started_at, last_seen_at)
    select r.session_id, r.harness_id, r.harness_session_id, decode(r.client_key, 'hex'), r.auth_subject,
           r.parent_harness_session_id, r.fork_of_session_id, decode(r.fork_of_node_hash, 'hex'), r.started_at, r.last_seen_at
      from json_to_recordset(${jsonText(rows)}::json) as r (
             session_id uuid, harness_id text, harness_session_id text, client_key text, auth_subject text,
             parent_harness_session_id text, fork_of_session_id uuid, fork_of_node_hash text,
             started_at timestamptz, last_seen_at timestamptz)
    on conflict (session_id) do update
       set started_at = least(s.started_at, excluded.started_at),
           last_seen_at = greatest(s.last_seen_at, excluded.last_seen_at),
           client_key = case when excluded.client_key = ''::bytea then s.client_key
             when s.client_key = ''::bytea or excluded.started_at < s.started_at then excluded.client_key
             else s.client_key end,
           auth_subject = case when excluded.started_at < s.started_at
             then coalesce(nullif(excluded.auth_subject, ''), s.auth_subject)
             else coalesce(nullif(s.auth_subject, ''), excluded.auth_subject) end,
           parent_harness_session_id = case when excluded.started_at < s.started_at
             then coalesce(excluded.parent_harness_session_id, s.parent_harness_session_id)
             else coalesce(s.parent_harness_session_id, excluded.parent_harness_session_id) end
    returning s.session_id, s.turn_count, encode(s.head_turn_hash, 'hex') as head_turn_hash`);
  return new Map(
    heads.map(({ session_id, turn_count, head_turn_hash }) => [session_id, { turn_count, head_turn_hash }]),
  );
}

const byTime = (a: LoggedTurn, b: LoggedTurn) =>
  a.requested_at === b.requested_at ? 0 : a.requested_at < b.requested_at ? -1 : 1;

type SessionRow = {
  session_id: string;
  harness_id: string;
  harness_session_id: string;
  client_key: string;
  auth_subject: string;
  parent_harness_session_id: string | null;
  fork_of_session_id: string | null;
  fork_of_node_hash: string | null;
  started_at: string;
  last_seen_at: string;
};

/** The turn's row, as the next link of its session's chain. The hash is over values as the database will return them. */
function chainRow(turn: LoggedTurn, heads: Map<string, ChainHead>) {
  const { identity, place, request_headers, response_headers, request, response } = turn;
  const head = heads.get(place.session_id) ?? { turn_count: 0, head_turn_hash: null };
  const facts: TurnFacts = asStored({
    session_id: place.session_id,
    session_seq: head.turn_count + 1,
    source: turn.source,
    svc_proxy_request_id: turn.svc_proxy_request_id,
    request_id: turn.request_id,
    outcome: turn.outcome,
    ending: turn.ending,
    provider: turn.provider,
    format: turn.format,
    method: turn.method,
    url: turn.url,
    status: turn.status,
    harness_id: place.harness_id,
    harness_session_id: place.harness_session_id,
    thread_id: identity.thread_id,
    parent_harness_session_id: identity.parent_harness_session_id,
    identity,
    requested_at: turn.requested_at,
    first_byte_at: turn.first_byte_at,
    last_byte_at: turn.last_byte_at,
    request_headers_digest: request_headers.digest,
    response_headers_digest: response_headers?.digest ?? null,
    request_bytes: request.bytes,
    request_digest: request.digest,
    response_bytes: response.bytes,
    response_digest: response.digest,
    meta: turn.meta,
  });
  const turn_hash = turnHash(head.head_turn_hash, facts);
  heads.set(place.session_id, { turn_count: facts.session_seq, head_turn_hash: turn_hash });
  return {
    ...facts,
    prev_hash: head.head_turn_hash,
    turn_hash,
    request_header_template: request_headers.template,
    request_header_values: request_headers.values,
    response_header_template: response_headers?.template ?? null,
    response_header_values: response_headers?.values ?? [],
    request_pages: request.roots.join(''),
    request_page_depth: request.depth,
    response_slice: response.slice,
  };
}

/** @returns raw_turn_id by call id; the ids grow in the order of the rows */
async function insertRawTurns(tx: Sql, rows: readonly ReturnType<typeof chainRow>[]): Promise<Map<string, number>> {
  const inserted = await tx.rows<{ raw_turn_id: number; call_id: string }>(sql`
    insert into svc.raw_turns (
      source, svc_proxy_request_id, request_id, session_id, session_seq, prev_hash, turn_hash, outcome, ending, provider, format, method,
      url, status, harness_id, harness_session_id, thread_id, parent_harness_session_id, identity, requested_at, first_byte_at,
      last_byte_at, request_header_template, request_header_values, response_header_template, response_header_values,
      request_pages, request_page_depth, request_bytes, request_digest, response_slice, response_bytes, response_digest, meta)
    select r.source, r.svc_proxy_request_id, r.request_id, r.session_id, r.session_seq, decode(r.prev_hash, 'hex'), decode(r.turn_hash, 'hex'),
           r.outcome, r.ending, r.provider, r.format, r.method, r.url, r.status, r.harness_id, r.harness_session_id, r.thread_id,
           r.parent_harness_session_id, r.identity, r.requested_at, r.first_byte_at, r.last_byte_at,
           decode(r.request_header_template, 'hex'), r.request_header_values,
           decode(r.response_header_template, 'hex'), r.response_header_values, decode(r.request_pages, 'hex'),
           r.request_page_depth, r.request_bytes, decode(r.request_digest, 'hex'), decode(r.response_slice, 'hex'),
           r.response_bytes, decode(r.response_digest, 'hex'), r.meta
      from rows from (json_to_recordset(${jsonText(rows)}::json) as (
             source text, svc_proxy_request_id text, request_id text, session_id uuid, session_seq integer, prev_hash text, turn_hash text,
             outcome text, ending text, provider text, format text, method text, url text, status integer, harness_id text,
             harness_session_id text, thread_id text, parent_harness_session_id text, identity jsonb, requested_at timestamptz,
             first_byte_at timestamptz, last_byte_at timestamptz, request_header_template text, request_header_values text[],
             response_header_template text, response_header_values text[], request_pages text, request_page_depth smallint,
             request_bytes bigint, request_digest text, response_slice text, response_bytes bigint, response_digest text,
             meta jsonb)) with ordinality as r
     order by r.ordinality
    returning raw_turn_id, coalesce(svc_proxy_request_id, request_id) as call_id`);
  return new Map(inserted.map((row) => [row.call_id, row.raw_turn_id]));
}

async function advanceChains(tx: Sql, heads: ReadonlyMap<string, ChainHead>): Promise<void> {
  const rows = [...heads];
  await tx.rows(sql`
    update svc.sessions s set turn_count = h.turn_count, head_turn_hash = h.head_turn_hash
      from unnest(${pgArray(rows.map(([session_id]) => session_id))}::uuid[],
                  ${pgArray(rows.map(([, head]) => head.turn_count))}::integer[],
                  ${hexArray(rows.map(([, head]) => head.head_turn_hash))}::bytea[]) as h (session_id, turn_count, head_turn_hash)
     where s.session_id = h.session_id`);
}
