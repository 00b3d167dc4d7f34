/** Writes the messages of calls into the DAG of their session, which is the same in whatever order the calls are stored. */
import { sql } from 'drizzle-orm';
import { type CallNodes, type CallRow, costColumns, type LinkedMessage } from '../../model/node.ts';
import { noUsage } from '../../model/usage.ts';
import { hexArray, jsonText, pgArray } from '../literals.ts';
import { pipelined } from '../pipelined.ts';
import type { Sql } from '../sql.ts';
import { lockClaims, settleOwners } from './call-owners.ts';
import { insertNodes, isTranscripts, nodeRows, type PlacedNode } from './insert-nodes.ts';

/** A call with its turn and the session that it counts for. */
export type PlacedCall = { raw_turn_id: number; session_id: string; nodes: CallNodes };

/**
 * Writes nodes and calls within a transaction that has locked the sessions' rows. A message that is stored already is changed only
 * by an earlier call, (requested_at, call_id), whose attributes it then takes over.
 * @param report whether the nodes are wanted that were not stored before; that costs a query
 * @returns these, each after its parent
 */
export async function writeNodes(tx: Sql, calls: readonly PlacedCall[], report = false): Promise<PlacedNode[]> {
  if (calls.length === 0) return [];
  const nodes = lowest(calls, await lastStoredPositions(tx, calls));
  const fresh = report ? await notStored(tx, nodes) : [];
  await pipelined([
    nodes.length > 0 ? insertNodes(tx, nodeRows(nodes)) : null,
    insertCalls(
      tx,
      calls.map(({ raw_turn_id, session_id, nodes }) => ({ raw_turn_id, session_id, ...nodes.call })),
    ),
  ]);
  return fresh;
}

/** A query of its own: what an insert returns does not show on every kind of table which rows it has made. */
async function notStored(tx: Sql, nodes: readonly PlacedNode[]): Promise<PlacedNode[]> {
  if (nodes.length === 0) return [];
  const known = await tx.rows<{ place: number }>(sql`
    select r.place
      from unnest(${pgArray(nodes.map(({ session_id }) => session_id))}::uuid[],
                  ${hexArray(nodes.map(({ node_hash }) => node_hash))}::bytea[],
                  ${pgArray([...nodes.keys()])}::integer[]) as r (session_id, node_hash, place)
      join svc.nodes n on n.session_id = r.session_id and n.node_hash = r.node_hash`);
  const stored = new Set(known.map(({ place }) => place));
  return nodes.filter((_, place) => !stored.has(place));
}

/** A shorter spine is written whole. */
const MIN_SPINE = 12;

/**
 * For each call the position of a message that is stored already, by this call or an earlier one; -1: none was found. All before it
 * on the spine are stored then too, since a session that holds a message holds its ancestors: an agent's thousandth call writes what
 * is new in it and not a thousand rows. Only a few positions are queried, from the end backwards, at growing distances.
 */
async function lastStoredPositions(tx: Sql, calls: readonly PlacedCall[]): Promise<number[]> {
  const probes = calls.flatMap((call, index) => {
    const places = [...call.nodes.messages.keys()].filter((place) => call.nodes.messages[place]?.injected === '');
    if (places.length < MIN_SPINE) return [];
    return distances(places.length).map((back) => {
      const place = places[places.length - back] ?? 0;
      return { index, place, call, node_hash: call.nodes.messages[place]?.node_hash ?? '' };
    });
  });
  const positions = calls.map(() => -1);
  if (probes.length === 0) return positions;
  const found = await tx.rows<{ index: number; place: number }>(sql`
    select p.index, max(p.place) as place
      from unnest(${pgArray(probes.map((probe) => probe.index))}::integer[],
                  ${pgArray(probes.map((probe) => probe.place))}::integer[],
                  ${pgArray(probes.map((probe) => probe.call.session_id))}::uuid[],
                  ${hexArray(probes.map((probe) => probe.node_hash))}::bytea[],
                  ${pgArray(probes.map((probe) => probe.call.nodes.requested_at))}::timestamptz[],
                  ${pgArray(probes.map((probe) => probe.call.nodes.call_id))}::text[])
        as p (index, place, session_id, node_hash, requested_at, call_id)
      join svc.nodes n on n.session_id = p.session_id and n.node_hash = p.node_hash
     where (n.requested_at, n.call_id collate "C") <= (p.requested_at, p.call_id collate "C") and not ${isTranscripts(sql`n`)}
     group by p.index`);
  for (const { index, place } of found) positions[index] = place;
  return positions;
}

/** 1, 2, 3, 4, 6, 8, 12, 16, 24 … up to the length of the spine. */
function distances(length: number): number[] {
  const out: number[] = [];
  for (let back = 1, step = 1; back <= length; back += step) {
    out.push(back);
    if (back >= 4 && (back & (back - 1)) === 0) step = back / 2;
  }
  return out;
}

