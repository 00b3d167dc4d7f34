/** Finds the rows of a reading that are stored identically. They are not written, so a reading without news writes nothing. */
import { sql } from 'drizzle-orm';
import { jsonText } from '../literals.ts';
import type { Sql } from '../sql.ts';
import type { PlacedNode } from '../store/insert-nodes.ts';
import type { PlacedRow } from '../store/put-nodes.ts';

/** The compared columns of nodes, which are found by hash. Whether a node is a head follows from the others, and is not compared. */
const NODE = {
  ...{ parent_hash: 'bytea', raw_turn_id: 'bigint', call_id: 'text', slice_id: 'bytea', position: 'integer' },
  ...{ depth: 'integer', role: 'text', injected: 'text', model: 'text', provider: 'text', agent_name: 'text' },
  ...{ project: 'text', stop_reason: 'text', input_tokens: 'bigint', output_tokens: 'bigint' },
  ...{ cache_read_tokens: 'bigint', cache_write_5m_tokens: 'bigint', cache_write_1h_tokens: 'bigint' },
  ...{ reasoning_tokens: 'bigint', cost_usd: 'numeric', tool_calls: 'integer' },
  ...{
    cost_fresh: 'numeric',
    cost_cache_read: 'numeric',
    cost_cache_write_5m: 'numeric',
    cost_cache_write_1h: 'numeric',
  },
  ...{ cost_output: 'numeric', cost_reasoning: 'numeric' },
  ...{ requested_at: 'timestamptz', created_at: 'timestamptz' },
} satisfies Partial<Record<keyof PlacedNode, string>>;

/** The compared columns of calls, which are found by raw turn. */
const CALL = {
  ...{ session_id: 'uuid', tip_hash: 'bytea', leaf_hash: 'bytea', model: 'text', stream: 'boolean' },
  ...{ max_tokens: 'integer', tool_count: 'integer', call_key: 'bytea', response_id: 'text' },
  ...{
    previous_response_id: 'text',
    item_ids: 'text[]',
    item_reference: 'text',
    conversation_id: 'text',
    unreadable: 'text',
    kind: 'text',
    judged: 'text',
  },
  ...{ cwd: 'text', git_branch: 'text', agent_name: 'text' },
} satisfies Partial<Record<keyof PlacedRow, string>>;

/** The hashes of those among a session's nodes that are stored identically. */
export async function unchangedNodes(tx: Sql, session_id: string, nodes: readonly PlacedNode[]): Promise<string[]> {
  const rows = nodes.map(({ node_hash, parent_hash, slice_id, ...row }) => ({
    ...{ ...row, node_hash: bytea(node_hash), parent_hash: bytea(parent_hash), slice_id: bytea(slice_id) },
  }));
  const found = await tx.rows<{ node_hash: string }>(sql`
    select encode(n.node_hash, 'hex') as node_hash
      from json_to_recordset(${jsonText(rows)}::json) as r (node_hash bytea, ${definition(NODE)})
      join svc.nodes n on n.session_id = ${session_id} and n.node_hash = r.node_hash
     where (${columns(NODE, 'n')}) is not distinct from (${columns(NODE, 'r')})`);
  return found.map(({ node_hash }) => node_hash);
}

/** The raw turns of those among the calls that are stored identically. */
export async function unchangedCalls(tx: Sql, calls: readonly PlacedRow[]): Promise<number[]> {
  const rows = calls.map(({ tip_hash, leaf_hash, call_key, ...row }) => ({
    ...{ ...row, tip_hash: bytea(tip_hash), leaf_hash: bytea(leaf_hash), call_key: bytea(call_key) },
  }));
  const found = await tx.rows<{ raw_turn_id: number }>(sql`
    select c.raw_turn_id
      from json_to_recordset(${jsonText(rows)}::json) as r (raw_turn_id bigint, ${definition(CALL)})
      join svc.calls c on c.raw_turn_id = r.raw_turn_id
     where (${columns(CALL, 'c')}) is not distinct from (${columns(CALL, 'r')})`);
  return found.map(({ raw_turn_id }) => raw_turn_id);
}

const bytea = (hex: string | null) => (hex === null ? null : `\\x${hex}`);
const definition = (types: Record<string, string>) =>
  sql.raw(
    Object.entries(types)
      .map(([name, type]) => `${name} ${type}`)
      .join(', '),
  );
const columns = (types: Record<string, string>, of: string) =>
  sql.raw(
    Object.keys(types)
      .map((name) => `${of}.${name}`)
      .join(', '),
  );
