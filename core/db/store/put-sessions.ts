/** Writes the rows of the sessions whose turns are being stored, with what those turns say of them. */
import { sql } from 'drizzle-orm';
import type { Placement, SessionKey } from '../../call/placement.ts';
import type { TurnRecord } from '../../call/prepared-turn.ts';
import { jsonText, pgArray } from '../literals.ts';
import type { Sql } from '../sql.ts';

export type SessionTurn = Pick<TurnRecord, 'client_key' | 'identity' | 'requested_at' | 'last_byte_at'> & {
  place: SessionKey & Pick<Placement, 'fork'>;
};

/** The end of a session's chain of turns; `head_turn_hash` null: it has none yet. */
export type ChainEnd = { turn_count: number; head_turn_hash: string | null };

/**
 * Writes each row once: one that is written twice in a transaction has twice as many versions, and entries in its indexes. Locks the rows.
 * @param advance returns the head that a session has with its new turns, from the one that is stored. It is called a second time where
 *   another process stores the session first
 */
export async function putSessions(
  tx: Sql,
  turns: readonly SessionTurn[],
  advance: (session_id: string, head: ChainEnd) => ChainEnd,
): Promise<void> {
  const sessions = factsOf(turns);
  const heads = await lockHeads(tx, [...sessions.keys()]);
  const isNew = ({ session_id }: SessionFacts) => !heads.has(session_id);
  const created = [...sessions.values()]
    .filter(isNew)
    .map((session) => ({ ...session, ...advance(session.session_id, { turn_count: 0, head_turn_hash: null }) }));
  const inserted = await insertSessions(tx, created);
  const overtaken = created.flatMap(({ session_id }) => (inserted.has(session_id) ? [] : session_id));
  for (const [session_id, head] of await lockHeads(tx, overtaken)) heads.set(session_id, head);
  const known = [...sessions.values()].flatMap((session) => {
    const head = heads.get(session.session_id);
    return head ? { ...session, ...advance(session.session_id, head) } : [];
  });
  await updateSessions(tx, known);
}

/** Of the earliest turn that has them. */
type SessionFacts = {
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

/** By id, in its order: that in which all lock and insert them. */
function factsOf(turns: readonly SessionTurn[]): Map<string, SessionFacts> {
  const sessions = new Map<string, SessionFacts>();
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
  return new Map([...sessions].sort(([a], [b]) => (a < b ? -1 : 1)));
}

const byTime = (a: SessionTurn, b: SessionTurn) =>
  a.requested_at === b.requested_at ? 0 : a.requested_at < b.requested_at ? -1 : 1;

async function lockHeads(tx: Sql, ids: readonly string[]): Promise<Map<string, ChainEnd>> {
  if (ids.length === 0) return new Map();
  const heads = await tx.rows<ChainEnd & { session_id: string }>(sql`
    select session_id, turn_count, encode(head_turn_hash, 'hex') as head_turn_hash
      from svc.sessions where session_id = any (${pgArray(ids)}::uuid[])
     order by session_id for no key update`);
  return new Map(
    heads.map(({ session_id, turn_count, head_turn_hash }) => [session_id, { turn_count, head_turn_hash }]),
  );
}

type SessionRow = SessionFacts & ChainEnd;

const received = (rows: readonly SessionRow[]) => sql`
  json_to_recordset(${jsonText(rows)}::json) as r (
    session_id uuid, harness_id text, harness_session_id text, client_key text, auth_subject text,
    parent_harness_session_id text, fork_of_session_id uuid, fork_of_node_hash text,
    started_at timestamptz, last_seen_at timestamptz, turn_count integer, head_turn_hash text)`;

/** Whichever of its unique keys another process stores first: of two at once either may be found. @returns those that none did */
async function insertSessions(tx: Sql, rows: readonly SessionRow[]): Promise<Set<string>> {
  if (rows.length === 0) return new Set();
  const inserted = await tx.rows<{ session_id: string }>(sql`
    insert into svc.sessions (session_id, harness_id, harness_session_id, client_key, auth_subject, parent_harness_session_id,
                              fork_of_session_id, fork_of_node_hash, started_at, last_seen_at, turn_count, head_turn_hash)
    select r.session_id, r.harness_id, r.harness_session_id, decode(r.client_key, 'hex'), r.auth_subject, r.parent_harness_session_id,
           r.fork_of_session_id, decode(r.fork_of_node_hash, 'hex'), r.started_at, r.last_seen_at, r.turn_count,
           decode(r.head_turn_hash, 'hex')
      from ${received(rows)}
    on conflict do nothing
    returning session_id`);
  return new Set(inserted.map(({ session_id }) => session_id));
}

/** A session's identity is that of its earliest turn that has one, in whatever order they come. */
async function updateSessions(tx: Sql, rows: readonly SessionRow[]): Promise<void> {
  if (rows.length === 0) return;
  await tx.rows(sql`
    update svc.sessions s
       set turn_count = r.turn_count,
           head_turn_hash = decode(r.head_turn_hash, 'hex'),
           started_at = least(s.started_at, r.started_at),
           last_seen_at = greatest(s.last_seen_at, r.last_seen_at),
           client_key = case when r.client_key = '' then s.client_key
             when s.client_key = ''::bytea or r.started_at < s.started_at then decode(r.client_key, 'hex')
             else s.client_key end,
           auth_subject = case when r.started_at < s.started_at
             then coalesce(nullif(r.auth_subject, ''), s.auth_subject)
             else coalesce(nullif(s.auth_subject, ''), r.auth_subject) end,
           parent_harness_session_id = case when r.started_at < s.started_at
             then coalesce(r.parent_harness_session_id, s.parent_harness_session_id)
             else coalesce(s.parent_harness_session_id, r.parent_harness_session_id) end
      from ${received(rows)}
     where s.session_id = r.session_id`);
}