/** The rows to write: for each message of a session the row of the lowest (earliest) call in the batch. */
function lowest(calls: readonly PlacedCall[], storedUpTo: readonly number[]): PlacedNode[] {
  const rows: NodesByPlace = new Map();
  for (const [index, call] of calls.entries()) addNodes(rows, call, storedUpTo[index] ?? -1);
  return [...rows.values()];
}

/** By session and hash. */
export type NodesByPlace = Map<string, PlacedNode>;

/** Adds a call's nodes, except those on its spine up to the position `storedUpTo`; for each message the lowest call's row stays. */
export function addNodes(rows: NodesByPlace, call: PlacedCall, storedUpTo = -1): void {
  for (const [position, message] of [...call.nodes.messages, call.nodes.answer].entries()) {
    // An injected message is beside the spine, so a later stored message does not prove that it is stored.
    if (!message || (position <= storedUpTo && message.injected === '')) continue;
    const key = `${call.session_id} ${message.node_hash}`;
    const known = rows.get(key);
    if (!known || isBefore(call.nodes, known)) rows.set(key, placedNode(call, message, position));
  }
}

const isBefore = (a: { requested_at: string; call_id: string }, b: { requested_at: string; call_id: string }) =>
  a.requested_at < b.requested_at || (a.requested_at === b.requested_at && a.call_id < b.call_id);

function placedNode(
  { raw_turn_id, session_id, nodes }: PlacedCall,
  message: LinkedMessage,
  position: number,
): PlacedNode {
  const isAnswer = message === nodes.answer;
  const { call_id, model, provider, agent_name, project, requested_at } = nodes;
  const usage = isAnswer ? nodes.usage : noUsage;
  const cost = costColumns(isAnswer ? nodes.cost_parts : null);
  return {
    node_hash: message.node_hash,
    parent_hash: message.parent_hash,
    depth: message.depth,
    role: message.role,
    injected: message.injected,
    tool_calls: message.tool_calls,
    slice_id: message.slice_id,
    input_tokens: usage.input_tokens,
    output_tokens: usage.output_tokens,
    cache_read_tokens: usage.cache_read_tokens,
    cache_write_5m_tokens: usage.cache_write_5m_tokens,
    cache_write_1h_tokens: usage.cache_write_1h_tokens,
    reasoning_tokens: usage.reasoning_tokens,
    cost_usd: isAnswer ? nodes.cost_usd : null,
    cost_fresh: cost.cost_fresh,
    cost_cache_read: cost.cost_cache_read,
    cost_cache_write_5m: cost.cost_cache_write_5m,
    cost_cache_write_1h: cost.cost_cache_write_1h,
    cost_output: cost.cost_output,
    cost_reasoning: cost.cost_reasoning,
    raw_turn_id,
    session_id,
    call_id,
    position,
    model,
    provider,
    agent_name,
    project,
    requested_at,
    stop_reason: isAnswer ? nodes.stop_reason : '',
    created_at: isAnswer ? nodes.answered_at : requested_at,
  };
}

export type PlacedRow = CallRow & { raw_turn_id: number; session_id: string };

export async function insertCalls(tx: Sql, rows: readonly PlacedRow[]): Promise<void> {
  const call_keys = rows.flatMap(({ call_key }) => call_key ?? []);
  const locked = call_keys.length > 0 ? lockClaims(tx, 'to look') : null;
  const inserted = tx.rows(sql`
    insert into svc.calls (raw_turn_id, session_id, tip_hash, leaf_hash, model, stream, max_tokens, tool_count, call_key, response_id,
                           previous_response_id, item_ids, item_reference, conversation_id, unreadable, kind, judged, cwd, git_branch,
                           agent_name)
    select r.raw_turn_id, r.session_id, decode(r.tip_hash, 'hex'), decode(r.leaf_hash, 'hex'), r.model, r.stream, r.max_tokens,
           r.tool_count, decode(r.call_key, 'hex'), r.response_id, r.previous_response_id, r.item_ids, r.item_reference,
           r.conversation_id, r.unreadable, r.kind, r.judged, r.cwd, r.git_branch, r.agent_name
      from json_to_recordset(${jsonText(rows)}::json) as r (
             raw_turn_id bigint, session_id uuid, tip_hash text, leaf_hash text, model text, stream boolean,
             max_tokens integer, tool_count integer, call_key text, response_id text, previous_response_id text,
             item_ids text[], item_reference text, conversation_id text, unreadable text, kind text, judged text, cwd text, git_branch text, agent_name text)
    on conflict (raw_turn_id) do nothing`);
  await pipelined([locked, inserted, settleOwners(tx, call_keys, null)]);
}
