/** Adds records to the log: each as the next link of its session's chain, under the lock of the session's row. */
import { sql } from 'drizzle-orm';
import { addTo } from '../../call/placement.ts';
import type { TurnRecord } from '../../call/prepared-turn.ts';
import type { PackedSlice } from '../../capture/slice-codec.ts';
import { type TurnFacts, turnHash } from '../../merkle/turn-chain.ts';
import type { PgType } from '../columns/column.ts';
import { asStored, jsonRows } from '../literals.ts';
import { pipelined } from '../pipelined.ts';
import { sparseRows } from '../sparse-rows.ts';
import type { Sql } from '../sql.ts';
import { type ChainEnd, putSessions, type SessionTurn } from './put-sessions.ts';
import { putSlices } from './put-slices.ts';

export type LoggedTurn = TurnRecord & SessionTurn & { source: 'wire' | 'transcript' };

/**
 * Stores turns that are not stored yet, in the given order, with their slices; the sessions' times are widened to include them.
 * @returns raw_turn_id by call id, and the sessions that had no turn before
 */
export async function logTurns(
  tx: Sql,
  turns: readonly LoggedTurn[],
  slices: readonly PackedSlice[],
): Promise<{ ids: Map<string, number>; opened: Set<string> }> {
  const { rows, opened } = await chainTurns(tx, turns);
  const [, ids] = await pipelined([putSlices(tx, slices), insertRawTurns(tx, rows)]);
  return { ids, opened };
}

/** The rows of the turns, each as the next link of its session's chain; the sessions' rows are stored then. */
async function chainTurns(tx: Sql, turns: readonly LoggedTurn[]): Promise<{ rows: ChainRow[]; opened: Set<string> }> {
  const places = new Map<string, number[]>();
  for (const [place, turn] of turns.entries()) addTo(places, turn.place.session_id, place);
  const rows: ChainRow[] = new Array(turns.length);
  const opened = new Set<string>();
  await putSessions(tx, turns, (session_id, stored) => {
    let head = stored;
    for (const place of places.get(session_id) ?? []) {
      const row = chainRow(turns[place] as LoggedTurn, head);
      rows[place] = row;
      head = { turn_count: row.session_seq, head_turn_hash: row.turn_hash };
    }
    if (stored.turn_count === 0) opened.add(session_id);
    else opened.delete(session_id);
    return head;
  });
  return { rows, opened };
}

type ChainRow = ReturnType<typeof chainRow>;
/** The digests of the headers are only hashed: their templates and values are stored. */
type RawTurnRow = Omit<ChainRow, 'request_headers_digest' | 'response_headers_digest'>;

/** The turn's row, as the next link of its session's chain. The hash is over values as the database will return them. */
function chainRow(turn: LoggedTurn, head: ChainEnd) {
  const { identity, place, request_headers, response_headers, request, response } = turn;
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
    request_is_utf8: request.is_utf8,
    response_slice: response.slice,
  };
}

/** The types in which the columns are sent; `hex`: bytea. */
const SENT: Record<keyof RawTurnRow, PgType | 'hex'> = {
  ...{ source: 'text', svc_proxy_request_id: 'text', request_id: 'text', session_id: 'uuid', session_seq: 'integer' },
  ...{ prev_hash: 'hex', turn_hash: 'hex', outcome: 'text', ending: 'text', provider: 'text', format: 'text' },
  ...{ method: 'text', url: 'text', status: 'integer', harness_id: 'text', harness_session_id: 'text' },
  ...{ thread_id: 'text', parent_harness_session_id: 'text', identity: 'jsonb', requested_at: 'timestamptz' },
  ...{ first_byte_at: 'timestamptz', last_byte_at: 'timestamptz', request_header_template: 'hex' },
  ...{ request_header_values: 'text[]', response_header_template: 'hex', response_header_values: 'text[]' },
  ...{ request_pages: 'hex', request_page_depth: 'integer', request_is_utf8: 'boolean', request_bytes: 'bigint' },
  ...{ request_digest: 'hex', response_slice: 'hex', response_bytes: 'bigint', response_digest: 'hex', meta: 'jsonb' },
};
const names = Object.keys(SENT) as (keyof typeof SENT)[];
const { text, received } = sparseRows<RawTurnRow>(names, {
  ...{ source: 'wire', ending: 'complete', method: 'POST', thread_id: '', request_page_depth: 0 },
  ...{ request_is_utf8: true },
});
const INSERTED = {
  names: sql.raw(names.join(', ')),
  values: sql.raw(names.map((name) => (SENT[name] === 'hex' ? `decode(r.${name}, 'hex')` : received(name))).join(', ')),
  row: sql.raw(names.map((name) => `${name} ${SENT[name] === 'hex' ? 'text' : SENT[name]}`).join(', ')),
};

/** @returns raw_turn_id by call id; the ids grow in the order of the rows */
async function insertRawTurns(tx: Sql, rows: readonly RawTurnRow[]): Promise<Map<string, number>> {
  const inserted = await tx.rows<{ raw_turn_id: number; call_id: string }>(sql`
    insert into svc.raw_turns (${INSERTED.names})
    select ${INSERTED.values}
      from rows from (json_to_recordset(${jsonRows(rows.map((row) => text(row)))}::json) as (${INSERTED.row})) with ordinality as r
     order by r.ordinality
    returning raw_turn_id, coalesce(svc_proxy_request_id, request_id) as call_id`);
  return new Map(inserted.map((row) => [row.call_id, row.raw_turn_id]));
}
